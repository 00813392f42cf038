"""What a private study releases is its exact integers with the noise that it says, and nothing else."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray

from ppaurora.agreement.terms import Terms
from ppaurora.algorithms.noise import two_sided_geometric
from ppaurora.data import Samples
from ppaurora.metrics.private.budget import rates
from ppaurora.policy.rules import Policy
from ppaurora.suites.cleartext import CleartextSuite
from tests.support.noise import fits
from tests.support.private import EVERYTHING, exact_integers, query_for
from tests.support.runs import samples_of, watched_run, whole_result

Integers = NDArray[np.int64]

OWNERS = (
    [(0.0, 0), (0.25, 1), (0.5, 0), (0.5, 1)],
    [(0.25, 0), (0.3, 1), (0.7, 1), (1.0, 1), (1.0, 0)],
)
SIZES = tuple(map(len, OWNERS))
POOLED = samples_of([sample for owner in OWNERS for sample in owner])
POLICY = Policy.private(3.0)
TERMS = Terms(metrics=EVERYTHING, policy=POLICY)
RATES = [rate for own in rates(POLICY, TERMS.query(SIZES).mechanisms) for rate in own]
COUNTS = Fraction(1) / Fraction(9, 4)  # a third of epsilon over the sensitivity of the table
FINE = Fraction(1, 1 << 20)  # a rate at which nobody can tell noise from a continuous variable


def integers_of(samples: Samples) -> Integers:
    mechanisms = query_for(EVERYTHING, len(samples)).mechanisms
    return np.array([one for mechanism in mechanisms for one in exact_integers(mechanism, samples)])


def noise_of_runs(count: int) -> Integers:
    """Run the protocol so often; a row of noise each."""
    released = []
    submissions = [TERMS.share(samples_of(owner)) for owner in OWNERS]
    for _ in range(count):
        words = whole_result(TERMS, watched_run(TERMS, submissions))
        assert words[0, 0] == 1
        assert words[0, -len(SIZES) :].tolist() == [1] * len(SIZES)
        assert not words[1].any()
        released.append(words[0, 1 : -len(SIZES)].astype(np.int64))
    return np.array(released) - integers_of(POOLED)


def by_rate(noise: Integers) -> tuple[Integers, Integers]:
    """Counts of the table, which are of one rate; and all that is finer, brought to one."""
    counts = [place for place, rate in enumerate(RATES) if rate == COUNTS]
    fine = [place for place, rate in enumerate(RATES) if rate < Fraction(1, 100)]
    assert (len(counts), len(fine)) == (2 * 9, 2 + 3 + 3)
    others = noise[:, fine] * np.array([float(RATES[place] / FINE) for place in fine])
    return noise[:, counts].ravel(), np.rint(others).astype(np.int64).ravel()


def test_the_budget_is_spent_and_no_more() -> None:
    """Each third of epsilon over the sensitivity; by the weights, if there are any."""
    mechanisms = TERMS.query(SIZES).mechanisms
    assert [one.name for one in mechanisms] == ["auroc", "sums", "table"]
    spent = [
        own[0] * mechanism.coordinates[0].steps * mechanism.sensitivity
        for own, mechanism in zip(rates(POLICY, mechanisms), mechanisms, strict=True)
    ]
    assert spent == [1, 1, 1]


def test_in_the_clear() -> None:
    count = 20_000
    places = [0, 1, 2, 3, 6, len(RATES) - 1]
    drawn = two_sided_geometric(CleartextSuite(), [RATES[place] for place in places] * count)
    noise = drawn.values.astype(np.int64).reshape(count, len(places))
    for column, place in zip(noise.T, places, strict=True):
        assert fits(column, RATES[place])
        assert not fits(column, RATES[place] * Fraction(6, 5))
    assert np.abs(np.corrcoef(noise.T) - np.eye(len(places))).max() < 7 / np.sqrt(count)


def test_by_the_protocol() -> None:
    counts, others = by_rate(noise_of_runs(20))
    assert fits(counts, COUNTS)
    assert fits(others, FINE)
    # The positive control: less noise would be noticed, and so would none.
    for wrong in (counts // 2, counts * 0):
        assert not fits(wrong, COUNTS)
    assert not fits(others // 4, FINE)


@pytest.mark.long
def test_by_the_protocol_integer_for_integer() -> None:
    noise = noise_of_runs(300)
    for column, rate in zip(noise.T, RATES, strict=True):
        assert fits(column, rate)
    assert np.abs(np.corrcoef(noise.T) - np.eye(len(RATES))).max() < 7 / np.sqrt(len(noise))
