"""Comparisons and clusters from their definitions, pair by pair, in exact arithmetic.

They share no code with the package. A row is its scores by model, its label, and how often it counts.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from tests.support.oracles import Sample, half_win, variance


@dataclass(frozen=True)
class PlainRow:
    """A row as its owner has it."""

    scores: dict[str, float]
    label: int
    levels: dict[str, str] = field(default_factory=dict)
    patient: Hashable = None
    weight: int = 1

    def sample(self, model: str) -> Sample:
        """Return score and label."""
        return self.scores[model], self.label


Rows = Sequence[PlainRow]


def total(numbers: Iterable[Fraction]) -> Fraction:
    """Add up numbers exactly."""
    return sum(numbers, Fraction(0))


def _wins(rows: Rows, model: str) -> list[list[Fraction]]:
    """For every positive and every negative: 1 if the positive is above, 1/2 if they are equal."""
    positives, negatives = ([row.scores[model] for row in rows if row.label == label] for label in (1, 0))
    return [[Fraction(half_win(p, n), 2) for n in negatives] for p in positives]


def paired_delong(rows: Rows, a: str, b: str) -> tuple[Fraction, Fraction | None]:
    """The difference of two AUROCs and its variance: every placement by counting pairs."""
    table = [
        [x - y for x, y in zip(*both, strict=True)]
        for both in zip(_wins(rows, a), _wins(rows, b), strict=True)
    ]
    p, n = len(table), len(table[0])
    difference = total(map(total, table)) / (p * n)
    if p < 2 or n < 2:
        return difference, None
    of_positives = [total(row) / n for row in table]
    of_negatives = [total(column) / p for column in zip(*table, strict=True)]
    return difference, variance(of_positives) / p + variance(of_negatives) / n


def mean_and_variance(numbers: Sequence[Fraction]) -> tuple[Fraction, Fraction]:
    """The mean, and the variance of the mean."""
    return total(numbers) / len(numbers), variance(numbers) / len(numbers)


def brier_errors(rows: Rows, model: str) -> list[Fraction]:
    """The squared error of every row."""
    return [(Fraction(row.scores[model]) - row.label) ** 2 for row in rows]


def benefits(rows: Rows, model: str, threshold: float) -> list[Fraction]:
    """What every row gains by the calls at a threshold."""
    odds = Fraction(threshold) / (1 - Fraction(threshold))
    return [
        (Fraction(1) if row.label else -odds) if row.scores[model] >= threshold else Fraction(0)
        for row in rows
    ]


def less(one: Sequence[Fraction], other: Sequence[Fraction]) -> list[Fraction]:
    """Row by row, one number less the other."""
    return [x - y for x, y in zip(one, other, strict=True)]


def observed_expected(rows: Rows, model: str) -> tuple[Fraction, Fraction]:
    """Events over expected events, and the variance of its logarithm by the delta method, row by row."""
    observed = sum(row.weight * row.label for row in rows)
    expected = sum((row.weight * Fraction(row.scores[model]) for row in rows), Fraction(0))
    shares = (
        (Fraction(row.label, observed) - Fraction(row.scores[model]) / expected) ** 2 * row.weight
        for row in rows
    )
    return observed / expected, total(shares)


def repeated(rows: Rows) -> list[PlainRow]:
    """Every row as often as it counts; a row without a patient is one of its own."""
    found = []
    for place, row in enumerate(rows):
        patient = ("row", place) if row.patient is None else row.patient
        found += [PlainRow(row.scores, row.label, row.levels, patient)] * row.weight
    return found


def obuchowski(rows: Rows, a: str, b: str = "") -> tuple[Fraction, Fraction | None]:
    """AUROC, or the difference of two, with Obuchowski's variance over patients.

    V10 of a positive is the fraction of negatives that it is above, V01 of a negative that of positives that
    are above it. Of patient i with m positives and k negatives, U10 = sum of V10 - m·AUROC, U01 likewise:

        Var = I10/((I10 - 1)·P²)·sum of U10² + I01/((I01 - 1)·N²)·sum of U01²
              + 2·I/((I - 1)·P·N)·sum of U10·U01
    """
    every = repeated(rows)
    positives, negatives = ([row for row in every if row.label == label] for label in (1, 0))
    p, n = len(positives), len(negatives)

    def pair(positive: PlainRow, negative: PlainRow) -> Fraction:
        won = Fraction(half_win(positive.scores[a], negative.scores[a]), 2)
        return won - Fraction(half_win(positive.scores[b], negative.scores[b]), 2) if b else won

    table = [[pair(positive, negative) for negative in negatives] for positive in positives]
    area = total(map(total, table)) / (p * n)
    v10 = [total(row) / n for row in table]
    v01 = [total(column) / p for column in zip(*table, strict=True)]
    patients = {row.patient for row in every}
    u10 = {one: Fraction(0) for one in patients}
    u01 = dict(u10)
    for row, placement in zip(positives, v10, strict=True):
        u10[row.patient] += placement - area
    for row, placement in zip(negatives, v01, strict=True):
        u01[row.patient] += placement - area
    i10, i01, i = (
        len({row.patient for row in positives}),
        len({row.patient for row in negatives}),
        len(patients),
    )
    if i10 < 2 or i01 < 2:
        return area, None
    return area, (
        Fraction(i10, (i10 - 1) * p * p) * total(u * u for u in u10.values())
        + Fraction(i01, (i01 - 1) * n * n) * total(u * u for u in u01.values())
        + Fraction(2 * i, (i - 1) * p * n) * total(u10[one] * u01[one] for one in patients)
    )
