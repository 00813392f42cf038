"""Chunks so small that a few records make many."""

from __future__ import annotations

import pytest

from ppaurora.suites.bitsliced import trees

# Words of a plane and numbers to a chunk, and how many chunks are under way at a time.
CHUNKS = [(1, 64, 1), (2, 192, 2), (4, 128, 4), (3, 320, 7), (2048, 1 << 14, 4)]


@pytest.fixture(params=CHUNKS, ids=str)
def chunks(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, size in zip(("CHUNK_WORDS", "CHUNK_NUMBERS", "WINDOW"), request.param, strict=True):
        monkeypatch.setattr(trees, name, size)
