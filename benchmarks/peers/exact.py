"""The AUROC that everybody should find."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from benchmarks.synthetic import Owner
from ppaurora.errors import InputError


def exact_auroc(owners: Sequence[Owner]) -> Fraction:
    """Pairs of a positive above a negative, ties counting half, over all pairs: counted by distinct score."""
    labels, scores = (np.concatenate(column) for column in zip(*owners, strict=True))
    distinct, group = np.unique(scores, return_inverse=True)
    positives = np.bincount(group[labels], minlength=len(distinct))
    negatives = np.bincount(group[~labels], minlength=len(distinct))
    pairs = int(positives.sum()) * int(negatives.sum())
    if not pairs:
        raise InputError(f"{len(labels)} samples happen to be of one class here; choose larger sizes")
    below = negatives.cumsum() - negatives
    return Fraction(int(positives @ (2 * below + negatives)), 2 * pairs)
