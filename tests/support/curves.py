"""Curves over one owner's sorted list, under any suite, and their points by counting."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ppaurora.algorithms.curve import ListCurve, Quantity
from ppaurora.sharing import BitShare
from ppaurora.suites.base import Records, Suite
from ppaurora.suites.cleartext import CLEARTEXT, CleartextSuite
from tests.support.cases import Owner, by_three_parties, in_the_clear, on_planes

SUITES = ("cleartext", "cecilia", "bitsliced")
Algorithm = Any  # (Suite, list of records) to a list of ring shares


def run_under(suite: str, algorithm: Algorithm, owner: Owner) -> list[list[Any]]:
    """On one owner's list, which is sorted."""
    if suite == "cleartext":
        return [share.values.tolist() for share in in_the_clear(algorithm, [owner])]
    run = by_three_parties(algorithm, [owner]) if suite == "cecilia" else on_planes(algorithm, [owner])
    return [value.tolist() for value in run.value]


def sorted_samples(size: int, different: int, seed: int) -> Owner:
    random = np.random.default_rng(seed)
    scores = np.sort(random.integers(0, different, size))[::-1] / different
    return [(float(score), int(random.integers(0, 2))) for score in scores]


# Groups of tied samples, from the highest score on: how many positives and negatives each has.
GROUPS: dict[str, list[tuple[int, int]]] = {
    "one group": [(130, 170)],
    "all positives first": [(1, 0)] * 200 + [(0, 1)] * 100,
    "all negatives first": [(0, 1)] * 150 + [(1, 0)] * 75,
    "two groups, of positives and of negatives": [(170, 0), (0, 85)],
    "a giant group in the middle": [(2, 1)] * 7 + [(90, 100)] + [(1, 2)] * 9,
    "many ties": [(k * 7 % 5, k * 11 % 6) for k in range(60)],
    "by turns": [(1, 0), (0, 1)] * 60,
    "one of each": [(0, 1), (1, 0)],
    "one of each, tied": [(1, 1)],
    "no negatives": [(3, 0), (1, 0)],
    "no positives": [(0, 2), (0, 1)],
}


def in_groups(groups: Sequence[tuple[int, int]]) -> Owner:
    """Such a list; positives and negatives of a group by turns, as long as there are both."""
    owner: Owner = []
    for number, (positives, negatives) in enumerate(groups):
        labels = [1, 0] * min(positives, negatives)
        labels += [1] * (positives - len(labels) // 2) + [0] * (negatives - len(labels) // 2)
        owner += [(1 - number / 1024, label) for label in labels]
    return owner


def roc_points(owner: Owner) -> list[tuple[int, int]]:
    """(FP, TP) at the start, and with every score as threshold."""
    scores = sorted({score for score, _ in owner}, reverse=True)
    negatives = accumulate(sum(s == score and not label for s, label in owner) for score in scores)
    positives = accumulate(sum(s == score and label for s, label in owner) for score in scores)
    return [(0, 0), *zip(negatives, positives, strict=True)]


def curve_of(suite: Suite, records: Records, quantities: Sequence[Quantity]) -> ListCurve:
    """That has kept its ends."""
    curve = ListCurve(suite, records.labels, suite.ends_of_groups(records.keys), quantities)
    curve.keep_ends()
    return curve


def clear_curve(
    labels: NDArray[np.bool_], ends: NDArray[np.bool_], quantities: Sequence[Quantity]
) -> ListCurve:
    """The same in the clear, of so many samples that lists are too slow."""
    bits = [BitShare(CLEARTEXT, flags.view(np.uint8)) for flags in (labels, ends)]
    curve = ListCurve(CleartextSuite(), bits[0], bits[1], quantities)
    curve.keep_ends()
    return curve
