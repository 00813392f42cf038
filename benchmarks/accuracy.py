"""What noise does to numbers: how large it is beside them, and how much wider it makes intervals."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import NormalDist

import numpy as np

from benchmarks.tables import Table
from ppaurora.data import Samples
from ppaurora.metrics import Metric, Query
from ppaurora.metrics.calibration import Brier
from ppaurora.metrics.private.budget import rates
from ppaurora.metrics.private.noisy import NoisyRelease
from ppaurora.metrics.private.sums import Moment
from ppaurora.metrics.roc import Auroc
from ppaurora.metrics.thresholds import Sensitivity
from ppaurora.policy.rules import Policy
from ppaurora.statistics.noisy import Noise, fraction, noisy_auroc_interval
from ppaurora.statistics.noisy_numbers import NoisyNumber, between
from ppaurora.testing.private import exact_integers

EPSILONS = (1.0, 2.0, 4.0)
STUDIES = ((4, 1_000, 0.05), (4, 1_000, 0.2), (8, 5_000, 0.05))
THRESHOLD = 0.1
LEVEL = 0.95
HEADINGS = (
    "owners",
    "samples of each",
    "positives",
    "epsilon",
    "AUROC",
    "wider",
    "AUROC ",
    Sensitivity.name,
    "Brier",
)

_AUROC = Auroc()
_MORE = (_AUROC, Sensitivity(thresholds=(THRESHOLD,)), Brier())
_APART = 1.2  # how far scores of positives are from those of negatives, in standard deviations


def population(size: int, positives: float) -> Samples:
    """Return probabilities of a good model, spread as evenly as normal scores are."""
    p = round(size * positives)
    normal = NormalDist()
    scores = [_APART + normal.inv_cdf((k + 0.5) / p) for k in range(p)]
    scores += [normal.inv_cdf((k + 0.5) / (size - p)) for k in range(size - p)]
    logits = math.log(positives / (1 - positives)) + _APART * np.array(scores) - _APART**2 / 2
    labels = np.array([1] * p + [0] * (size - p), dtype=np.uint8)
    return Samples("people", 1 / (1 + np.exp(-logits)), labels)


def released(metrics: Sequence[Metric], samples: Samples, epsilon: float) -> NoisyRelease:
    """Return the exact numbers of a study, of which the noise is known that they would have."""
    policy = Policy.private(epsilon)
    mechanisms = Query(tuple(metrics), (len(samples),), policy).mechanisms
    integers = exact_integers(mechanisms, samples)
    return NoisyRelease.of(len(samples), mechanisms, rates(policy, mechanisms), integers, negated=False)


def deviation(successes: NoisyNumber, failures: NoisyNumber) -> float:
    """Return the standard deviation of the noise in a fraction."""
    value = fraction(successes.value, failures.value)
    variance = float(between(successes, failures)(np.array(value)).variance)
    return math.sqrt(variance) / (successes + failures).value


def wider(release: NoisyRelease) -> float:
    """Return by which factor noise widens the interval of AUROC."""
    above, below = release.won_and_lost()
    with_noise, without = (
        noisy_auroc_interval(above.value, below.value, release.samples, noise, LEVEL)
        for noise in (between(above, below), lambda p: Noise())
    )
    return (with_noise[1] - with_noise[0]) / (without[1] - without[0])


def row(owners: int, size: int, positives: float, epsilon: float) -> list[str]:
    samples = population(owners * size, positives)
    alone, more = (released(metrics, samples, epsilon) for metrics in ((_AUROC,), _MORE))
    at = more.confusion(THRESHOLD)
    brier = math.sqrt(more.moment(Moment.ERROR).noise.variance) / len(samples)
    return [
        str(owners),
        f"{size:,}",
        f"{positives:.0%}",
        f"{epsilon:g}",
        f"{deviation(*alone.won_and_lost()):.4f}",
        f"{wider(alone) - 1:.0%}",
        f"{deviation(*more.won_and_lost()):.4f}",
        f"{deviation(at.tp, at.fn):.4f}",
        f"{brier:.5f}",
    ]


def noise_table() -> Table:
    """Return what noise adds to AUROC alone, and to three numbers that share epsilon."""
    return Table(HEADINGS, [row(*study, epsilon) for study in STUDIES for epsilon in EPSILONS])
