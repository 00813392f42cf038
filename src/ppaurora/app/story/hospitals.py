"""The example's hospitals: what each could find out alone, and what plain pooling would give.

In a real study nobody could compute the latter. Here all data is made up, and on one machine.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from ppaurora.check.data_check import local_auroc
from ppaurora.data import Samples, read_data
from ppaurora.poc.hospitals import write_hospitals
from ppaurora.statistics.estimates import Estimate


@dataclass(frozen=True)
class Hospital:
    """One of them, with its own test set."""

    name: str
    file: Path
    samples: Samples = field(repr=False)
    auroc: Estimate  # on its own samples alone

    @property
    def title(self) -> str:
        return self.name.capitalize()

    @property
    def patients(self) -> int:
        return len(self.samples)

    @property
    def positives(self) -> int:
        return int(self.samples.labels.sum())


@dataclass(frozen=True)
class PlainResult:
    """What one gets of all files together, in plain NumPy."""

    auroc: Estimate
    aupr: float


def make_hospitals(folder: Path) -> tuple[Hospital, ...]:
    """Their files, and a look at each."""
    folder.mkdir()
    found = []
    for name, file in write_hospitals(folder).items():
        samples = read_data(file, "score", "label").samples(None)
        found.append(Hospital(name, file, samples, local_auroc(samples)))
    return tuple(found)


def plain_result(hospitals: Sequence[Hospital]) -> PlainResult:
    scores = np.concatenate([hospital.samples.scores for hospital in hospitals])
    labels = np.concatenate([hospital.samples.labels for hospital in hospitals])
    pooled = Samples("all hospitals", scores, labels)
    return PlainResult(local_auroc(pooled), _aupr(pooled))


def _aupr(samples: Samples) -> float:
    """By trapezoids between the points of the precision-recall curve, one point per different score."""
    order = np.argsort(-samples.scores, kind="stable")
    scores, labels = samples.scores[order], samples.labels[order].astype(np.int64)
    last_of_equals = np.append(np.diff(scores) != 0, True)
    true_positives = labels.cumsum()[last_of_equals]
    called_positive = np.flatnonzero(last_of_equals) + 1
    recall = np.append(0.0, true_positives / true_positives[-1])
    precision = np.append(1.0, true_positives / called_positive)
    return float(np.sum(np.diff(recall) * (precision[1:] + precision[:-1]) / 2))
