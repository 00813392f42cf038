"""The example's hospitals: what each could find out alone, and what plain pooling would give.

In a real study nobody could compute the latter. Here all data is made up, and on one machine.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from ppaurora.data import Samples, read_data
from ppaurora.poc.hospitals import write_hospitals
from ppaurora.statistics.areas import area_under_precision_recall
from ppaurora.statistics.auroc import auroc_estimate
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
    """The metrics of all files together, in plain NumPy."""

    auroc: Estimate
    aupr: float


def make_hospitals(folder: Path) -> tuple[Hospital, ...]:
    """Their files, and a look at each."""
    folder.mkdir()
    found = []
    for name, file in write_hospitals(folder).items():
        samples = read_data(file, "score", "label").samples(None)
        found.append(Hospital(name, file, samples, auroc_estimate(samples.labels, samples.scores)))
    return tuple(found)


def plain_result(hospitals: Sequence[Hospital]) -> PlainResult:
    """Compute on the samples of all hospitals together, in the clear."""
    scores = np.concatenate([hospital.samples.scores for hospital in hospitals])
    labels = np.concatenate([hospital.samples.labels for hospital in hospitals])
    return PlainResult(auroc_estimate(labels, scores), area_under_precision_recall(labels, scores))
