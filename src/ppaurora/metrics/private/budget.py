"""How a private study's epsilon is divided between mechanisms, and what noise that makes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

from ppaurora.algorithms.noise import thresholds, total_variation
from ppaurora.errors import InputError, MisuseError
from ppaurora.metrics.private.mechanism import Mechanism
from ppaurora.policy.rules import Policy


def epsilons(policy: Policy, mechanisms: Sequence[Mechanism]) -> list[Fraction]:
    """Return each mechanism's part of epsilon, in proportion to its weight; together they are all of it."""
    if policy.epsilon is None:
        raise MisuseError("a policy without epsilon has no noise")
    weights = [Fraction(getattr(policy.weights, mechanism.name, 1.0)) for mechanism in mechanisms]
    return [Fraction(policy.epsilon) * weight / sum(weights) for weight in weights]


def rates(
    policy: Policy, mechanisms: Sequence[Mechanism], *, of_level: bool = False
) -> list[tuple[Fraction, ...]]:
    """Return, for every mechanism, the rate of the noise of each of its integers."""
    parts = zip(mechanisms, epsilons(policy, mechanisms), strict=True)
    return [mechanism.rates(part, policy.rows_per_person, of_level=of_level) for mechanism, part in parts]


def delta(policy: Policy, mechanisms: Sequence[Mechanism]) -> float:
    """Bound how much likelier than epsilon allows any outcome may be, because random words have 64 bits."""
    every = [rate for own in rates(policy, mechanisms) for rate in own]
    return (1 + math.exp(policy.epsilon or 0)) * float(total_variation(every))


def check_noise(policy: Policy, mechanisms: Sequence[Mechanism], *, of_level: bool = False) -> None:
    """Refuse noise that is too large to be computed with."""
    try:
        for own in rates(policy, mechanisms, of_level=of_level):
            for rate in own:
                thresholds(rate)
    except MisuseError:
        raise InputError(
            f"epsilon = {policy.epsilon:g} for {policy.rows_per_person:,} rows of a person is too much noise;"
            " nothing would be left of any number"
        ) from None
