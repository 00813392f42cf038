"""The integers of a private study on their way out: computed on shares, with noise that nobody knows."""

from __future__ import annotations

from ppaurora.algorithms.noise import two_sided_geometric
from ppaurora.metrics.evidence import EvaluatedPart
from ppaurora.metrics.private.mechanism import Ingredients
from ppaurora.sharing.shares import RingShare, concat, stack
from ppaurora.suites.base import Suite


def noisy_integers(suite: Suite, part: EvaluatedPart) -> RingShare:
    """Rows (mantissa, exponent), a column for every integer of every mechanism, with its noise."""
    query, inputs, found = part.query, part.inputs, part.found
    totals = {total: by_owner.sum() for total, by_owner in inputs.by_owner(query).items()}
    areas = [secrets[0] for secrets in found.secrets.values()]  # of AUROC, if anybody's
    area = areas[0] if areas else None
    given = Ingredients(found.samples, query.most_samples, found.positives, totals, area)
    mechanisms = query.mechanisms
    exact = concat([mechanism.integers(suite, given) for mechanism in mechanisms])
    every_rate = [rate for own in query.rates for rate in own]
    noisy = exact + two_sided_geometric(suite, every_rate)
    return stack([noisy, noisy * 0])
