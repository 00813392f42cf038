"""The search for planted values would see a leak."""

from __future__ import annotations

import base64
import json
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from ppaurora.data import check_samples
from ppaurora.errors import DataError
from ppaurora.protocols import Fast, Paper
from ppaurora.randomness import Stream
from ppaurora.sharing.algebra import WIDE
from tests.support.bad_input import PLANTED
from tests.support.secrecy import KEY, LABELS, SCORES, WAYS_TO_SHOW, everything_about, leaks


@dataclass
class Leaky:
    secret: Any


LEAKS = {
    "scores": SCORES,
    "labels": LABELS,
    "keys": SCORES.view(np.uint64),
    "words": np.array([0xC3A1F09E5B7D4288, 0x1E6FD0B9937AC5E4], dtype=np.uint64),
    "wide numbers": WIDE.draw(Stream(KEY), (3,)),
    "pair key": KEY,
    "message": bytearray(KEY * 2),
}


@pytest.mark.parametrize("way", WAYS_TO_SHOW)
@pytest.mark.parametrize("kind", LEAKS)
def test_the_search_finds_a_leak(kind: str, way: str) -> None:
    show, secret = WAYS_TO_SHOW[way], LEAKS[kind]
    assert leaks(show(Leaky(secret)), [secret])
    assert leaks(show(secret), [secret])
    assert not leaks(show(Leaky("nothing")), [secret])


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        (f"bad score {SCORES[0]}", SCORES),
        (f"bad score {SCORES[1]:.6f}", SCORES),
        (f"bad score {SCORES[2]:.6e}", SCORES),
        (f"bad score {np.float32(SCORES[2])}", SCORES),
        (f"labels {LABELS.tolist()}", LABELS),
        (f"labels {''.join(map(str, LABELS))}", LABELS),
        (str(SCORES.view(np.int64)), SCORES),
        (str([hex(word) for word in SCORES.view(np.uint64).tolist()]), SCORES),
        (SCORES.tobytes().hex(), SCORES),
        (KEY.hex(), KEY),
        (KEY.hex().upper(), KEY),
        (base64.b64encode(KEY).decode(), KEY),
        (str(list(KEY)), KEY),
        (json.dumps({"key": KEY.hex(":")}), KEY),
    ],
)
def test_the_search_knows_many_notations(text: str, secret: object) -> None:
    assert leaks(text, [secret])


def test_the_search_reads_tracebacks() -> None:
    def fails() -> None:
        try:
            float(f"{PLANTED}x")
        except ValueError as error:
            raise DataError("is not a number", source="a.csv") from error

    with pytest.raises(DataError) as caught:
        fails()
    assert leaks(everything_about(caught.value), [PLANTED])


def test_prepared_data_is_what_the_search_looks_for() -> None:
    """The planted values are those that the package would hold."""
    samples = check_samples("owner 1", LABELS, SCORES)
    prepared = Paper().prepare(samples)
    assert set(prepared.keys.tolist()) == set(SCORES.view(np.uint64).tolist())
    assert leaks(str(prepared.keys), [SCORES])
    assert leaks(str(prepared.labels), [prepared.labels])
    fast = Fast().prepare(samples)
    assert leaks(str(fast.keys), [fast.keys])
    for share in Fast().split(fast):
        assert leaks(str(share.planes), [share.planes])
        assert leaks(str(share.planes), [share.to_bytes()])
        assert leaks(str(share.to_bytes()), [share.to_bytes()])
