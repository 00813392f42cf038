"""input_shares_fast.json, input_shares_grid.json, input_shares_paper.json: what an owner makes and sends."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np

from ppaurora.data.count_table import CountTable
from ppaurora.data.grid import Grid
from ppaurora.data.samples import Samples
from ppaurora.errors import DataError, InputError
from ppaurora.metrics import METRICS, Metric, Query, metrics_named
from ppaurora.metrics.sums import OwnerSum, sums_of
from ppaurora.policy.rules import Policy
from ppaurora.protocols import Fast, GridProtocol, ListProtocol, Paper, Protocol
from ppaurora.randomness import Stream
from ppaurora.sharing.commitment import commit
from tests.messages.vectors.file import Bad, Entry, VectorFile
from tests.messages.vectors.seeds import seed

_LIST = """
The list is sorted by descending keys, equal ones in the owner's order: `keys` (64 bits each, in
hexadecimal) and `sorted_labels`.
"""
_COMMON = """
The first share is drawn from the AES-256 counter-mode stream under
`stream_key`; what an owner draws is nobody's concern, so another implementation may only check that
both shares together give the {whole}. `commitments` are the SHA-256, in hexadecimal, of each share's salt
and bytes. Refused are shares of a wrong length for the `server` that takes them (the number of a share), for
`size` samples and as many sums as the metrics need, and scores that {unfit}.
"""
_OF_LISTS = _LIST + _COMMON.format(whole="list", unfit="would not be exact")
_TABLE = """
A table is the owner's samples counted by class and by the value of the grid that their score is read as:
`positives` and `negatives`, from `low` to `high` in steps of the last decimal. A score is read as the whole
number of such steps that is nearest to the float64 product of score and 10^decimals, halfway to the even one.
Both shares of a table are words of 32 bits in little endian, positives and then negatives, of which the sum
modulo 2^32 is the counts; the first share's are the AES-256 counter-mode stream under a key of 32 bytes,
which is sent in their place.
"""
FAST_WHAT = """
Input shares of the protocol `fast`. A key is the float64 (or, with keys of 32 bits, the float32) read
as a whole number, with all bits inverted if it is negative, else the sign bit; -0.0 is 0.0. A share is
bit planes: the keys' from the most significant bit on, then the labels', each in 64-bit words, little
endian, in which record j is bit j mod 64 of word j div 64. Both shares' xor is the list; what is beyond
the last record is to be ignored. Behind the list are the owner's `sums`, 64-bit words in little endian, of
which both shares' sum modulo 2^64 is that of the owner; the first share's are drawn from the same stream
behind the list's. They are those of the `metrics`, in their order, each once: at every threshold the
positives and the negatives whose score is at least the threshold; for "brier" the squared differences between
score and label; for "observed_expected" and "calibration_in_the_large" the scores; of every bin for
"reliability" (a score is in the bin that it is the upper end of, or in the first) the samples, the positives
and the scores, for "histogram" (a score is in the bin that it is the lower end of, or in the last) the
positives and the negatives. Behind those of all metrics, of every threshold and every metric with bins the
samples between the threshold and the edges beside it, that is, beyond one of the two and not beyond the
other: the edge below and the one above, or the one that is the same number; those of "reliability" without
its first and its last. A sum of scores or squared differences is in units of 2^-32, rounded once, half to
even. Where the protocol has a grid, behind the sums is a table.
"""
GRID_WHAT = """
Input shares of the protocol `grid`: a table and nothing else, whatever the metrics. Where lower scores are
the more positive ones, the table is the same.
"""
PAPER_WHAT = """
Input shares of the protocol `paper`. A key is the float64 read as a whole number. A share is the keys,
64-bit words in little endian, then the labels, eight to a byte, the lowest bit first. Both shares' sum
modulo 2^64 is the keys, their xor the labels.
"""

_PROBABILITIES = ([0.25, 0.75, 0.5, 0.75, 0.1], [0, 1, 1, 0, 0])
_MANY = ([((37 * k) % 64) / 64 for k in range(65)], [k % 3 % 2 for k in range(65)])
_ANY_FINITE = ([-0.0, 0.0, -1.5, 1e308, 5e-324, -1e-300, 3.0, -(2.0**-1074)], [1, 0, 1, 0, 1, 1, 0, 0])
_FLOAT32 = ([-0.0, 0.0, -1.5, 2.0**127, 2.0**-149, 3.0, -(2.0**-149)], [1, 0, 1, 0, 1, 0, 0])
_FLOAT_5 = ([-1.5, 2.5, 0.5, -2.0, 3.0], [0, 1, 1, 0, 1])

_SUMMED = (
    METRICS["sensitivity"](thresholds=(0.25, 0.5)),
    METRICS["ppv"](thresholds=(0.5, 0.75)),
    METRICS["brier"](),
    METRICS["calibration_in_the_large"](),
    METRICS["reliability"](bins=(0.0, 0.25, 1.0)),
    METRICS["auroc"](),
    METRICS["observed_expected"](),
    METRICS["histogram"](bins=(0.25, 0.5, 0.75)),
)

Case = tuple[Protocol, Sequence[float], Sequence[int]]
FAST_CASES: dict[str, Case] = {
    "one sample, 64-bit keys": (Fast(key_bits=64), [0.5], [1]),
    "probabilities with a tie, 32-bit keys": (Fast(key_bits=32), *([0.25, 0.75, 0.5, 0.75], [0, 1, 1, 0])),
    "any finite scores, 64-bit keys": (Fast(key_bits=64), *_ANY_FINITE),
    "any float32 scores, 32-bit keys": (Fast(key_bits=32), *_FLOAT32),
    "more than one word to a plane, 64-bit keys": (Fast(key_bits=64), *_MANY),
    "with sums, 64-bit keys": (Fast(key_bits=64), *_PROBABILITIES),
    "many with sums, 32-bit keys": (Fast(key_bits=32), *_MANY),
    "with sums and a table, 64-bit keys": (Fast(key_bits=64, grid=Grid(decimals=1)), *_PROBABILITIES),
    "with a table, 32-bit keys": (Fast(key_bits=32, grid=Grid(low=-2.0, high=3.0, decimals=0)), *_FLOAT_5),
}
GRID_CASES: dict[str, Case] = {
    "one sample, two values": (GridProtocol(decimals=0), [1.0], [1]),
    "probabilities with a tie": (GridProtocol(decimals=2), *_PROBABILITIES),
    "halfway between two values": (GridProtocol(decimals=1), [0.25, 0.35, 0.75, 0.05], [0, 1, 1, 0]),
    "beyond both ends by less than half a step": (GridProtocol(decimals=1), [-0.04, 1.04, -0.0], [0, 1, 1]),
    "negative scores, whole numbers": (
        GridProtocol(low=-3.0, high=40.0, decimals=0),
        [-3.0, 39.5, 38.5, 0.49, -0.5, 12.0, 12.0],
        [0, 1, 1, 0, 0, 1, 1],
    ),
    "more samples than values, and metrics with sums": (GridProtocol(decimals=1), *_MANY),
}
_WITH_TABLE = Fast(key_bits=64, grid=Grid(decimals=1))
PAPER_CASES: dict[str, Case] = {
    "one sample": (Paper(), [0.5], [1]),
    "probabilities with a tie": (Paper(), *_PROBABILITIES),
    "both ends, and zero with a sign": (Paper(delta=3), [1.0, 0.0, -0.0, 5e-324], [1, 0, 1, 0]),
    "more labels than fit a byte": (Paper(), *_MANY),
}


def _samples(scores: Sequence[float], labels: Sequence[int]) -> Samples:
    return Samples("owner 1", np.array(scores, dtype=np.float64), np.array(labels, dtype=np.uint8))


def _metrics(case: str) -> tuple[Metric, ...]:
    return _SUMMED if "sums" in case else metrics_named("auroc")


def _sums(metrics: Sequence[Metric]) -> tuple[OwnerSum, ...]:
    return Query(tuple(metrics), (1, 1), Policy.exact()).sums


def _list_of(protocol: Protocol, samples: Samples, sums: Sequence[OwnerSum]) -> Entry:
    """Return what goes into the shares of a list, if owners submit one."""
    if not isinstance(protocol, ListProtocol):
        return {}
    prepared = protocol.prepare(samples)
    return {
        "keys": [f"{key:016x}" for key in prepared.keys.tolist()],
        "sorted_labels": prepared.labels.tolist(),
        "sums": sums_of(samples, sums).tolist(),
    }


def _table_of(protocol: Protocol, samples: Samples) -> Entry:
    """Return what goes into the shares of a table, if owners submit one."""
    if protocol.grid is None:
        return {}
    table = CountTable.of(samples, protocol.grid)
    return {"positives": table.positives.tolist(), "negatives": table.negatives.tolist()}


def _vector(name: str, case: Case) -> Entry:
    protocol, scores, labels = case
    samples, sums = _samples(scores, labels), _sums(_metrics(name))
    stream_key = seed(f"stream key, {protocol.name}, {name}")
    shares = [share.to_bytes() for share in protocol.share(samples, sums, stream=Stream(stream_key))]
    salts = [seed(f"salt {number}, {protocol.name}, {name}") for number in range(len(shares))]
    return {
        "name": name,
        "protocol": protocol.to_plain(),
        "metrics": [metric.to_plain() for metric in _metrics(name)],
        "scores": list(scores),
        "labels": list(labels),
        "stream_key": stream_key.hex(),
        **_list_of(protocol, samples, sums),
        **_table_of(protocol, samples),
        "shares": [share.hex() for share in shares],
        "salts": [salt.hex() for salt in salts],
        "commitments": [commit(salt, share) for salt, share in zip(salts, shares, strict=True)],
    }


def make(cases: dict[str, Case]) -> list[Entry]:
    return [_vector(name, case) for name, case in cases.items()]


def check(vector: Entry) -> None:
    protocol = Protocol.from_plain(vector["protocol"])
    size = len(vector["scores"])
    samples = _samples(vector["scores"], vector["labels"])
    sums = _sums([Metric.from_plain(plain) for plain in vector["metrics"]])
    contents = {**_list_of(protocol, samples, sums), **_table_of(protocol, samples)}
    assert contents
    assert {name: vector.get(name) for name in contents} == contents
    split = protocol.share(samples, sums, stream=Stream(bytes.fromhex(vector["stream_key"])))
    for server, share, text in zip(protocol.input_servers, split, vector["shares"], strict=True):
        raw = bytes.fromhex(text)
        assert len(raw) == protocol.share_bytes(server, size, protocol.shape(len(sums)))
        if isinstance(protocol, ListProtocol):
            list_bytes = protocol.input_bytes(size)
            assert protocol.read_input(raw[:list_bytes], size).to_bytes() == raw[:list_bytes]
        back = protocol.read_share(raw, server, size, protocol.shape(len(sums)))
        assert (None if back.samples is None else len(back.samples)) == (size if "keys" in vector else None)
        assert (back.table is None) == (protocol.grid is None)
        assert back.to_bytes() == raw == share.to_bytes()
    for salt, text, commitment in zip(vector["salts"], vector["shares"], vector["commitments"], strict=True):
        assert commit(bytes.fromhex(salt), bytes.fromhex(text)) == commitment


def take(bad: Entry) -> object:
    protocol = Protocol.from_plain(bad["protocol"])
    if "share" in bad:
        sums = _sums([Metric.from_plain(plain) for plain in bad["metrics"]])
        server = protocol.input_servers[bad["server"]]
        return protocol.read_share(
            bytes.fromhex(bad["share"]), server, bad["size"], protocol.shape(len(sums))
        )
    return protocol.share(_samples(bad["scores"], bad["labels"]), ())


def _bad_lengths(protocol: Protocol, size: int, metrics: Sequence[Metric], server: int = 0) -> list[Bad]:
    shape = protocol.shape(len(_sums(metrics)))
    whole = seed(f"a share, {protocol}", protocol.share_bytes(protocol.input_servers[server], size, shape))
    spoilt = {
        "a byte is missing": (size, whole[:-1]),
        "the last word is missing": (size, whole[:-8]),
        "nothing is there": (size, b""),
        "a byte too many": (size, whole + b"\0"),
        "a sum too many": (size, whole + bytes(8)),
        "a share of twice as many": (size, whole + whole),
        "a share of fewer samples": (2 * size, whole),
    }
    if isinstance(protocol, GridProtocol):  # the same whatever the sizes
        del spoilt["a share of fewer samples"]
    with_sums = f", {shape.sums} sums" if shape.sums else ""
    if protocol.grid is not None:
        with_sums += f", server {server}"
    place = {"protocol": protocol.to_plain(), "metrics": [metric.to_plain() for metric in metrics]}
    return [
        Bad(
            f"{why} ({protocol}{with_sums})",
            InputError,
            "bytes, not",
            {**place, "server": server, "size": announced, "share": raw.hex()},
        )
        for why, (announced, raw) in spoilt.items()
    ]


def _bad_score(why: str, protocol: Protocol, score: float, says: str) -> Bad:
    content = {"protocol": protocol.to_plain(), "scores": [0.5, score], "labels": [1, 0]}
    return Bad(why, DataError, says, content)


def spoil_fast() -> list[Bad]:
    narrow, wide = Fast(key_bits=32), Fast(key_bits=64)
    return [
        *_bad_lengths(narrow, 40, metrics_named("auroc")),
        *_bad_lengths(wide, 65, metrics_named("auroc")),
        *_bad_lengths(wide, 65, _SUMMED),
        *(bad for server in (0, 1) for bad in _bad_lengths(_WITH_TABLE, 65, _SUMMED, server)),
        _bad_score("a score that is no float32, with 32-bit keys", narrow, 0.1, "not a float32"),
        _bad_score("a score beyond float32, with 32-bit keys", narrow, 1e300, "not a float32"),
        _bad_score("a score below float32, with 32-bit keys", narrow, 2.0**-150, "not a float32"),
        _bad_score(
            "a score outside of the grid of a table", _WITH_TABLE, 1.06, "outside of the study's grid"
        ),
    ]


def spoil_grid() -> list[Bad]:
    tenths, points = GridProtocol(decimals=1), GridProtocol(low=0.0, high=40.0, decimals=0)
    return [
        *(bad for server in (0, 1) for bad in _bad_lengths(tenths, 9, metrics_named("auroc"), server)),
        *_bad_lengths(points, 9, _SUMMED, 1),
        _bad_score("a score above the grid", tenths, 1.06, "outside of the study's grid"),
        _bad_score("a score below the grid", tenths, -0.06, "outside of the study's grid"),
        _bad_score("a score far above the grid", points, 1e300, "outside of the study's grid"),
    ]


def spoil_paper() -> list[Bad]:
    return [
        *_bad_lengths(Paper(), 9, metrics_named("auroc")),
        _bad_score("a score above one", Paper(), 1.0000000000000002, "outside"),
        _bad_score("a score below zero", Paper(), -5e-324, "outside"),
    ]


_OF_TABLES = _COMMON.format(whole="table", unfit="are outside of the grid")
FAST_FILE = VectorFile(
    "input_shares_fast", FAST_WHAT + _TABLE + _OF_LISTS, partial(make, FAST_CASES), spoil_fast, check, take
)
GRID_FILE = VectorFile(
    "input_shares_grid", GRID_WHAT + _TABLE + _OF_TABLES, partial(make, GRID_CASES), spoil_grid, check, take
)
PAPER_FILE = VectorFile(
    "input_shares_paper", PAPER_WHAT + _OF_LISTS, partial(make, PAPER_CASES), spoil_paper, check, take
)
