"""What is freed goes back."""

from __future__ import annotations

import os
import sys

import numpy as np
import pytest

from ppaurora.session import freed
from ppaurora.session.freed import give_back_freed_memory
from tests.support.crowds import memory_of

PIECES, WORDS = 400, 10_000  # 32 MB in pieces that the C library keeps


def held() -> int:
    return memory_of(os.getpid())


@pytest.mark.skipif(sys.platform != "linux" or freed._trim is None, reason="only glibc gives memory back")
def test_freed_pieces_between_others_go_back_to_the_system() -> None:
    pieces = [np.ones(WORDS) for _ in range(2 * PIECES)]
    kept = pieces[1::2]  # so that the free pieces are no single one at the end
    give_back_freed_memory()
    before = held()
    del pieces
    kept_by_the_library = held()
    give_back_freed_memory()
    freed_bytes = PIECES * WORDS * 8
    assert before - kept_by_the_library < freed_bytes // 4
    assert kept_by_the_library - held() > freed_bytes // 2
    assert sum(map(len, kept)) == PIECES * WORDS


def test_where_the_library_cannot_nothing_happens(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(freed, "_trim", None)
    give_back_freed_memory()
