"""input_shares_fast.json, input_shares_paper.json: what an owner makes of its list, and sends."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np

from ppaurora.data.samples import Samples
from ppaurora.errors import DataError, InputError
from ppaurora.metrics import METRICS, Metric, Query, metrics_named
from ppaurora.metrics.sums import OwnerSum, sums_of
from ppaurora.policy.rules import Policy
from ppaurora.protocols import Fast, Paper, Protocol
from ppaurora.randomness import Stream
from ppaurora.sharing.commitment import commit
from tests.messages.vectors.file import Bad, Entry, VectorFile
from tests.messages.vectors.seeds import seed

_COMMON = """
The list is sorted by descending keys, equal ones in the owner's order: `keys` (64 bits each, in
hexadecimal) and `sorted_labels`. The first share is drawn from the AES-256 counter-mode stream under
`stream_key`; what an owner draws is nobody's concern, so another implementation may only check that
both shares together give the list. `commitments` are the SHA-256, in hexadecimal, of each share's salt
and bytes. Refused are shares of a wrong length for `size` samples and as many sums as the metrics need, and
scores that would not be exact.
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
even.
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
}
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


def _vector(name: str, case: Case) -> Entry:
    protocol, scores, labels = case
    samples = _samples(scores, labels)
    prepared, sums = protocol.prepare(samples), _sums(_metrics(name))
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
        "keys": [f"{key:016x}" for key in prepared.keys.tolist()],
        "sorted_labels": prepared.labels.tolist(),
        "sums": sums_of(samples, sums).tolist(),
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
    prepared = protocol.prepare(samples)
    assert [f"{key:016x}" for key in prepared.keys.tolist()] == vector["keys"]
    assert prepared.labels.tolist() == vector["sorted_labels"]
    sums = _sums([Metric.from_plain(plain) for plain in vector["metrics"]])
    assert sums_of(samples, sums).tolist() == vector["sums"]
    split = protocol.share(samples, sums, stream=Stream(bytes.fromhex(vector["stream_key"])))
    for share, text in zip(split, vector["shares"], strict=True):
        raw = bytes.fromhex(text)
        assert len(raw) == protocol.share_bytes(size, len(sums))
        list_bytes = protocol.input_bytes(size)
        assert protocol.read_input(raw[:list_bytes], size).to_bytes() == raw[:list_bytes]
        back = protocol.read_share(raw, size, len(sums))
        assert len(back) == size
        assert back.to_bytes() == raw == share.to_bytes()
    for salt, text, commitment in zip(vector["salts"], vector["shares"], vector["commitments"], strict=True):
        assert commit(bytes.fromhex(salt), bytes.fromhex(text)) == commitment


def take(bad: Entry) -> object:
    protocol = Protocol.from_plain(bad["protocol"])
    if "share" in bad:
        sums = _sums([Metric.from_plain(plain) for plain in bad["metrics"]])
        return protocol.read_share(bytes.fromhex(bad["share"]), bad["size"], len(sums))
    return protocol.prepare(_samples(bad["scores"], bad["labels"]))


def _bad_lengths(protocol: Protocol, size: int, metrics: Sequence[Metric]) -> list[Bad]:
    sums = len(_sums(metrics))
    whole = seed(f"a share, {protocol}", protocol.share_bytes(size, sums))
    spoilt = {
        "a byte is missing": (size, whole[:-1]),
        "the last word is missing": (size, whole[:-8]),
        "nothing is there": (size, b""),
        "a byte too many": (size, whole + b"\0"),
        "a sum too many": (size, whole + bytes(8)),
        "a share of twice as many": (size, whole + whole),
        "a share of fewer samples": (2 * size, whole),
    }
    with_sums = f", {sums} sums" if sums else ""
    place = {"protocol": protocol.to_plain(), "metrics": [metric.to_plain() for metric in metrics]}
    return [
        Bad(
            f"{why} ({protocol}{with_sums})",
            InputError,
            "bytes, not",
            {**place, "size": announced, "share": raw.hex()},
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
        _bad_score("a score that is no float32, with 32-bit keys", narrow, 0.1, "not a float32"),
        _bad_score("a score beyond float32, with 32-bit keys", narrow, 1e300, "not a float32"),
        _bad_score("a score below float32, with 32-bit keys", narrow, 2.0**-150, "not a float32"),
    ]


def spoil_paper() -> list[Bad]:
    return [
        *_bad_lengths(Paper(), 9, metrics_named("auroc")),
        _bad_score("a score above one", Paper(), 1.0000000000000002, "outside"),
        _bad_score("a score below zero", Paper(), -5e-324, "outside"),
    ]


FAST_FILE = VectorFile(
    "input_shares_fast", FAST_WHAT + _COMMON, partial(make, FAST_CASES), spoil_fast, check, take
)
PAPER_FILE = VectorFile(
    "input_shares_paper", PAPER_WHAT + _COMMON, partial(make, PAPER_CASES), spoil_paper, check, take
)
