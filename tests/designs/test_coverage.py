"""Intervals of studies with a design cover as often as they say: of rounded numbers, in simulated studies."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from statistics import NormalDist

import numpy as np
import pytest
from numpy.typing import NDArray

from ppaurora import Estimate
from ppaurora.data.samples import Samples
from tests.support.designs import ROUNDED, rows_of, study_of

Numbers = NDArray[np.float64]
Found = Mapping[str, tuple[object, float]]  # by name, what was released and what is true
NORMAL = NormalDist()
SPREAD = 2.0  # of latent scores, so that few are at the ends of the grid
AS_SAID = (0.925, 0.98)  # of very many studies, that a level of 95 % has
OF_FEW = (0.89, 1.0)  # likewise, of a hundred

each_number = pytest.mark.parametrize(
    ("studies", "said"),
    [(100, OF_FEW), pytest.param(1000, AS_SAID, marks=pytest.mark.long)],
    ids=["few", "many"],
)


def on_grid(latent: Numbers) -> Numbers:
    """Return probabilities of two decimals that order as latent scores do."""
    uniform = np.array([NORMAL.cdf(one / SPREAD) for one in latent])
    scores: Numbers = np.round(uniform, 2)
    return scores


def true_auroc(positives: tuple[float, float], negatives: tuple[float, float]) -> float:
    """Return AUROC of normal latent scores, mean and standard deviation of each class, as they are read."""
    ends = [SPREAD * NORMAL.inv_cdf((cell + 0.5) / 100) for cell in range(100)]

    def cells(mean: float, deviation: float) -> Numbers:
        up_to = [0.0, *(NormalDist(mean, deviation).cdf(end) for end in ends), 1.0]
        return np.diff(np.array(up_to))

    p, n = cells(*positives), cells(*negatives)
    return float(p @ (np.cumsum(n) - n / 2))


def covered(studies: Iterator[Found]) -> dict[str, float]:
    """Return, by name, how often an interval contains what is true."""
    counts: Counter[str] = Counter()
    done = 0
    for found in studies:
        done += 1
        for name, (estimate, truth) in found.items():
            assert isinstance(estimate, Estimate)
            assert estimate.interval is not None
            counts[name] += estimate.interval[0] <= truth <= estimate.interval[1]
    return {name: float(Fraction(count, done)) for name, count in counts.items()}


def check(found: Mapping[str, float], said: tuple[float, float]) -> None:
    """Require all to be as said."""
    assert all(said[0] <= share <= said[1] for share in found.values()), found


# Two models and two levels


def compared(random: np.random.Generator) -> Found:
    """Draw a study: the first model separates women better than men, the second both equally."""
    owners = []
    for place, size in enumerate((90, 60, 50)):
        y_true, sex = random.integers(0, 2, size), random.integers(0, 2, size)
        shared = random.normal(size=size)
        a, b = (
            better * y_true + 0.6 * shared + 0.8 * random.normal(size=size)
            for better in (np.where(sex == 0, 1.4, 0.8), 0.7)
        )
        scores = {"a": on_grid(a), "b": on_grid(b)}
        owners.append(rows_of(f"owner {place}", y_true, scores, levels={"sex": sex}))
    results = study_of(owners, policy=ROUNDED).in_the_clear()
    women, men, both = (true_auroc((better, 1.0), (0.0, 1.0)) for better in (1.4, 0.8, 0.7))
    return {
        "comparison": (results.comparisons[0].auroc, (women + men) / 2 - both),
        "levels": (results.subgroups["sex"].difference("f", "m"), women - men),
        "women": (results.subgroups["sex"]["f"]["auroc"], women),
    }


@each_number
def test_differences_of_models_and_of_levels(studies: int, said: tuple[float, float]) -> None:
    random = np.random.default_rng(24)
    check(covered(compared(random) for _ in range(studies)), said)


# Patients


def patients(random: np.random.Generator) -> list[Samples]:
    """Draw owners whose patients have one to five rows of one class, with scores that are alike."""
    owners = []
    for place, count in enumerate((60, 40, 40)):
        of_patient = np.repeat(np.arange(count), random.integers(1, 6, count))
        y_true = random.integers(0, 2, count)[of_patient]
        scores = {
            model: on_grid(
                better * y_true
                + random.normal(0, 0.9, count)[of_patient]
                + random.normal(0, 0.45, len(of_patient))
            )
            for model, better in (("a", 1.2), ("b", 0.8))
        }
        owners.append(rows_of(f"owner {place}", y_true, scores, patients=of_patient))
    return owners


def as_single_rows(owners: list[Samples]) -> list[Samples]:
    """Return the same rows as if each were a patient's only one."""
    found = []
    for owner in owners:
        assert owner.further is not None
        found.append(rows_of(owner.source, owner.labels, owner.further.scores))
    return found


def clustered(random: np.random.Generator, change: Callable[[list[Samples]], list[Samples]]) -> Found:
    """Draw a study of patients, and evaluate its rows as they are or otherwise."""
    results = study_of(change(patients(random)), policy=ROUNDED).in_the_clear()
    deviation = float(np.hypot(0.9, 0.45))
    truths = {
        model: true_auroc((better, deviation), (0.0, deviation)) for model, better in (("a", 1.2), ("b", 0.8))
    }
    return {
        "model": (results.whole("a")["auroc"], truths["a"]),
        "comparison": (results.comparisons[0].auroc, truths["a"] - truths["b"]),
    }


@each_number
def test_patients_with_several_rows(studies: int, said: tuple[float, float]) -> None:
    random = np.random.default_rng(25)
    check(covered(clustered(random, list) for _ in range(studies)), said)


@each_number
def test_without_patients_the_same_rows_are_not_covered(studies: int, said: tuple[float, float]) -> None:
    """A control: rows of a patient are taken for independent ones, and the simulation notices."""
    random = np.random.default_rng(25)
    found = covered(clustered(random, as_single_rows) for _ in range(studies))
    assert all(share < said[0] - 0.02 for share in found.values()), found


# Sites


def at_sites(random: np.random.Generator) -> Found:
    """Draw a study whose owners have scores on levels of their own."""
    sites = ((60, 20, -1.0), (45, 30, 0.0), (50, 25, 0.8))  # samples, positives, shift
    owners: list[Samples] = []
    areas = []
    for size, positives, shift in sites:
        y_true = (np.arange(size) < positives).astype(np.uint8)
        latent = 1.0 * y_true + shift + random.normal(size=size)
        owners.append(rows_of(f"owner {len(owners)}", y_true, {"a": on_grid(latent)}))
        pairs = positives * (size - positives)
        areas.append((pairs, true_auroc((1.0 + shift, 1.0), (shift, 1.0))))
    within = sum(pairs * area for pairs, area in areas) / sum(pairs for pairs, _ in areas)
    (sites_result,) = study_of(owners, policy=ROUNDED, sites=True).in_the_clear().sites
    return {"within": (sites_result.within, within)}


@each_number
def test_auroc_within_sites(studies: int, said: tuple[float, float]) -> None:
    random = np.random.default_rng(26)
    check(covered(at_sites(random) for _ in range(studies)), said)


def test_true_values_are_those_of_very_many_samples() -> None:
    """A control of the truths."""
    random = np.random.default_rng(27)
    count = 20_000
    y_true = np.repeat([1, 0], count)
    scores = on_grid(1.2 * y_true + 1.1 * random.normal(size=2 * count))
    below = np.searchsorted(np.sort(scores[count:]), scores[:count], side="left")
    up_to = np.searchsorted(np.sort(scores[count:]), scores[:count], side="right")
    found = float((below + up_to).sum() / 2 / count**2)
    assert abs(found - true_auroc((1.2, 1.1), (0.0, 1.1))) < 0.008
