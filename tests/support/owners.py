"""Samples as owners have them: in files, in containers, prepared for a protocol."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from ppaurora.data import Samples
from ppaurora.protocols import Fast, ListProtocol, Paper, Prepared

SCORES = [0.25, 0.75, 0.5]
LABELS = [0, 1, 1]

SPLITS: dict[str, ListProtocol] = {
    "fast, 64 bits": Fast(key_bits=64),
    "fast, 32 bits": Fast(key_bits=32),
    "paper": Paper(),
}
each_split = pytest.mark.parametrize("protocol", SPLITS.values(), ids=SPLITS.keys())


class LikeAPandasSeries:
    """An index, and values that come out through `__array__` only."""

    def __init__(self, values: Sequence[object]) -> None:
        self.index = list(range(100, 100 + len(values)))
        self._values = values

    def __array__(self, dtype: Any = None, copy: Any = None) -> NDArray[Any]:
        return np.array(self._values, dtype=dtype)

    def __len__(self) -> int:
        return len(self._values)

    def __getitem__(self, index: int) -> object:
        return self._values[self.index.index(index)]


def written(folder: Path, content: bytes, name: str = "ward.csv") -> Path:
    path = folder / name
    path.write_bytes(content)
    return path


def samples_of(scores: Sequence[float], labels: Sequence[int]) -> Samples:
    return Samples("owner 1", np.array(scores, dtype=np.float64), np.array(labels, dtype=np.uint8))


def varied_data(size: int, key_bits: int) -> Prepared:
    """Keys with bits of all places set, and some ties."""
    random = np.random.default_rng(size)
    scores = random.standard_normal(size).astype(np.float32) * random.choice([1e-30, 1, 1e30], size)
    scores[: size // 3] = scores[0]
    exact = scores.astype(np.float32).astype(np.float64) if key_bits == 32 else scores
    samples = samples_of(exact.tolist(), random.integers(0, 2, size).tolist())
    return Fast(key_bits=key_bits).prepare(samples)
