"""Which numbers of positives are possible: against a search over all counts, in exact fractions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from ppaurora.agreement.examples import example_studies
from ppaurora.agreement.possible import possible_positives
from ppaurora.data.grid import Grid
from ppaurora.metrics import METRICS, Metric, Query, find_metric
from ppaurora.metrics.in_the_clear import released_in_the_clear
from ppaurora.policy.rules import Policy

AT = 0.2  # the threshold; its odds are 1/4
Count = tuple[int, int, int, int]  # TP, FP, P, N

# What is a fraction of which counts at a threshold.
RATES: dict[str, Callable[[int, int, int, int], tuple[Fraction | int, int]]] = {
    "sensitivity": lambda tp, fp, p, n: (tp, p),
    "specificity": lambda tp, fp, p, n: (n - fp, n),
    "ppv": lambda tp, fp, p, n: (tp, tp + fp),
    "npv": lambda tp, fp, p, n: (n - fp, p - tp + n - fp),
    "f1": lambda tp, fp, p, n: (2 * tp, p + tp + fp),
    "accuracy": lambda tp, fp, p, n: (tp + n - fp, p + n),
    "net_benefit": lambda tp, fp, p, n: (tp - Fraction(fp, 4), p + n),
}


def rounded(value: Fraction, step: Fraction) -> Fraction:
    """Half away from zero."""
    steps = int(abs(value) / step + Fraction(1, 2))
    return steps * step if value >= 0 else -steps * step


def told_at_a_threshold(names: Sequence[str], counts: Count, policy: Policy) -> tuple[Fraction | None, ...]:
    """What is released of these counts; the number of positives first."""
    unit = Fraction(1 if policy.counts == "exact" else 5)
    shown: list[Fraction | None] = [] if policy.counts == "hidden" else [rounded(Fraction(counts[2]), unit)]
    tp, fp, p, n = counts
    called = {"ppv": tp + fp, "npv": p + n - tp - fp}
    for name in names:
        numerator, denominator = RATES[name](*counts)
        digits = (policy.decimals or 0) + (name == "net_benefit")
        if policy.counts == "hidden" and name not in ("accuracy", "net_benefit"):
            digits = min(digits, 2)
        value = Fraction(numerator) / denominator if denominator else None
        shown.append(None if value is None else rounded(value, Fraction(1, 10**digits)))
        if name in called and policy.counts != "hidden":
            shown.append(rounded(Fraction(called[name]), unit) if value is not None else None)
    return tuple(shown)


def all_counts(samples: int) -> Iterator[Count]:
    for p in range(1, samples):
        for tp, fp in product(range(p + 1), range(samples - p + 1)):
            yield tp, fp, p, samples - p


@pytest.mark.parametrize(
    "names",
    [
        ("sensitivity",),
        ("sensitivity", "specificity"),
        ("ppv",),
        ("ppv", "npv", "accuracy"),
        ("f1", "sensitivity", "specificity"),
        ("net_benefit", "sensitivity", "specificity"),
        tuple(RATES),
    ],
    ids=" ".join,
)
@pytest.mark.parametrize("counts", ["hidden", "rounded"])
def test_numbers_at_a_threshold_are_taken_together(names: tuple[str, ...], counts: str) -> None:
    """All possible counts of 18 samples are tried; those that give the same release are the other answers."""
    samples, random = 18, np.random.default_rng(len(names))
    for digits in (1, 2, 3):
        policy = Policy.exact(digits=digits, counts=counts)
        by_release: dict[tuple[Fraction | None, ...], set[int]] = {}
        every = list(all_counts(samples))
        for one in every:
            by_release.setdefault(told_at_a_threshold(names, one, policy), set()).add(one[2])
        metrics = tuple(find_metric(name)(thresholds=(AT,)) for name in names)
        query = Query(metrics, (samples,), policy)
        for place in random.integers(0, len(every), 12).tolist():
            shown = told_at_a_threshold(names, every[place], policy)
            if None in shown:
                continue
            values = [None if one is None else float(one) for one in shown]
            assert possible_positives(query, values) == len(by_release[shown]), (digits, every[place])


@pytest.mark.parametrize("digits", [1, 2, 3, "exact"])
def test_areas_are_whole_numbers_of_half_pairs(digits: int | str) -> None:
    """All areas of 24 samples are tried, with every number of positives."""
    samples, random = 24, np.random.default_rng(5)
    query = Query((METRICS["auroc"](),), (samples,), Policy.exact(digits=digits, counts="hidden"))

    def released(area: Fraction) -> float:
        return float(area) if digits == "exact" else float(rounded(area, Fraction(1, 10 ** int(digits))))

    by_release: dict[float, set[int]] = {}
    for p in range(1, samples):
        pairs = 2 * p * (samples - p)
        for k in range(pairs + 1):
            by_release.setdefault(released(Fraction(k, pairs)), set()).add(p)
    for value in random.choice(list(by_release), 30):
        assert possible_positives(query, [float(value)]) == len(by_release[float(value)])


def test_positives_of_bins_add_up() -> None:
    """Two bins of all samples: whatever they can have together is tried."""
    samples, policy = 30, Policy.exact(digits=2, counts="rounded")
    query = Query((METRICS["reliability"](bins=(0.0, 0.5, 1.0)),), (samples,), policy)
    unit, step = Fraction(5), Fraction(1, 100)

    def released(low: int, held: int, high: int) -> tuple[Fraction, ...] | None:
        """Of `held` samples in the lower bin, `low` are positive; `high` of the others."""
        bins = (low, held), (high, samples - held)
        shown = [rounded(Fraction(low + high), unit)]
        for positives, many in bins:
            shown += [rounded(Fraction(positives, many), step), rounded(Fraction(many), unit)]
        return tuple(shown)

    by_release: dict[tuple[Fraction, ...] | None, set[int]] = {}
    for held in range(1, samples):
        for low, high in product(range(held + 1), range(samples - held + 1)):
            if 0 < low + high < samples:
                by_release.setdefault(released(low, held, high), set()).add(low + high)
    for shown, fitting in list(by_release.items())[::97]:
        assert shown is not None
        count, low_rate, low_samples, high_rate, high_samples = map(float, shown)
        values = [count, 0.3, low_rate, low_samples, 0.7, high_rate, high_samples]
        assert possible_positives(query, values) == len(fitting), shown
    assert min(map(len, by_release.values())) < max(map(len, by_release.values()))  # not all alike


def test_ratio_and_difference_give_the_number_of_positives() -> None:
    """P = n·c·r/(r - 1), which few decimals leave room around."""
    metrics = (METRICS["observed_expected"](), METRICS["calibration_in_the_large"]())
    left = []
    for digits in (2, 4, 6):
        query = Query(metrics, (1000,), Policy.exact(digits=digits, counts="hidden"))
        fitting = set()
        r, c = round(0.8, digits), round(-0.05, min(digits + 1, 6))  # 200 positives, 250 expected
        half, half_c = 0.5 * 10.0**-digits, 0.5 * 10.0 ** -min(digits + 1, 6)
        for p in range(1, 1000):
            for expected in np.linspace(p - 1000 * (c + half_c), p - 1000 * (c - half_c), 201):
                if abs(p / expected - r) <= half:
                    fitting.add(p)
        assert possible_positives(query, [r, c]) == len(fitting)
        assert 200 in fitting
        left.append(len(fitting))
    assert left[0] > left[1] >= left[2] == 1


FULL: tuple[Metric, ...] = tuple(
    metric.sample() for name, metric in METRICS.items() if name not in ("auroc_no_ties", "histogram")
)


@pytest.mark.parametrize("counts", ["hidden", "rounded", "exact"])
def test_more_digits_leave_fewer_and_the_truth_is_left(counts: str) -> None:
    """A full plan; the more digits, the fewer numbers are possible, and there is always one."""
    for prevalence in (0.05, 0.3):
        found = []
        for digits in (1, 2, 3, 6, "exact"):
            query = Query(
                FULL, (300, 400, 500), Policy.exact(digits=digits, counts=counts), 0.95, grid=Grid(decimals=2)
            )
            (study,) = example_studies(query, prevalence, 1)
            found.append(possible_positives(query, released_in_the_clear(query, study).values))
        assert found == sorted(found, reverse=True)
        assert found[-1] == 1
    for name in ("auroc", "youden_j"):
        exact = Query((METRICS[name](),), (1200,), Policy.exact(counts="hidden"))
        (study,) = example_studies(exact, 0.2, 1)
        assert 1 <= possible_positives(exact, released_in_the_clear(exact, study).values) <= 2


def test_many_candidates_are_narrowed_down_before_they_are_tried() -> None:
    """Of 20,000, all that a search one by one would leave: as many as for the same numbers near the truth."""
    names = ("sensitivity", "specificity", "ppv", "npv", "accuracy")
    metrics = tuple(find_metric(name)(thresholds=(0.1, 0.3)) for name in names)
    hidden = Query(metrics, (20_000,), Policy.exact(digits=3, counts="hidden"))
    (study,) = example_studies(hidden, 0.1, 1)
    values = released_in_the_clear(hidden, study).values
    left = possible_positives(hidden, values)
    assert 1 <= left < 300
    positives = int(study[0].labels.sum())
    floors = {"minimum_positives": positives - 100, "minimum_negatives": 20_000 - positives - 100}
    near = Query(metrics, (20_000,), Policy.exact(digits=3, counts="hidden", **floors))
    assert possible_positives(near, values) == left


def test_nothing_released_excludes_nothing() -> None:
    query = Query((METRICS["auroc"](),), (100,), Policy.exact(minimum_positives=10, counts="hidden"))
    assert possible_positives(query, [None]) == 90


def test_a_withheld_bin_may_hold_what_is_missing() -> None:
    metrics = (METRICS["reliability"](bins=(0.0, 0.5, 1.0)),)
    query = Query(metrics, (30,), Policy.exact(digits=2, counts="exact", minimum_per_cell=5))
    for told, left in ((12, 1), (15, 1), (16, 0), (11, 0)):  # 12 in the lower bin of 27, 3 samples elsewhere
        assert possible_positives(query, [told, 0.3, 0.44, 27, None, None, None]) == left
