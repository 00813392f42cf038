"""What is freed goes back."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest

from ppaurora.session import freed
from ppaurora.session.freed import give_back_freed_memory, keep_large_arrays_apart
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


_HELD_AFTERWARDS = """
import os
import sys
import numpy as np
from ppaurora.session.freed import keep_large_arrays_apart
from tests.support.crowds import memory_of
if sys.argv[1] == "apart":
    keep_large_arrays_apart()
np.ones(3 << 20)  # 24 MiB: a first one teaches the library to keep such arrays
before = memory_of(os.getpid())
large, between = [], []
for _ in range(8):
    large.append(np.ones(1 << 20))
    between.append(np.ones(1 << 15))  # too large for a gap among what was there before
large.clear()
print(memory_of(os.getpid()) - before)
"""


@pytest.mark.skipif(sys.platform != "linux" or freed._trim is None, reason="only glibc gives memory back")
def test_large_arrays_go_back_at_once() -> None:
    kept = {}
    for how in ("apart", "as ever"):
        run = subprocess.run(
            [sys.executable, "-c", _HELD_AFTERWARDS, how], capture_output=True, text=True, check=True
        )
        kept[how] = int(run.stdout)
    assert kept["apart"] < 8 << 20
    assert kept["as ever"] > 32 << 20  # of 64 MiB, so there is something to gain


def test_where_the_library_cannot_nothing_happens(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(freed, "_trim", None)
    monkeypatch.setattr(freed, "_set_option", None)
    give_back_freed_memory()
    keep_large_arrays_apart()
