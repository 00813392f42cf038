"""result_fast.json, result_grid.json, result_paper.json: a result's parts, and what owners read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from ppaurora.agreement.terms import Job, Terms
from ppaurora.errors import PpauroraError, ProtocolError
from ppaurora.io.models import canonical_json, from_json, to_json
from ppaurora.metrics import METRICS, metrics_named
from ppaurora.policy.rules import Policy
from ppaurora.protocols import Fast, GridProtocol, Paper, Protocol
from ppaurora.randomness import Stream
from ppaurora.sharing.stages import ResultShare
from tests.messages.vectors.file import Bad, Entry, VectorFile
from tests.messages.vectors.learnt import learnt
from tests.messages.vectors.seeds import seed

_WHAT = """
Parts of a result of the protocol `{protocol}`, for a `job` (see job.json). A column is a mantissa, signed
where the number is, and an exponent. The first column is 1 if there is a result, else 0. Then come all
numbers that are released: that of positives, unless the policy hides counts; then those of every metric.
With a confidence level, each of "auroc", "brier", "observed_expected", "calibration_in_the_large" and
"net_benefit" is followed by its standard error. A metric with thresholds or bins has its numbers row by
row; behind each of "ppv", where counts are told, is the number of samples that it is of. Then comes, for
every standard error of "auroc", "observed_expected" and its own, and number of "ppv" or behind it, and
where the policy has a minimum per cell above 1 for every number at a threshold, 1 if it is there, else
0{flags}. What is not there is 0. A number that the policy rounds is the mantissa in units of its last
digit, of as many as it may have ("brier", "calibration_in_the_large" and "net_benefit" have one more than
others, a standard error one more than its value; a fraction of a class or of few samples has at most two
where counts are hidden), and the exponent is 0; a count is the mantissa, in fives if it is rounded. Else
it is mantissa / 2^exponent, of "observed_expected" 128 times that; of a standard error the square root of
it, or of 128 times that where it is of "observed_expected". A part is all mantissas, then all exponents,
64-bit words in little endian; `parts` has the parts' bytes in hexadecimal, `json` the same as they are in
JSON, in base64. The parts' sum modulo 2^64 is `columns`. The first part is drawn from the AES-256
counter-mode stream under `stream_key`. An owner learns `values`, with `standard_errors` and `positives`
where there are any; or that the result is `suppressed`; or that there is none, by `error`. Refused are
parts that do not belong together, and texts that are no part of a result.
"""
_SORTED = (
    ", and for every owner in `owners` 1 if its list was sorted and its sums can be of such a list, else 0"
)
_ADDED_UP = ", and for every owner in `owners` 1 if its counts add up to its number of samples, else 0"
_BOUND = """
Behind "auroc", before its standard error, is the number of pairs of unlike class that share a value, over
twice the number of pairs of unlike class: how far it is at most from that of the scores as they were.
Where it is rounded, an owner adds half a unit of its last digit: `grid_bounds`.
"""
FAST_WHAT = _WHAT.format(protocol="fast", flags=_SORTED)
GRID_WHAT = _WHAT.format(protocol="grid", flags=_ADDED_UP) + _BOUND
PAPER_WHAT = _WHAT.format(protocol="paper", flags="")

OWNERS = ("hospital-a", "hospital-b", "hospital-c")
SIZES = (600, 450, 400)
_YES, _NO = (1, 0), (0, 0)
_AUROC, _AUPR = (0x1B5A3C7E9D2F41, 53), (0x1F0E1D2C3B4A59 >> 3, 50)

Column = tuple[int, int]

# Without floors, at full precision, and without counts.
_EXACT = Policy.exact(counts="hidden")
_PPV = METRICS["ppv"](thresholds=(0.25, 0.5))


@dataclass(frozen=True)
class _Setting:
    """What is asked for; a good result without what is said of owners; and of how many owners that is."""

    terms: Terms
    columns: tuple[Column, ...]
    checked: int = len(OWNERS)

    @property
    def job(self) -> Job:
        return Job(terms=self.terms, sizes=SIZES)

    @property
    def in_order(self) -> tuple[Column, ...]:
        return (_YES,) * self.checked

    @property
    def good(self) -> list[Column]:
        return [*self.columns, *self.in_order]

    @property
    def nothing(self) -> list[Column]:
        return [*([_NO] * len(self.columns)), *self.in_order]

    def but(self, **columns: Column) -> list[Column]:
        """The good one with other columns: `but(c2=(7, 0))`."""
        changed = self.good
        for place, column in columns.items():
            changed[int(place[1:])] = column
        return changed


def _plain(protocol: Protocol, checked: int) -> _Setting:
    terms = Terms(metrics=metrics_named("auroc", "aupr"), protocol=protocol, policy=_EXACT)
    return _Setting(terms, (_YES, _AUROC, _AUPR), checked)


FAST, PAPER = _plain(Fast(), len(OWNERS)), _plain(Paper(), 0)
_ON_GRID = GridProtocol(decimals=2)
GRID = _Setting(
    Terms(metrics=metrics_named("auroc", "aupr"), protocol=_ON_GRID, policy=_EXACT),
    (_YES, _AUROC, (0x13_3333_3333_3333, 60), _AUPR),
)
# 705 positives, 0.733, which is 0.0042 off at most but for rounding, 0.0125, 0.104.
GRID_ROUNDED = _Setting(
    Terms(metrics=metrics_named("auroc", "ap"), protocol=_ON_GRID, confidence_level=0.95),
    (_YES, (141, 0), (733, 0), (42, 0), (125, 0), (104, 0), _YES),
)
# With everything that may be behind a number: 0.733, 0.0125, -0.0450, 0.01205, 705 positives; of ppv 0.25 and
# 0.5.
ROUNDED = _Setting(
    Terms(
        metrics=(*metrics_named("auroc", "calibration_in_the_large"), _PPV),
        confidence_level=0.95,
        policy=Policy(),
    ),
    (
        *(_YES, (141, 0), (733, 0), (125, 0), (2**64 - 450, 0), (1205, 0)),
        *((250, 0), (200, 0), (500, 0), (40, 0)),
        *([_YES] * 5),
    ),
)
# The same at full precision, with exact counts and a ratio that may be above one.
PRECISE = _Setting(
    Terms(
        metrics=(*metrics_named("auroc", "observed_expected"), _PPV),
        confidence_level=0.95,
        policy=Policy.exact(),
    ),
    (
        *(_YES, (703, 0), _AUROC, (0x10_0000_0000_0001, 65), (0x13_3333_3333_3333, 59), (1, 15)),
        *((1, 2), (1001, 0), (1, 1), (200, 0)),
        *([_YES] * 7),
    ),
)
# Counts are hidden: two decimals at most of a fraction of a class; and thresholds may be too close.
CLOSE = _Setting(
    Terms(
        metrics=(*metrics_named("auroc"), METRICS["sensitivity"](thresholds=(0.25, 0.5))),
        policy=Policy(counts="hidden"),
    ),
    (_YES, (733, 0), (85, 0), (62, 0), _YES, _YES),
)
# As a plan has it that says nothing: 705 positives, 0.733 and 0.104.
DEFAULT = _Setting(Terms(metrics=metrics_named("auroc", "ap")), (_YES, (141, 0), (733, 0), (104, 0)))


Cases = dict[str, tuple[_Setting, list[Column]]]


def _cases(setting: _Setting) -> Cases:
    middle = setting.columns[2:-1]
    cases = {
        "a result": setting.good,
        "the ends of the range": [_YES, (0, 0), *middle, (1, 0), *setting.in_order],
        "many binary places": [_YES, (2**62 + 1, 63), *middle, (1, 300), *setting.in_order],
        "one class only": setting.nothing,
    }
    if setting.in_order:
        nothing = setting.nothing[: len(setting.columns)]
        one, several = _UNFIT[setting.terms.protocol.name]
        cases[one] = [*nothing, _YES, _NO, _YES]
        cases[several] = [*nothing, _NO, _YES, _NO]
    of_setting = {name: (setting, columns) for name, columns in cases.items()}
    return of_setting | _more_cases()[setting.terms.protocol.name]


_UNFIT = {
    "fast": ("an unsorted list", "two unsorted lists"),
    "grid": ("a table that does not add up", "two tables that do not add up"),
}


def _more_cases() -> dict[str, Cases]:
    return {"fast": _rounded_cases(), "grid": _grid_cases(), "paper": {}}


def _grid_cases() -> Cases:
    return {
        "rounded": (GRID_ROUNDED, GRID_ROUNDED.good),
        "rounded, no two of unlike class share a value": (GRID_ROUNDED, GRID_ROUNDED.but(c3=_NO)),
        "rounded, without a standard error": (GRID_ROUNDED, GRID_ROUNDED.but(c4=_NO, c6=_NO)),
        "rounded, suppressed": (GRID_ROUNDED, GRID_ROUNDED.nothing),
        "rounded, a table that does not add up": (GRID_ROUNDED, [*GRID_ROUNDED.nothing[:-1], _NO]),
    }


def _rounded_cases() -> Cases:
    return {
        "rounded": (ROUNDED, ROUNDED.good),
        "rounded, without a standard error": (ROUNDED, ROUNDED.but(c3=_NO, c10=_NO)),
        "rounded, without a row of a table": (
            ROUNDED,
            ROUNDED.but(c6=_NO, c7=_NO, c11=_NO, c12=_NO),
        ),
        "rounded, suppressed": (ROUNDED, ROUNDED.nothing),
        "rounded, an unsorted list": (ROUNDED, [*ROUNDED.nothing[:-1], _NO]),
        "released by default": (DEFAULT, DEFAULT.good),
        "suppressed by default": (DEFAULT, DEFAULT.nothing),
        "rounded, at thresholds, counts hidden": (CLOSE, CLOSE.good),
        "rounded, at thresholds that are too close": (CLOSE, CLOSE.but(c3=_NO, c5=_NO)),
        "all numbers at full precision, with counts": (PRECISE, PRECISE.good),
        "one class only, with counts": (PRECISE, PRECISE.nothing),
    }


def _parts(columns: Sequence[Column], stream_key: bytes) -> list[ResultShare]:
    words = np.array(columns, dtype=np.uint64).T
    mask = Stream(stream_key).words(words.shape)
    return [ResultShare(mask), ResultShare(words - mask)]


def _outcome(job: Job, parts: Sequence[ResultShare], owners: Sequence[str]) -> Entry:
    try:
        return learnt(job.terms.protocol.combine(parts, job.query, owners))
    except PpauroraError as error:
        return {"error": type(error).__name__}


def make(setting: _Setting) -> list[Entry]:
    entries = []
    for name, (case, columns) in _cases(setting).items():
        stream_key = seed(f"parts of a result, {setting.terms.protocol.name}, {name}")
        parts = _parts(columns, stream_key)
        entries.append(
            {
                "name": name,
                "job": canonical_json(case.job).decode(),
                "owners": OWNERS,
                "columns": columns,
                "stream_key": stream_key.hex(),
                "parts": [part.to_bytes().hex() for part in parts],
                "json": [to_json(part).decode() for part in parts],
                "outcome": _outcome(case.job, parts, OWNERS),
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
    assert _outcome(from_json(Job, vector["job"]), parts, vector["owners"]) == vector["outcome"]


def take(bad: Entry) -> object:
    if "json" in bad:
        return from_json(ResultShare, bad["json"])
    parts = [ResultShare.from_bytes(bytes.fromhex(text)) for text in bad["parts"]]
    job = from_json(Job, bad["job"])
    return job.terms.protocol.combine(parts, job.query, bad["owners"])


def _bad_columns(setting: _Setting) -> dict[str, list[Column]]:
    good, in_order = setting.good, setting.in_order
    bad = {
        "whether there is a result is neither 0 nor 1": [(2, 0), *good[1:]],
        "no result, and yet a value": [_NO, *good[1:]],
        "a metric above one": [_YES, ((1 << 53) + 1, 53), *good[2:]],
        "a mantissa that is garbage": [_YES, (2**64 - 5, 53), *good[2:]],
        "an exponent that is garbage": [_YES, (5, 2**64 - 5), *good[2:]],
        "an exponent one too large": [_YES, (1, 301), *good[2:]],
    }
    if in_order:
        fits = "whether a table adds up" if setting is GRID else "whether a list was sorted"
        bad[f"{fits} is neither 0 nor 1"] = [*good[:-1], (2, 0)]
        bad[f"{fits} has an exponent"] = [*good[:-1], (1, 1)]
        bad[f"{fits} is garbage, and there is no result"] = [*setting.nothing[:-1], (7, 7)]
    return bad


_BAD_GRID = {
    "a bound above one": GRID.but(c2=((1 << 53) + 1, 53)),
    "a bound below zero": GRID.but(c2=(2**64 - 5, 53)),
}
_BAD_GRID_ROUNDED = {
    "a rounded bound with an exponent": GRID_ROUNDED.but(c3=(42, 1)),
    "a rounded bound above one": GRID_ROUNDED.but(c3=(10_001, 0)),
    "a rounded bound below zero": GRID_ROUNDED.but(c3=(2**64 - 42, 0)),
    "suppressed, and yet a bound": [*GRID_ROUNDED.nothing[:3], (42, 0), *GRID_ROUNDED.nothing[4:]],
}


_BAD_ROUNDED = {
    "rounded, with an exponent": ROUNDED.but(c2=(733, 1)),
    "rounded, above one": ROUNDED.but(c2=(1001, 0)),
    "rounded, below zero": ROUNDED.but(c2=(2**64 - 733, 0)),
    "rounded, below minus one": ROUNDED.but(c4=(2**64 - 10_001, 0)),
    "a standard error that is not there, and yet a value": ROUNDED.but(c10=_NO),
    "whether a standard error is there is neither 0 nor 1": ROUNDED.but(c10=(2, 0)),
    "whether a standard error is there has an exponent": ROUNDED.but(c10=(1, 1)),
    "a number of a table that is not there, and yet a value": ROUNDED.but(c13=_NO),
    "more positives than samples": ROUNDED.but(c1=(291, 0)),
    "a count that is garbage": ROUNDED.but(c1=(2**64 - 1, 0)),
    "a count with an exponent": ROUNDED.but(c1=(141, 1)),
    "suppressed, and yet a count": [_NO, (141, 0), *ROUNDED.nothing[2:]],
    "suppressed, and yet a number is there": [*ROUNDED.nothing[:10], _YES, *ROUNDED.nothing[11:]],
}
_BAD_CLOSE = {
    "a fraction of a class, counts hidden, above one": CLOSE.but(c2=(101, 0)),
    "a number at a threshold that is too close, and yet a value": CLOSE.but(c5=_NO),
    "a number at the lowest threshold that is not there, and yet a value": CLOSE.but(c4=_NO),
}
_BAD_PRECISE = {
    "a standard error above one": PRECISE.but(c3=(3, 1)),
    "a ratio above a hundred": PRECISE.but(c4=(101, 7)),
    "the standard error of a ratio above eleven": PRECISE.but(c5=(122, 7)),
    "a negative variance": PRECISE.but(c5=(2**64 - 1, 7)),
    "a negative ratio": PRECISE.but(c4=(2**64 - 1, 7)),
    "an exact count above all samples": PRECISE.but(c1=(1451, 0)),
}


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
    groups = [
        (setting, ill_matched | spoilt, "belong together"),
        (setting, ill_shaped, "every metric asked for"),
    ]
    more = {
        "fast": ((ROUNDED, _BAD_ROUNDED), (CLOSE, _BAD_CLOSE), (PRECISE, _BAD_PRECISE)),
        "grid": ((GRID, _BAD_GRID), (GRID_ROUNDED, _BAD_GRID_ROUNDED)),
        "paper": (),
    }[setting.terms.protocol.name]
    for case, bad in more:
        groups.append(
            (case, {why: _parts(columns, seed(why)) for why, columns in bad.items()}, "belong together")
        )
    refused = [
        Bad(
            why,
            ProtocolError,
            says,
            {
                "job": canonical_json(case.job).decode(),
                "owners": OWNERS,
                "parts": [part.to_bytes().hex() for part in parts],
            },
        )
        for case, group, says in groups
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
GRID_FILE = VectorFile("result_grid", GRID_WHAT, partial(make, GRID), partial(spoil, GRID), check, take)
PAPER_FILE = VectorFile("result_paper", PAPER_WHAT, partial(make, PAPER), partial(spoil, PAPER), check, take)
