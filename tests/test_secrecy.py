"""Nothing that is printed, logged or raised shows a score, a label, a share or a key.

Recognisable values are planted, and everything that could be shown is searched for them, in every
notation in which they might appear. `test_the_search_finds_a_leak` shows that the search would see.
"""

from __future__ import annotations

import base64
import io
import json
import logging
import os
import pprint
import subprocess
import sys
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from rich.pretty import pretty_repr

import ppaurora
from ppaurora.channel.base import Channel
from ppaurora.channel.frames import HEADER_BYTES, Frame, FrameDecoder, Header
from ppaurora.channel.memory import memory_transports
from ppaurora.errors import (
    DataError,
    MisuseError,
    PeerMisbehavedError,
    PpauroraError,
    ProtocolError,
    UnsortedListError,
)
from ppaurora.owner import Prepared, Samples, check_samples, combine, prepare, read_table, split
from ppaurora.party.run import Outcome
from ppaurora.randomness import Stream, StreamFamily
from ppaurora.session import Context
from ppaurora.session.agreement import PairKeys, SessionSecrets
from ppaurora.sharing import BitShare, Holder, MaskedShare, RingShare
from ppaurora.sharing.planes import Planes
from ppaurora.sharing.stages import AdditiveShare, PlanesShare, ResultShare
from ppaurora.suites.arrays import ArrayRecords
from ppaurora.suites.base import Suite
from ppaurora.suites.bitsliced import BitslicedSuite
from ppaurora.suites.bitsliced.records import PlaneRecords
from ppaurora.suites.cecilia import CeciliaSuite
from ppaurora.suites.role import Role
from ppaurora.testing import World
from ppaurora.testing.world import Message
from tests.support.bad_arrays import BAD_ARRAYS
from tests.support.bad_files import BAD_FILES
from tests.support.bad_input import PLANTED, PLANTED_DIGITS, BadArrays, BadFile, by_protocol

SCORES = np.array([0.7391826450917, 0.1830275946618, 0.5928374650192, 0.0918273645501] * 6)
LABELS = np.array([1, 0, 1, 1, 0, 0, 0, 1, 0, 1, 1, 1, 0, 1, 0, 0, 1, 1, 0, 1, 0, 1, 1, 0], dtype=np.uint8)
KEY = bytes.fromhex("c3a1f09e5b7d42881e6fd0b9937ac5e42b60ffd17c8e9a0534d6eb21f7a84c59")
OTHER_KEY = bytes(byte ^ 0x5A for byte in KEY)


# The search


def notations(secret: object) -> set[str]:
    """The ways in which a secret might be written, each long enough not to occur by chance."""
    if isinstance(secret, np.ndarray) and secret.dtype == np.uint8:
        return _sequences(secret.tolist())
    if isinstance(secret, np.ndarray):
        return {text for value in secret.reshape(-1).tolist() for text in notations(value)}
    if isinstance(secret, bytearray):
        return notations(bytes(secret))
    if isinstance(secret, bytes):
        found = _sequences(secret) | {secret.hex()[:16], secret.hex(" ")[:20], secret.hex(":")[:20]}
        found |= {base64.b64encode(secret).decode()[:12], repr(secret)[2:22], secret.decode("latin-1")[:8]}
        found |= {text.upper() for text in found if text.isalnum()}
        words = np.frombuffer(secret[: len(secret) // 8 * 8], dtype=np.uint64)
        return found | notations(words)
    if isinstance(secret, float):
        rounded = {f"{secret:.{digits}f}"[1:] for digits in (6, 7, 8, 10, 12)}
        exact = {repr(secret)[2:12], secret.hex()[4:12], f"{secret:.6e}"[:8]}
        return rounded | exact | notations(int(np.float64(secret).view(np.uint64)))
    if isinstance(secret, int):
        raw = secret.to_bytes(8, "little")
        return {str(secret), str(secret - 2**64), f"{secret:x}", f"{secret:X}", raw.hex(), repr(raw)[2:-1]}
    if isinstance(secret, str):
        return {secret}
    raise TypeError(f"cannot search for a {type(secret).__name__}")


def _sequences(values: Sequence[int]) -> set[str]:
    """Numbers one after the other, as lists, arrays and strings of digits show them."""
    first = [str(value) for value in values[:12]]
    return {", ".join(first), " ".join(first), "".join(first), ",".join(first)}


def leaks(text: str, secrets: Sequence[object]) -> list[str]:
    """The notations of secrets that occur in the text, whether or not it is broken into lines."""
    flat = " ".join(text.split())
    return sorted(
        {found for secret in secrets for found in notations(secret) if found in text or found in flat}
    )


WAYS_TO_SHOW: dict[str, Callable[[Any], str]] = {
    "repr": repr,
    "str": str,
    "format": "{}".format,
    "in a list": lambda thing: str([thing]),
    "in a dictionary": lambda thing: f"{ ({'it': thing}) }",
    "pprint": pprint.pformat,
    "rich": pretty_repr,
    "logged": lambda thing: logged("got %s and %r", thing, thing),
}


def logged(message: str, *arguments: object) -> str:
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    handler.handle(logging.LogRecord("ppaurora", logging.INFO, "", 0, message, arguments, None))
    return stream.getvalue()


def everything_about(error: BaseException) -> str:
    """Message, arguments, attributes, notes, and the traceback with everything that led to it."""
    shown = [str(error), repr(error), repr(error.args), repr(vars(error))]
    return "\n".join([*shown, *traceback.format_exception(error)])


# The search works


@dataclass
class Leaky:
    secret: Any


LEAKS = {
    "scores": SCORES,
    "labels": LABELS,
    "keys": SCORES.view(np.uint64),
    "words": np.array([0xC3A1F09E5B7D4288, 0x1E6FD0B9937AC5E4], dtype=np.uint64),
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


# Objects


def midway_through(header: Header, payload: bytes) -> FrameDecoder:
    """All but the last byte of a frame has arrived."""
    decoder = FrameDecoder(Role.PROXY_0)
    rest = (header.pack() + payload)[:-1]
    while rest:
        space = decoder.space()
        piece, rest = rest[: len(space)], rest[len(space) :]
        space[: len(piece)] = piece
        assert decoder.advance(len(piece)) is None
    return decoder


def things() -> dict[str, tuple[object, list[object]]]:
    """Everything that holds a secret, with the secrets it holds."""
    samples = check_samples("owner 1", LABELS, SCORES)
    prepared, fast_prepared = prepare(samples, "paper", 64), prepare(samples, "fast", 64)
    share, other_share = split(prepared, "paper", 64)
    assert isinstance(share, AdditiveShare)
    assert isinstance(other_share, AdditiveShare)
    planes_share, other_planes_share = split(fast_prepared, "fast", 64)
    assert isinstance(planes_share, PlanesShare)
    assert isinstance(other_planes_share, PlanesShare)
    words = Stream(KEY).words((5,))
    ring = RingShare(Holder.PROXY_0, share.keys)
    bits = BitShare(Holder.PROXY_1, share.labels)
    components = Stream(OTHER_KEY).words((2, 65, 1))
    masked = MaskedShare(Holder.PROXY_0, components[:, 0])
    planes = Planes(Holder.PROXY_0, components, 64)
    helper_planes = Planes(Holder.HELPER, components[:1], 64)
    result = ResultShare(words)
    pair_keys = PairKeys({Role.PROXY_1: KEY, Role.HELPER: OTHER_KEY}, b"\x01" * 8)
    context = Context(Channel(memory_transports(Role)[Role.PROXY_0]), pair_keys)
    raw = planes_share.to_bytes()
    header = Header(3, b"\x01" * 8, 2, len(raw))
    payload: Any = bytearray(raw)  # unlike a view, it would show what is in it
    family = StreamFamily(KEY, "k01")
    stream = family.open("masks")
    drawn = stream.words((4,))
    session = SessionSecrets()
    clear: list[object] = [SCORES, LABELS, prepared.keys, fast_prepared.keys, prepared.labels]
    return {
        "Samples": (samples, clear),
        "Samples of a file": (Samples("a.csv", SCORES, LABELS, np.arange(24), "risk"), clear),
        "Prepared for paper": (prepared, clear),
        "Prepared for fast": (fast_prepared, clear),
        "AdditiveShare 0": (share, [share.keys, share.labels]),
        "AdditiveShare 1": (other_share, [other_share.keys, other_share.labels]),
        "PlanesShare 0": (planes_share, [planes_share.planes]),
        "PlanesShare 1": (other_planes_share, [other_planes_share.planes]),
        "ResultShare": (result, [words]),
        "RingShare": (ring, [share.keys]),
        "RingShare computed": (ring * 2 + 1, [(share.keys * np.uint64(2))]),
        "BitShare": (bits, [share.labels]),
        "MaskedShare": (masked, [components[:, 0]]),
        "MaskedShare computed": (masked * 2 + 1, [components[:, 0] * np.uint64(2)]),
        "Planes": (planes, [components]),
        "Planes of the helper": (helper_planes, [components[:1]]),
        "Planes inverted": (~planes, [~components[0], components[1]]),
        "ArrayRecords": (ArrayRecords(ring, bits), [share.keys, share.labels]),
        "PlaneRecords": (PlaneRecords(planes), [components]),
        "Frame": (Frame(header, payload), [raw]),
        "Frame of a view": (Frame(header, memoryview(raw)), [raw]),
        "FrameDecoder": (midway_through(header, raw), [raw]),
        "Message": (Message(Role.PROXY_0, Role.PROXY_1, raw), [raw]),
        "Outcome": (Outcome(result, (result,), 0.5, {}, {}, peak_bytes=0), [words]),
        "Stream": (stream, [KEY, drawn]),
        "Stream of its own": (Stream(OTHER_KEY, "own"), [OTHER_KEY]),
        "StreamFamily": (family, [KEY, drawn]),
        "PairKeys": (pair_keys, [KEY, OTHER_KEY]),
        "Context": (context, [KEY, OTHER_KEY]),
        "BitslicedSuite": (BitslicedSuite(context), [KEY, OTHER_KEY]),
        "SessionSecrets": (session, [session._private.private_bytes_raw(), session.contribution()]),
    }


THINGS = things()


@pytest.mark.parametrize("way", WAYS_TO_SHOW)
@pytest.mark.parametrize("name", THINGS)
def test_no_object_shows_what_it_holds(name: str, way: str) -> None:
    thing, secrets = THINGS[name]
    shown = WAYS_TO_SHOW[way](thing)
    assert type(thing).__name__ in shown, "this does not show the object at all"
    assert leaks(shown, secrets) == []


# Errors


@pytest.mark.parametrize(("case", "protocol"), by_protocol(BAD_FILES))
def test_no_error_about_a_file_quotes_it(case: BadFile, protocol: str, tmp_path: Path) -> None:
    path = tmp_path / "ward.csv"
    path.write_bytes(case.content)
    with pytest.raises(DataError) as caught:
        prepare(read_table(path, **case.options), protocol, case.key_bits)
    assert leaks(everything_about(caught.value), [PLANTED_DIGITS]) == []


@pytest.mark.parametrize(("case", "protocol"), by_protocol(BAD_ARRAYS))
def test_no_error_about_arrays_quotes_them(case: BadArrays, protocol: str) -> None:
    with pytest.raises(DataError) as caught:
        ppaurora.evaluate(
            [(case.y_true, case.y_score)] * 2,
            pos_label=case.pos_label,
            protocol=protocol,
            key_bits=case.key_bits,
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


def open_twice() -> None:
    family = StreamFamily(KEY, "k01")
    family.open("masks")
    family.open("masks")


MISUSES: dict[str, tuple[type[PpauroraError], Callable[[], object], list[object]]] = {
    "a ring share of floats": (MisuseError, lambda: RingShare(Holder.PROXY_0, SCORES), [SCORES]),
    "a bit share of words": (
        MisuseError,
        lambda: BitShare(Holder.PROXY_0, SCORES.view(np.uint64)),
        [SCORES.view(np.uint64)],
    ),
    "a masked share of floats": (
        MisuseError,
        lambda: MaskedShare(Holder.PROXY_0, np.stack([SCORES, SCORES])),
        [SCORES],
    ),
    "a stream opened twice": (MisuseError, open_twice, [KEY]),
    "result shares of two runs": (
        ProtocolError,
        lambda: combine([planted_share(), ResultShare(OFFSET)], ["auroc"]),
        [planted_share().words, planted_share().words + OFFSET],
    ),
    "result shares too short": (
        ProtocolError,
        lambda: combine([planted_share()], ["auroc"]),
        [planted_share().words],
    ),
}


@pytest.mark.parametrize("name", MISUSES)
def test_no_error_about_misuse_quotes_a_secret(name: str) -> None:
    kind, misuse, secrets = MISUSES[name]
    with pytest.raises(kind) as caught:
        misuse()
    assert leaks(everything_about(caught.value), secrets) == []


@pytest.mark.parametrize("suite", [CeciliaSuite, BitslicedSuite], ids=["cecilia", "bitsliced"])
def test_no_error_about_a_peer_quotes_its_message(suite: Callable[[Context], Suite]) -> None:
    sent: list[bytes] = []

    def lengthen(sender: Role, receiver: Role, raw: bytes) -> bytes:
        if sender is Role.PROXY_0 and receiver is Role.PROXY_1:
            sent.append(raw)
            if len(sent) == 3:
                return raw + b"\0" * 8
        return raw

    def cube(suite: Any, x: RingShare) -> RingShare:
        if isinstance(suite, BitslicedSuite):
            x = suite.mask(x)
        return suite.mul(suite.mul(x, x), x)  # type: ignore[no-any-return]

    with pytest.raises(PeerMisbehavedError) as caught:
        World(suite, tamper=lengthen, timeout=10).run(cube, list(range(1, 9)))
    assert len(sent) >= 3
    payloads = [raw[HEADER_BYTES:] for raw in sent[1:]]
    assert all(payloads)
    assert leaks(everything_about(caught.value), payloads) == []


def test_no_error_about_an_unsorted_list_quotes_it(monkeypatch: pytest.MonkeyPatch) -> None:
    keys: list[NDArray[np.uint64]] = []

    def without_sorting(samples: Samples, protocol: str, key_bits: int) -> Prepared:
        prepared = prepare(samples, protocol, key_bits)
        keys.append(prepared.keys)
        return Prepared(prepared.keys[::-1].copy(), prepared.labels[::-1].copy())

    monkeypatch.setattr("ppaurora.evaluation.prepare", without_sorting)
    with pytest.raises(UnsortedListError) as caught:
        ppaurora.evaluate(owners_of_planted_values())
    assert str(caught.value).startswith("owner 1: the list that was sent is not sorted")
    assert leaks(str(keys[0].tolist()), [keys[0]])
    assert leaks(everything_about(caught.value), [SCORES, LABELS, *keys]) == []


# Whole runs


def owners_of_planted_values() -> list[tuple[NDArray[np.uint8], NDArray[np.float64]]]:
    return [(LABELS[:12], SCORES[:12]), (LABELS[12:], SCORES[12:])]


@pytest.mark.parametrize("protocol", ["fast", "paper"])
def test_a_run_in_threads_says_nothing(
    protocol: str, capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    steps: list[str] = []
    with caplog.at_level(logging.DEBUG):
        report = ppaurora.evaluate(
            owners_of_planted_values(),
            metrics=["auroc"],
            protocol=protocol,
            progress=lambda step, done, total: steps.append(f"{step} {done}/{total}"),
        )
    said = capfd.readouterr()
    assert (said.out, said.err, caplog.text) == ("", "", "")
    shown = "\n".join([repr(report), report.to_json(), *steps])
    assert "auroc" in shown
    assert leaks(shown, [SCORES, LABELS, *(part for part, _ in owners_of_planted_values())]) == []


def test_a_run_in_processes_says_nothing_even_to_who_debugs(tmp_path: Path) -> None:
    files = []
    for number, (labels, scores) in enumerate(owners_of_planted_values()):
        path = tmp_path / f"{number}.csv"
        rows = "".join(f"{score!r},{label}\n" for score, label in zip(scores.tolist(), labels, strict=True))
        path.write_text(f"score,label\n{rows}")
        assert leaks(path.read_text(), [SCORES])
        files.append(str(path))
    finished = subprocess.run(
        [
            sys.executable,
            "-c",
            "from ppaurora.cli import main; main()",
            "evaluate",
            *files,
            "--format",
            "json",
        ],
        capture_output=True,
        text=True,
        timeout=60,
        env={**os.environ, "PPAURORA_DEBUG": "1"},
    )
    assert finished.returncode == 0, finished.stderr
    assert "auroc" in finished.stdout
    assert leaks(finished.stdout + finished.stderr, [SCORES, LABELS]) == []


def test_prepared_data_is_what_the_search_looks_for() -> None:
    """The planted values are those that the package would hold."""
    samples = check_samples("owner 1", LABELS, SCORES)
    prepared = prepare(samples, "paper", 64)
    assert set(prepared.keys.tolist()) == set(SCORES.view(np.uint64).tolist())
    assert leaks(str(prepared.keys), [SCORES])
    assert leaks(str(prepared.labels), [prepared.labels])
    fast = prepare(samples, "fast", 64)
    assert leaks(str(fast.keys), [fast.keys])
    for share in split(fast, "fast", 64):
        assert isinstance(share, PlanesShare)
        assert leaks(str(share.planes), [share.planes])
        assert leaks(str(share.planes), [share.to_bytes()])
        assert leaks(str(share.to_bytes()), [share.to_bytes()])
