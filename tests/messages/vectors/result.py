"""result_fast.json, result_paper.json: parts of a result, and what an owner makes of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from ppaurora.errors import PpauroraError, ProtocolError
from ppaurora.models import from_json, to_json
from ppaurora.protocols import Fast, Paper, Protocol
from ppaurora.randomness import Stream
from ppaurora.sharing.stages import ResultShare
from tests.messages.vectors.file import Bad, Entry, VectorFile
from tests.messages.vectors.seeds import seed

_WHAT = """
Parts of a result of the protocol `{protocol}`. A column is a mantissa and an exponent, the number
mantissa / 2^exponent. The first column is 1 if there is a result, else 0; then comes one for every
metric in `metrics`{flags}. A part is all mantissas, then all exponents, 64-bit words in little endian;
`parts` has the parts' bytes in hexadecimal, `json` the same as they are in JSON, in base64. The parts'
sum modulo 2^64 is `columns`. The first part is drawn from the AES-256 counter-mode stream under
`stream_key`. An owner learns `values`, or that there are none, by `error`. Refused are parts that do
not belong together, and texts that are no part of a result.
"""
_SORTED = ", then one for every owner in `owners`, 1 if its list was sorted, else 0"
FAST_WHAT = _WHAT.format(protocol="fast", flags=_SORTED)
PAPER_WHAT = _WHAT.format(protocol="paper", flags="")

METRICS = ("auroc", "aupr")
OWNERS = ("hospital-a", "hospital-b", "hospital-c")
_YES, _NO = (1, 0), (0, 0)
_AUROC, _AUPR = (0x1B5A3C7E9D2F41, 53), (0x1F0E1D2C3B4A59 >> 3, 50)

Column = tuple[int, int]


@dataclass(frozen=True)
class _Setting:
    """A protocol, and the columns that follow the metrics if all lists are sorted."""

    protocol: Protocol
    in_order: tuple[Column, ...]

    @property
    def good(self) -> list[Column]:
        return [_YES, _AUROC, _AUPR, *self.in_order]


FAST = _Setting(Fast(), (_YES,) * len(OWNERS))
PAPER = _Setting(Paper(), ())


def _cases(setting: _Setting) -> dict[str, list[Column]]:
    cases = {
        "a result": setting.good,
        "the ends of the range": [_YES, (0, 0), (1, 0), *setting.in_order],
        "many binary places": [_YES, (2**62 + 1, 63), (1, 200), *setting.in_order],
        "one class only": [_NO, _NO, _NO, *setting.in_order],
    }
    if setting.in_order:
        cases["an unsorted list"] = [_NO, _NO, _NO, _YES, _NO, _YES]
        cases["two unsorted lists"] = [_NO, _NO, _NO, _NO, _YES, _NO]
    return cases


def _parts(columns: Sequence[Column], stream_key: bytes) -> list[ResultShare]:
    words = np.array(columns, dtype=np.uint64).T
    mask = Stream(stream_key).words(words.shape)
    return [ResultShare(mask), ResultShare(words - mask)]


def _outcome(protocol: Protocol, parts: Sequence[ResultShare]) -> Entry:
    try:
        return {"values": protocol.combine(parts, METRICS, OWNERS)}
    except PpauroraError as error:
        return {"error": type(error).__name__}


def make(setting: _Setting) -> list[Entry]:
    entries = []
    for name, columns in _cases(setting).items():
        stream_key = seed(f"parts of a result, {setting.protocol.name}, {name}")
        parts = _parts(columns, stream_key)
        entries.append(
            {
                "name": name,
                "protocol": setting.protocol.to_plain(),
                "metrics": METRICS,
                "owners": OWNERS,
                "columns": columns,
                "stream_key": stream_key.hex(),
                "parts": [part.to_bytes().hex() for part in parts],
                "json": [to_json(part).decode() for part in parts],
                "outcome": _outcome(setting.protocol, parts),
            }
        )
    return entries


def check(vector: Entry) -> None:
    parts = [ResultShare.from_bytes(bytes.fromhex(text)) for text in vector["parts"]]
    assert [part.to_bytes().hex() for part in parts] == vector["parts"]
    assert [to_json(part).decode() for part in parts] == vector["json"]
    from_texts = [from_json(ResultShare, text) for text in vector["json"]]
    assert [part.to_bytes() for part in from_texts] == [part.to_bytes() for part in parts]
    split = _parts(
        [(mantissa, exponent) for mantissa, exponent in vector["columns"]],
        bytes.fromhex(vector["stream_key"]),
    )
    assert [part.to_bytes() for part in split] == [part.to_bytes() for part in parts]
    assert _outcome(Protocol.from_plain(vector["protocol"]), parts) == vector["outcome"]


def take(bad: Entry) -> object:
    if "json" in bad:
        return from_json(ResultShare, bad["json"])
    parts = [ResultShare.from_bytes(bytes.fromhex(text)) for text in bad["parts"]]
    return Protocol.from_plain(bad["protocol"]).combine(parts, bad["metrics"], bad["owners"])


def _bad_columns(setting: _Setting) -> dict[str, list[Column]]:
    good, in_order = setting.good, setting.in_order
    bad = {
        "whether there is a result is neither 0 nor 1": [(2, 0), *good[1:]],
        "no result, and yet a value": [_NO, *good[1:]],
        "a metric above one": [_YES, ((1 << 53) + 1, 53), *good[2:]],
        "a mantissa that is garbage": [_YES, (2**64 - 5, 53), *good[2:]],
        "an exponent that is garbage": [_YES, (5, 2**64 - 5), *good[2:]],
        "an exponent one too large": [_YES, (1, 201), *good[2:]],
    }
    if in_order:
        bad["whether a list was sorted is neither 0 nor 1"] = [*good[:-1], (2, 0)]
        bad["whether a list was sorted has an exponent"] = [*good[:-1], (1, 1)]
        bad["whether a list was sorted is garbage, and there is no result"] = [
            _NO,
            _NO,
            _NO,
            *good[3:-1],
            (7, 7),
        ]
    return bad


def spoil(setting: _Setting) -> list[Bad]:
    one, other = (_parts(setting.good, seed(f"bad parts {number}")) for number in range(2))
    short = _parts(setting.good[:-1], seed("short parts"))
    long = _parts([*setting.good, _YES], seed("long parts"))
    flipped = bytearray(one[0].to_bytes())
    flipped[15] ^= 0x80
    ill_matched = {
        "parts of two runs": [one[0], other[1]],
        "the same part twice": [one[0], one[0]],
        "the highest bit of a metric changed": [ResultShare.from_bytes(bytes(flipped)), one[1]],
    }
    ill_shaped = {
        "one part only": one[:1],
        "no parts": [],
        "three parts": [*one, other[0]],
        "a column is missing": short,
        "a column too many": long,
        "parts of different lengths": [one[0], long[1]],
    }
    spoilt = {why: _parts(columns, seed(why)) for why, columns in _bad_columns(setting).items()}
    groups = [(ill_matched | spoilt, "belong together"), (ill_shaped, "every metric asked for")]
    place = {"protocol": setting.protocol.to_plain(), "metrics": METRICS, "owners": OWNERS}
    refused = [
        Bad(why, ProtocolError, says, {**place, "parts": [part.to_bytes().hex() for part in parts]})
        for group, says in groups
        for why, parts in group.items()
    ]
    return refused + _bad_texts(to_json(one[0]).decode())


def _bad_texts(text: str) -> list[Bad]:
    spoilt = {
        "an empty text": ('""', "two rows"),
        "half a column": ('"AAAAAAAAAAA="', "two rows"),
        "a byte too many": ('"AAAAAAAAAAAAAAAAAAAAAAA="', "two rows"),
        "not base64": ('"' + "?" + text[2:], "base64"),
        "base64 of the kind for addresses": ('"_-' + text[3:], "base64"),
        "base64 with a line break": (text[:9] + "\\n" + text[9:], "base64"),
        "base64 with unused bits that are set": ('"' + "A" * 21 + 'B=="', "one text"),
        "a number": ("7", "a text"),
        "a list of words": ("[[1],[0]]", "a text"),
        "nothing": ("null", "a text"),
    }
    return [Bad(why, ValueError, says, {"json": content}) for why, (content, says) in spoilt.items()]


FAST_FILE = VectorFile("result_fast", FAST_WHAT, partial(make, FAST), partial(spoil, FAST), check, take)
PAPER_FILE = VectorFile("result_paper", PAPER_WHAT, partial(make, PAPER), partial(spoil, PAPER), check, take)
