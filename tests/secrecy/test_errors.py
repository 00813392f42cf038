"""No error quotes a score, a label, a share or a key."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from numpy.typing import NDArray

import ppaurora
from ppaurora.channel.frames import HEADER_BYTES
from ppaurora.channel.servers import Server
from ppaurora.data import Samples, read_table
from ppaurora.errors import (
    DataError,
    MisuseError,
    PeerMisbehavedError,
    PpauroraError,
    ProtocolError,
    UnsortedListError,
)
from ppaurora.metrics import Query, metrics_named
from ppaurora.party.process import failed
from ppaurora.policy.rules import Policy
from ppaurora.protocols import Fast, Paper, Prepared, Protocol
from ppaurora.randomness import Stream, StreamFamily
from ppaurora.sharing import BitShare, RingShare, WideShare
from ppaurora.sharing.algebra import WIDE
from ppaurora.sharing.stages import ResultShare
from ppaurora.suites.base import Suite
from ppaurora.suites.bitsliced import BitslicedSuite
from ppaurora.suites.bitsliced.shares import HOLDERS as MASKED
from ppaurora.suites.bitsliced.shares import MaskedShare
from ppaurora.suites.cecilia.shares import HOLDERS as ADDITIVE
from ppaurora.suites.role import Role
from ppaurora.testing import World
from tests.support.bad_arrays import BAD_ARRAYS
from tests.support.bad_files import BAD_FILES
from tests.support.bad_input import PLANTED, PLANTED_DIGITS, BadArrays, BadFile, by_protocol, one_of_each_kind
from tests.support.secrecy import KEY, LABELS, SCORES, everything_about, leaks, owners_of_planted_values


@pytest.mark.parametrize(("case", "protocol"), by_protocol(one_of_each_kind(BAD_FILES)))
def test_no_error_about_a_file_quotes_it(case: BadFile, protocol: Protocol, tmp_path: Path) -> None:
    path = tmp_path / "ward.csv"
    path.write_bytes(case.content)
    with pytest.raises(DataError) as caught:
        protocol.share(read_table(path, **case.options), ())
    assert leaks(everything_about(caught.value), [PLANTED_DIGITS]) == []


@pytest.mark.parametrize(("case", "protocol"), by_protocol(one_of_each_kind(BAD_ARRAYS)))
def test_no_error_about_arrays_quotes_them(case: BadArrays, protocol: Protocol) -> None:
    name: Any = protocol.name
    with pytest.raises(DataError) as caught:
        ppaurora.evaluate(
            [(case.y_true, case.y_score)] * 2,
            pos_label=case.pos_label,
            protocol=name,
            **protocol.settings(),
        )
    assert leaks(everything_about(caught.value), [PLANTED_DIGITS, float(PLANTED)]) == []


def test_a_file_that_is_not_utf_8_does_not_travel_with_the_error(tmp_path: Path) -> None:
    path = tmp_path / "ward.csv"
    path.write_bytes(f"score,label\n{PLANTED},1\n".encode() + b"\xff\n")
    with pytest.raises(DataError) as caught:
        read_table(path)
    # A UnicodeDecodeError would hold the whole content, in sight of whoever reports errors with their causes.
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__ or caught.value.__context__ is None


OFFSET = np.array([[3, 4], [5, 6]], dtype=np.uint64)


def planted_share() -> ResultShare:
    return ResultShare(Stream(KEY).words((2, 2)))


def asked_for_auroc() -> Query:
    policy = msgspec.structs.replace(Policy.exact(), counts="hidden")
    return Query(metrics_named("auroc"), (12, 12), policy)


def planted_wide() -> WideShare:
    return WideShare(ADDITIVE[Role.PROXY_0], WIDE.draw(Stream(KEY), (24,)))


def open_twice() -> None:
    family = StreamFamily(KEY, "k01")
    family.open("masks")
    family.open("masks")


MISUSES: dict[str, tuple[type[PpauroraError], Callable[[], object], list[object]]] = {
    "a ring share of floats": (MisuseError, lambda: RingShare(ADDITIVE[Role.PROXY_0], SCORES), [SCORES]),
    "a bit share of words": (
        MisuseError,
        lambda: BitShare(ADDITIVE[Role.PROXY_0], SCORES.view(np.uint64)),
        [SCORES.view(np.uint64)],
    ),
    "a masked share of floats": (
        MisuseError,
        lambda: MaskedShare(MASKED[Role.PROXY_0], np.stack([SCORES, SCORES])),
        [SCORES],
    ),
    "a wide share of words": (
        MisuseError,
        lambda: WideShare(ADDITIVE[Role.PROXY_0], SCORES.view(np.uint64)),
        [SCORES.view(np.uint64)],
    ),
    "numbers of both rings": (
        MisuseError,
        lambda: planted_wide() + RingShare(ADDITIVE[Role.PROXY_0], SCORES.view(np.uint64)),  # type: ignore[operator]
        [SCORES.view(np.uint64), planted_wide().values],
    ),
    "a stream opened twice": (MisuseError, open_twice, [KEY]),
    "result shares of two runs": (
        ProtocolError,
        lambda: Paper().combine([planted_share(), ResultShare(OFFSET)], asked_for_auroc(), []),
        [planted_share().words, planted_share().words + OFFSET],
    ),
    "result shares too short": (
        ProtocolError,
        lambda: Paper().combine([planted_share()], asked_for_auroc(), []),
        [planted_share().words],
    ),
}


@pytest.mark.parametrize("name", MISUSES)
def test_no_error_about_misuse_quotes_a_secret(name: str) -> None:
    kind, misuse, secrets = MISUSES[name]
    with pytest.raises(kind) as caught:
        misuse()
    assert leaks(everything_about(caught.value), secrets) == []


def test_an_unforeseen_error_of_a_server_is_told_without_its_text() -> None:
    """NumPy, for instance, quotes values in its own errors."""
    with pytest.raises(ValueError, match="could not convert") as caught:
        np.array([f"{SCORES.tolist()}"]).astype(np.float64)
    assert leaks(str(caught.value), [SCORES])  # the positive control
    told = failed(caught.value)
    assert told.message.startswith("internal error: ValueError at test_errors.py:")
    assert leaks(repr(told), [SCORES]) == []


@pytest.mark.parametrize("protocol", [Paper(), Fast()], ids=str)
def test_no_error_about_a_peer_quotes_its_message(protocol: Protocol) -> None:
    sent: list[bytes] = []

    def lengthen(sender: Server, receiver: Server, raw: bytes) -> bytes:
        if sender is Role.PROXY_0 and receiver is Role.PROXY_1:
            sent.append(raw)
            if len(sent) == 3:
                return raw + b"\0" * 8
        return raw

    def cube(suite: Suite, x: RingShare) -> RingShare:
        if isinstance(suite, BitslicedSuite):
            x = suite.mask(x)
        return suite.mul(suite.mul(x, x), x)

    with pytest.raises(PeerMisbehavedError) as caught:
        World(protocol, tamper=lengthen, timeout=60).run(cube, list(range(1, 9)))
    assert len(sent) >= 3
    payloads = [raw[HEADER_BYTES:] for raw in sent[1:]]
    assert all(payloads)
    assert leaks(everything_about(caught.value), payloads) == []


def test_no_error_about_an_unsorted_list_quotes_it(monkeypatch: pytest.MonkeyPatch) -> None:
    keys: list[NDArray[np.uint64]] = []

    prepare = Fast.prepare

    def without_sorting(protocol: Fast, samples: Samples) -> Prepared:
        prepared = prepare(protocol, samples)
        keys.append(prepared.keys)
        return Prepared(prepared.keys[::-1].copy(), prepared.labels[::-1].copy())

    monkeypatch.setattr(Fast, "prepare", without_sorting)
    with pytest.raises(UnsortedListError) as caught:
        ppaurora.evaluate(owners_of_planted_values())
    assert str(caught.value).startswith("owner 1: the list that was sent is not sorted")
    assert leaks(str(keys[0].tolist()), [keys[0]])
    assert leaks(everything_about(caught.value), [SCORES, LABELS, *keys]) == []
