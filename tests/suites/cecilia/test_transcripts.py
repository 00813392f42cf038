"""What travels: every message of a primitive, on inputs that are as different as can be."""

from __future__ import annotations

import numpy as np
import pytest

from ppaurora.channel.servers import Server
from ppaurora.errors import PeerMisbehavedError
from ppaurora.sharing import BitShare, RingShare
from ppaurora.suites.arrays import ArrayRecords as Records
from ppaurora.suites.cecilia import CeciliaSuite
from ppaurora.suites.cecilia.dealing import Dealing
from ppaurora.suites.role import Role
from ppaurora.testing import World
from tests.support.cases import transcript
from tests.support.cecilia import run


def conversation(value: int) -> list[tuple[Server, Server, list[int]]]:
    x = np.full(50, value, dtype=np.uint64)
    bits = np.full(50, value & 1, dtype=bool)

    def everything(suite: CeciliaSuite, a: RingShare, b: BitShare) -> None:
        suite.mul(a, a)
        suite.msb(a)
        suite.div(a, a, 3, 2**62 - 1)
        suite.differ(a, a)
        suite.to_ring(b)
        suite.exchange(Records(a, b), Records(a, b))

    return transcript(run(everything, x, bits))


def test_the_shape_of_the_conversation_does_not_depend_on_the_data() -> None:
    assert conversation(0) == conversation(1) == conversation(2**61 - 1)


def test_results_are_freshly_shared() -> None:
    """The same product twice, from the same parts, has different parts; only the sum is equal."""

    def twice(suite: CeciliaSuite, a: RingShare) -> list[RingShare]:
        return [suite.mul(a, a), suite.mul(a, a)]

    result = run(twice, np.arange(20, dtype=np.uint64))
    first, second = result.results[Role.PROXY_0]
    assert (first.values != second.values).all()
    assert (result.value[0] == result.value[1]).all()


def test_parts_of_zero_are_in_every_result(monkeypatch: pytest.MonkeyPatch) -> None:
    """All else that a part is made of, the helper has dealt: it could recognise one that it is shown later.

    With parts that do not add up to zero, every result is wrong by what they add up to.
    """
    x, bits = np.arange(20, dtype=np.uint64), np.arange(20) % 3 == 0

    def several(suite: CeciliaSuite, a: RingShare, b: BitShare) -> list[RingShare]:
        return [suite.mul(a, a), suite.to_ring(b), suite.msb(a), suite.modulus_conversion(a)]

    right = run(several, x, bits).value
    monkeypatch.setattr(Dealing, "zero", lambda dealing, algebra, shape: np.full(shape, 7, dtype=np.uint64))
    for wrong, expected in zip(run(several, x, bits).value, right, strict=True):
        assert (wrong == expected + np.uint64(14)).all()


def test_a_changed_message_changes_the_result_or_is_refused_but_never_hangs() -> None:
    """Correctness holds for honest servers only; a short message is noticed at once."""

    def shorten(sender: Server, receiver: Server, frame: bytes) -> bytes:
        return frame[:-8] if len(frame) > 500 else frame

    with pytest.raises(PeerMisbehavedError, match=r"length|bytes"):
        World(tamper=shorten, timeout=60).run(lambda s, a: s.mul(a, a), np.arange(100, dtype=np.uint64))
