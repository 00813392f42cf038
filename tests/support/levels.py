"""Owners of studies with subgroups: so many positives and negatives in every level of one variable."""

from __future__ import annotations

import numpy as np

from ppaurora.data.further import Further, LeftOut
from ppaurora.data.samples import Samples

Classes = tuple[int, int]  # numbers of positives and of negatives
Levels = tuple[Classes, ...]  # one for each level of a variable
ENOUGH: Classes = (8, 8)  # at each of four owners: 24 of each class without any one of them


def owner(name: str, levels: Levels, *, variable: str = "age", seed: int = 0, rows: int = 1) -> Samples:
    """Return so many positives and negatives in every level; of every patient, so many rows."""
    cells = [
        (place, label) for place, own in enumerate(levels) for label in (1, 0) for _ in range(own[1 - label])
    ]
    cells = [cell for cell in cells for _ in range(rows)]
    places, labels = (np.array(column, dtype=np.uint8) for column in zip(*cells, strict=True))
    random = np.random.default_rng([seed, len(cells), *name.encode()])
    drawn = random.normal(0.35 + np.outer((0.25, 0.15), labels), 0.3)
    a, b = np.round(np.clip(drawn, 0.0, 1.0), 2).astype(np.float64)
    patients = np.arange(len(cells), dtype=np.int64) // rows if rows > 1 else None
    further = Further({"a": a, "b": b}, {"": labels}, {variable: places}, patients, left_out=LeftOut(3, 1, 4))
    return Samples(name, a, labels, further=further)


def owners_of(*levels: Levels, variable: str = "age", seed: int = 0, rows: int = 1) -> list[Samples]:
    return [
        owner(f"owner {number}", own, variable=variable, seed=seed, rows=rows)
        for number, own in enumerate(levels, start=1)
    ]


def alike(*level: Classes) -> list[Samples]:
    """Return four owners with the same numbers."""
    return owners_of(*([level] * 4))
