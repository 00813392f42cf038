"""The owner's side: reading and checking, encoding and sorting, splitting, adding up the result."""

from __future__ import annotations

import math
import pickle
import struct
from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from ppaurora.errors import (
    DataError,
    InputError,
    PeerTimeoutError,
    PpauroraError,
    ProtocolError,
    UndefinedResultError,
    UnsortedListError,
)
from ppaurora.owner import (
    Prepared,
    Samples,
    check_samples,
    combine,
    least_key_bits,
    prepare,
    read_table,
    split,
)
from ppaurora.party.job import Job
from ppaurora.randomness import Stream
from ppaurora.sharing.stages import AdditiveShare, InputShare, PlanesShare, ResultShare
from tests.support.bad_arrays import BAD_ARRAYS
from tests.support.bad_files import BAD_FILES
from tests.support.bad_input import GOOD_FILE, ONLY_PAPER, BadArrays, BadFile, by_protocol

SCORES = [0.25, 0.75, 0.5]
LABELS = [0, 1, 1]
LONGDOUBLE_IS_WIDER = np.finfo(np.longdouble).nmant > 52


class LikeAPandasSeries:
    """An index, and values that come out through `__array__` only."""

    def __init__(self, values: Sequence[object]) -> None:
        self.index = list(range(100, 100 + len(values)))
        self._values = values

    def __array__(self, dtype: Any = None, copy: Any = None) -> NDArray[Any]:
        return np.array(self._values, dtype=dtype)

    def __len__(self) -> int:
        return len(self._values)

    def __getitem__(self, index: int) -> object:
        return self._values[self.index.index(index)]


def written(folder: Path, content: bytes, name: str = "ward.csv") -> Path:
    path = folder / name
    path.write_bytes(content)
    return path


# Reading a file


@pytest.mark.parametrize(("case", "protocol"), by_protocol(BAD_FILES))
def test_a_bad_file_is_refused_and_the_place_is_named(case: BadFile, protocol: str, tmp_path: Path) -> None:
    path = written(tmp_path, case.content)
    with pytest.raises(DataError) as caught:
        prepare(read_table(path, **case.options), protocol, case.key_bits)
    error = caught.value
    assert (error.source, error.row, error.column) == (str(path), case.row, case.column)
    assert case.says in str(error)
    assert error.hint, "the message does not say what to do"
    where = [str(path)]
    where += [f"row {case.row}"] if case.row is not None else []
    where += [f"column '{case.column}'"] if case.column is not None else []
    assert str(error).startswith(", ".join(where) + ": ")


GOOD_FILES = {
    "commas": b"score,label\n0.25,0\n0.75,1\n0.5,1\n",
    "semicolons": b"score;label\n0.25;0\n0.75;1\n0.5;1\n",
    "tabs": b"score\tlabel\n0.25\t0\n0.75\t1\n0.5\t1\n",
    "bars": b"score|label\n0.25|0\n0.75|1\n0.5|1\n",
    "byte order mark": b"\xef\xbb\xbfscore,label\n0.25,0\n0.75,1\n0.5,1\n",
    "mark before a quoted name": b'\xef\xbb\xbf"score","label"\r\n0.25,0\r\n0.75,1\r\n0.5,1\r\n',
    "CRLF": b"score,label\r\n0.25,0\r\n0.75,1\r\n0.5,1\r\n",
    "CR alone": b"score,label\r0.25,0\r0.75,1\r0.5,1\r",
    "no last end of line": b"score,label\n0.25,0\n0.75,1\n0.5,1",
    "blank lines": b"\n  \nscore,label\n\n0.25,0\n\n\t\n0.75,1\n0.5,1\n\n\n",
    "spaces": b" score , label \n 0.25 , 0 \n0.75,1\n 0.5, 1\n",
    "everything quoted": b'"score","label"\n"0.25","0"\n"0.75","1"\n"0.5","1"\n',
    "ways to write a number": b"score,label\n+.25,0\n7.5E-1,1\n00.5000,1\n",
    "ways to write a label": b"score,label\n0.25,False\n0.75,TRUE\n0.5,1.0\n",
    "truth in any case": b"score,label\n0.25,fAlSe\n0.75,tRuE\n0.5,true\n",
    "other columns": b"label,name,score,score2\n0,a,0.25,9\n1,b,0.75,x\n1,c,0.5,\n",
    "nameless index column": b",score,label\n0,0.25,0\n1,0.75,1\n2,0.5,1\n",
    "quotes with delimiters and line breaks": (
        b'score,note,label\n0.25,"a, b",0\n0.75,"first\nsecond, ""so"" he said",1\n0.5,5" tall,1\n'
    ),
    "commas in a header between semicolons": b'"a, b, c";score;label\n-;0.25;0\n-;0.75;1\n-;0.5;1\n',
    "beyond ASCII": "Straße,score,label\nä,0.25,0\nß,0.75,1\n\u2028,0.5,1\n".encode(),
}


@pytest.mark.parametrize("content", GOOD_FILES.values(), ids=GOOD_FILES.keys())
def test_tables_as_programs_write_them(content: bytes, tmp_path: Path) -> None:
    samples = read_table(written(tmp_path, content))
    assert samples.scores.tolist() == SCORES
    assert samples.scores.dtype == np.float64
    assert samples.labels.tolist() == LABELS
    assert len(samples) == 3


def test_rows_are_the_lines_of_the_file_also_for_what_is_found_later(tmp_path: Path) -> None:
    content = b'score,label,note\n0.25,0,"a\nb\n"\n\n0.5,1,c\n1.5,1,d\n'
    samples = read_table(written(tmp_path, content))
    assert [samples.row_of(index) for index in range(3)] == [2, 6, 7]
    with pytest.raises(DataError, match=r"row 7, column 'score': the score is outside \[0, 1\]"):
        prepare(samples, "paper", 64)


def test_the_row_of_a_score_that_is_not_a_float32(tmp_path: Path) -> None:
    samples = read_table(written(tmp_path, b"\nrisk,label\n0.5,0\n\n0.1,1\n0.2,1\n"), score="risk")
    with pytest.raises(DataError) as caught:
        prepare(samples, "fast", 32)
    assert (caught.value.row, caught.value.column) == (5, "risk")
    assert prepare(samples, "fast", 64).labels.tolist() == [0, 1, 1]


@pytest.mark.parametrize(
    "case", [case for case in BAD_FILES if case.protocols == ONLY_PAPER], ids=lambda case: case.name
)
def test_fast_takes_any_finite_score_of_a_file(case: BadFile, tmp_path: Path) -> None:
    samples = read_table(written(tmp_path, case.content), **case.options)
    assert len(prepare(samples, "fast", 64).keys) == len(samples) == 3


def test_columns_by_any_name(tmp_path: Path) -> None:
    path = written(tmp_path, b"risk (%),dead,score\n0.5,yes,x\n0.25,no,y\n")
    samples = read_table(path, score="risk (%)", label="dead", pos_label="yes")
    assert samples.scores.tolist() == [0.5, 0.25]
    assert samples.labels.tolist() == [1, 0]


def test_score_and_label_must_be_two_columns(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot both be column 'label'; name a column for each"):
        read_table(written(tmp_path, GOOD_FILE), score="label")


def test_a_directory_is_not_a_file(tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        read_table(tmp_path)
    assert str(caught.value) == f"{tmp_path}: cannot be read: Is a directory"


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"nowhere\.csv: cannot be read: No such file or directory"):
        read_table(tmp_path / "nowhere.csv")


def test_a_long_header_is_cut_short(tmp_path: Path) -> None:
    header = ",".join(f"gene{number}" for number in range(5000))
    with pytest.raises(DataError) as caught:
        read_table(written(tmp_path, f"{header}\n".encode()))
    assert "the file has: gene0, gene1, " in str(caught.value)
    assert len(str(caught.value)) < 500 + len(str(tmp_path))


def test_decimals_become_the_nearest_float64(tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    scores = [*rng.random(50).tolist(), 5e-324, 1 - 2**-53, 0.1, 1e-300]
    lines = "".join(f"{score!r},1\n" for score in scores)
    samples = read_table(written(tmp_path, f"score,label\n{lines}".encode()))
    assert samples.scores.tolist() == scores


# Taking arrays


@pytest.mark.parametrize(("case", "protocol"), by_protocol(BAD_ARRAYS))
def test_bad_arrays_are_refused_and_the_place_is_named(case: BadArrays, protocol: str) -> None:
    with pytest.raises(DataError) as caught:
        prepare(check_samples("owner 7", case.y_true, case.y_score, case.pos_label), protocol, case.key_bits)
    error = caught.value
    assert (error.source, error.row, error.column) == ("owner 7", case.row, case.column)
    assert case.says in str(error)


@pytest.mark.skipif(not LONGDOUBLE_IS_WIDER, reason="longdouble is float64 on this machine")
@pytest.mark.parametrize("power", [-60, 5000])
def test_a_longdouble_is_not_rounded(power: int) -> None:
    scores = np.array([0.5, 0.5], np.longdouble)
    scores[1] += np.longdouble(2) ** power
    with pytest.raises(DataError, match="row 2, column 'y_score': the score does not fit a float64 exactly"):
        check_samples("owner 1", [0, 1], scores)


@pytest.mark.parametrize(
    "y_score",
    [
        SCORES,
        tuple(SCORES),
        np.array(SCORES),
        np.array(SCORES, np.float16),
        np.array(SCORES, np.float32),
        np.array(SCORES, np.longdouble),
        np.array(SCORES, ">f8"),
        np.array(SCORES, object),
        np.array([SCORES, SCORES]).T[:, 0],
        np.ma.array(SCORES),
        LikeAPandasSeries(SCORES),
        memoryview(array("d", SCORES)),
    ],
    ids=[
        "list",
        "tuple",
        "f8",
        "f2",
        "f4",
        "long",
        "big endian",
        "objects",
        "strided",
        "unmasked",
        "pandas",
        "view",
    ],
)
def test_scores_in_any_container(y_score: Any) -> None:
    samples = check_samples("owner 1", LABELS, y_score)
    assert samples.scores.tolist() == SCORES
    assert samples.scores.dtype == np.dtype("=f8")
    assert samples.labels.tolist() == LABELS


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int64, np.uint64])
def test_integer_scores(dtype: type) -> None:
    assert check_samples("owner 1", [1, 0, 1], np.array([0, 1, 1], dtype)).scores.tolist() == [0.0, 1.0, 1.0]


def test_a_float32_keeps_its_own_value() -> None:
    assert (
        check_samples("owner 1", [1], np.array([0.1], np.float32)).scores[0] == float(np.float32(0.1)) != 0.1
    )


@pytest.mark.parametrize(
    ("y_true", "pos_label"),
    [
        ([0, 1, 1], None),
        ([False, True, True], None),
        ([0.0, 1.0, 1.0], None),
        ([-0.0, 1.0, 1.0], None),
        (np.array([0, 1, 1], np.uint8), None),
        (np.array([0, 1, 1], np.float32), None),
        (np.array([0, 1, 1], np.longdouble), None),
        (np.array([False, True, True]), None),
        (["0", "1", "1.0"], None),
        (["false", "TRUE", " True "], None),
        ([0, True, "true"], None),
        (LikeAPandasSeries([0, 1, 1]), None),
        (LikeAPandasSeries(["no", "yes", "yes"]), "yes"),
        (["no", "yes", "Yes"], "YES"),
        ([-1, 1, 1], 1),
        ([1, 2, 2], 2),
        ([1, 2, 2], 2.0),
        ([1.0, 2.0, 2.0], "2"),
        ([1, 0, 0], 0),
        ([True, False, False], False),
        ([False, True, True], 1),
        ([0, 1, 1], True),
        (["false", "true", "true"], "1"),
        (["0.0", "1.0", "1"], "1"),
    ],
)  # fmt: skip
def test_labels_in_any_spelling(y_true: Any, pos_label: object) -> None:
    assert check_samples("owner 1", y_true, SCORES, pos_label).labels.tolist() == LABELS


@pytest.mark.parametrize("y_true", [[True, True], [1.0, 1.0], ["1", "1"], ["true", "1.0"]])
def test_an_owner_of_positives_only_is_not_turned_into_negatives(y_true: Any) -> None:
    assert check_samples("owner 1", y_true, [0.5, 0.5], pos_label=1).labels.tolist() == [1, 1]


@pytest.mark.parametrize("pos_label", ["", " ", "NA", float("nan")])
def test_the_positive_label_must_be_a_value(pos_label: object) -> None:
    with pytest.raises(InputError, match="the positive label must be a value"):
        check_samples("owner 1", ["", "NA"], [0.5, 0.5], pos_label)


@pytest.mark.parametrize("protocol", ["fast", "paper"])
def test_what_the_caller_passed_stays_as_it_was(protocol: str) -> None:
    y_true, y_score = np.array([1, 0, 1]), np.array([0.5, -0.0, 0.75])
    y_score.flags.writeable = False
    split(prepare(check_samples("owner 1", y_true, y_score), protocol, 64), protocol, 64)
    assert y_true.tolist() == [1, 0, 1]
    assert np.signbit(y_score).tolist() == [False, True, False]


# Encoding and sorting

finite_floats = st.floats(allow_nan=False, allow_infinity=False)
float32s = st.floats(allow_nan=False, allow_infinity=False, width=32)


@dataclass(frozen=True)
class Encoding:
    protocol: str
    key_bits: int
    scores: st.SearchStrategy[float]
    bits_used: int
    neighbours: type = np.float64  # next to a score in this type, there is no other

    def prepare(self, scores: Sequence[float], labels: Sequence[int] | None = None) -> Prepared:
        return prepare(samples_of(scores, labels or [1] * len(scores)), self.protocol, self.key_bits)

    def key(self, score: float) -> int:
        return int(self.prepare([score]).keys[0])


ENCODINGS = {
    "fast, 64 bits": Encoding("fast", 64, finite_floats, 64),
    "fast, 32 bits": Encoding("fast", 32, float32s, 32, np.float32),
    "paper": Encoding("paper", 64, st.floats(0, 1) | st.just(-0.0), 62),
}
FAST_64 = ENCODINGS["fast, 64 bits"]
each_encoding = pytest.mark.parametrize("encoding", ENCODINGS.values(), ids=ENCODINGS.keys())


def samples_of(scores: Sequence[float], labels: Sequence[int]) -> Samples:
    return Samples("owner 1", np.array(scores, dtype=np.float64), np.array(labels, dtype=np.uint8))


def is_float32(score: float) -> bool:
    """By way of the four bytes that C would store."""
    try:
        return bool(struct.unpack("<f", struct.pack("<f", score))[0] == score)
    except OverflowError:
        return False


@each_encoding
@settings(deadline=None)
@given(data=st.data())
def test_records_in_descending_order_and_equal_ones_as_they_came(
    encoding: Encoding, data: st.DataObject
) -> None:
    few = data.draw(st.lists(encoding.scores, min_size=1, max_size=6), label="scores to choose from")
    samples = data.draw(
        st.lists(st.tuples(st.sampled_from(few), st.integers(0, 1)), min_size=1, max_size=40), label="samples"
    )
    scores, labels = [score for score, _ in samples], [label for _, label in samples]
    prepared = encoding.prepare(scores, labels)
    expected = sorted(samples, key=lambda sample: -sample[0])
    assert prepared.labels.tolist() == [label for _, label in expected]
    assert prepared.keys.tolist() == [encoding.key(score) for score, _ in expected]
    assert prepared.keys.tolist() == sorted(prepared.keys.tolist(), reverse=True)


@each_encoding
@settings(deadline=None)
@given(data=st.data())
def test_keys_compare_as_scores_do(encoding: Encoding, data: st.DataObject) -> None:
    one = data.draw(encoding.scores, label="one")
    another = encoding.scores | st.just(one)
    if encoding.protocol == "fast":
        another |= st.just(-one)
    other = data.draw(another, label="other")
    key, other_key = encoding.key(one), encoding.key(other)
    assert (key > other_key, key == other_key) == (one > other, one == other)
    assert 0 <= key < 1 << encoding.bits_used


@each_encoding
@settings(deadline=None)
@given(data=st.data())
def test_the_last_bit_counts(encoding: Encoding, data: st.DataObject) -> None:
    score = encoding.neighbours(data.draw(encoding.scores, label="score"))
    with np.errstate(over="ignore", under="ignore"):
        above = float(np.nextafter(score, encoding.neighbours(np.inf)))
    assume(above <= 1 or (encoding.protocol == "fast" and np.isfinite(above)))
    key, key_above = encoding.key(float(score)), encoding.key(above)
    # No key lies between, but for the one that minus zero would have.
    assert key_above - key == (2 if above == 0 else 1)


@pytest.mark.parametrize(
    ("encoding", "lowest", "highest"),
    [
        (FAST_64, -np.finfo(np.float64).max, np.finfo(np.float64).max),
        (ENCODINGS["fast, 32 bits"], float(np.finfo(np.float32).min), float(np.finfo(np.float32).max)),
        (ENCODINGS["paper"], 0.0, 1.0),
    ],
    ids=["fast, 64 bits", "fast, 32 bits", "paper"],
)
def test_the_ends_of_the_range(encoding: Encoding, lowest: float, highest: float) -> None:
    scores = [lowest, highest, 0.5, -0.0, 0.0]
    keys = encoding.prepare(scores).keys.tolist()
    assert keys == [encoding.key(score) for score in sorted(scores, reverse=True)]
    assert keys[0] == max(keys) < 1 << encoding.bits_used
    if encoding.protocol == "fast":
        # Neither all zeros nor all ones: those keys are the merge network's own.
        assert min(keys) > 0
        assert max(keys) < (1 << encoding.key_bits) - 1
    assert len(set(keys)) == len(set(scores))


@each_encoding
def test_minus_zero_is_zero(encoding: Encoding) -> None:
    first, second = encoding.prepare([-0.0, 0.0]).keys.tolist()
    assert first == second


@settings(deadline=None)
@given(finite_floats)
def test_keys_of_32_bits_are_for_float32_only(score: float) -> None:
    samples = samples_of([0.5, score], [1, 0])
    if is_float32(score):
        assert len(set(prepare(samples, "fast", 32).keys.tolist())) == (1 if score == 0.5 else 2)
    else:
        with pytest.raises(DataError, match="owner 1, row 2, column 'y_score': the score is not a float32"):
            prepare(samples, "fast", 32)


@settings(deadline=None)
@given(float32s)
def test_a_float32_is_exact_at_both_widths(score: float) -> None:
    assert is_float32(score)
    samples = samples_of([score, 0.5, -score], [1, 0, 1])
    assert prepare(samples, "fast", 32).labels.tolist() == prepare(samples, "fast", 64).labels.tolist()


@pytest.mark.parametrize(
    ("owners", "width"),
    [
        ([[0.5, -0.25], [3.0]], 32),
        ([[0.5], [-0.0, 0.0]], 32),
        ([[float(np.float32(0.1))], [2.0**-149, 2.0**127]], 32),
        ([[0.5, 0.1], [3.0]], 64),
        ([[0.5], [3.0], [0.25, 0.1]], 64),
        ([[0.5], [2.0**-150]], 64),
        ([[2.0**128], [0.5]], 64),
        ([[0.1], [0.2]], 64),
    ],
)
def test_the_narrowest_keys_that_serve_every_owner(owners: list[list[float]], width: int) -> None:
    everybody = [samples_of(scores, [1] * len(scores)) for scores in owners]
    assert least_key_bits(everybody) == width
    assert [len(prepare(samples, "fast", width).keys) for samples in everybody] == list(map(len, owners))


@settings(deadline=None)
@given(st.lists(st.lists(float32s | finite_floats, min_size=1, max_size=4), min_size=1, max_size=4))
def test_32_bits_only_if_every_score_is_a_float32(owners: list[list[float]]) -> None:
    everybody = [samples_of(scores, [1] * len(scores)) for scores in owners]
    all_float32 = all(is_float32(score) for scores in owners for score in scores)
    assert least_key_bits(everybody) == (32 if all_float32 else 64)


@pytest.mark.parametrize("score", [5e-324, 1e-310, -1e-40, 1e300])
def test_whatever_the_caller_does_with_floating_point_errors(score: float) -> None:
    with np.errstate(all="raise"):
        samples = check_samples("owner 1", [1, 0], [score, 0.5])
        assert least_key_bits([samples]) == 64
        prepared = prepare(samples, "fast", 64)
    assert prepared.labels.tolist() == ([1, 0] if score > 0.5 else [0, 1])


# Splitting

PLENTY = 4096
SPLITS = {"fast, 64 bits": ("fast", 64), "fast, 32 bits": ("fast", 32), "paper": ("paper", 64)}
each_split = pytest.mark.parametrize(("protocol", "key_bits"), SPLITS.values(), ids=SPLITS.keys())


def words_of(share: InputShare) -> NDArray[np.uint64]:
    assert isinstance(share, PlanesShare | AdditiveShare)
    return share.planes if isinstance(share, PlanesShare) else share.keys


def rows_of_bits(share: InputShare) -> list[NDArray[np.uint8]]:
    """PLENTY bits in every row: a bit of all the keys, or all the labels."""
    words = words_of(share)
    if isinstance(share, AdditiveShare):
        bits = [(words >> np.uint64(bit) & np.uint64(1)).astype(np.uint8) for bit in range(64)]
        return [*bits, share.labels]
    return [np.unpackbits(plane.view(np.uint8)) for plane in np.ascontiguousarray(words)]


def half_set(bits: NDArray[Any]) -> bool:
    """As many as of PLENTY fair coins, within seven standard deviations."""
    return abs(int(np.count_nonzero(bits)) - PLENTY / 2) < 7 * math.sqrt(PLENTY) / 2


def looks_uniform(share: InputShare) -> bool:
    """Every row of bits is balanced, and no word recurs."""
    words = words_of(share).reshape(-1).tolist()
    rows = rows_of_bits(share)
    assert {len(row) for row in rows} == {PLENTY}
    return all(half_set(row) for row in rows) and len(set(words)) == len(words)


def constant_data(protocol: str, key_bits: int) -> Prepared:
    """As far from random as can be: one score, one label."""
    return prepare(samples_of([0.5] * PLENTY, [1] * PLENTY), protocol, key_bits)


def varied_data(size: int, key_bits: int) -> Prepared:
    """Keys with bits of all places set, and some ties."""
    random = np.random.default_rng(size)
    scores = random.standard_normal(size).astype(np.float32) * random.choice([1e-30, 1, 1e30], size)
    scores[: size // 3] = scores[0]
    exact = scores.astype(np.float32).astype(np.float64) if key_bits == 32 else scores
    return prepare(samples_of(exact.tolist(), random.integers(0, 2, size).tolist()), "fast", key_bits)


def records_in(planes: NDArray[np.uint64], size: int) -> list[tuple[int, int]]:
    """Keys and labels out of bit planes, one bit after the other."""
    rows = [[int(word) for word in plane] for plane in planes]
    records = []
    for record in range(size):
        bits = [row[record // 64] >> (record % 64) & 1 for row in rows]
        key = int("".join(map(str, bits[:-1])), base=2)
        records.append((key, bits[-1]))
    return records


@settings(deadline=None)
@given(st.lists(st.tuples(st.floats(0, 1), st.integers(0, 1)), min_size=1, max_size=40))
def test_the_two_additive_shares_add_up(pairs: list[tuple[float, int]]) -> None:
    samples = samples_of([score for score, _ in pairs], [label for _, label in pairs])
    prepared = prepare(samples, "paper", 64)
    first, second = split(prepared, "paper", 64)
    assert isinstance(first, AdditiveShare)
    assert isinstance(second, AdditiveShare)
    keys = [(a + b) % 2**64 for a, b in zip(first.keys.tolist(), second.keys.tolist(), strict=True)]
    labels = [a ^ b for a, b in zip(first.labels.tolist(), second.labels.tolist(), strict=True)]
    assert keys == prepared.keys.tolist()
    assert labels == prepared.labels.tolist()
    assert {*first.labels.tolist(), *second.labels.tolist()} <= {0, 1}


@pytest.mark.parametrize("key_bits", [32, 64])
@pytest.mark.parametrize("size", [1, 63, 64, 65, 200])
def test_the_two_planes_shares_xor_to_keys_and_labels(size: int, key_bits: int) -> None:
    prepared = varied_data(size, key_bits)
    first, second = split(prepared, "fast", key_bits)
    assert isinstance(first, PlanesShare)
    assert isinstance(second, PlanesShare)
    assert len(first) == len(second) == size
    words = -(-size // 64)
    assert first.planes.shape == second.planes.shape == (key_bits + 1, words)
    planes = first.planes ^ second.planes
    expected = list(zip(prepared.keys.tolist(), prepared.labels.tolist(), strict=True))
    assert records_in(planes, size) == expected
    assert records_in(planes, words * 64)[size:] == [(0, 0)] * (words * 64 - size), "lanes beyond the end"
    assert records_in(first.planes, size) != expected
    assert records_in(second.planes, size) != expected


@each_split
def test_each_share_alone_looks_uniform(protocol: str, key_bits: int) -> None:
    data = constant_data(protocol, key_bits)
    first, second = split(data, protocol, key_bits)
    assert looks_uniform(first)
    assert looks_uniform(second)
    unshared: InputShare = AdditiveShare(data.keys, data.labels)
    if protocol == "fast":
        unshared = PlanesShare(words_of(first) ^ words_of(second), PLENTY)
    assert not looks_uniform(unshared), "the check would not notice unshared data"


@each_split
def test_the_same_data_is_never_shared_alike(protocol: str, key_bits: int) -> None:
    data = constant_data(protocol, key_bits)
    np.random.seed(1)  # has no influence
    once = split(data, protocol, key_bits)
    np.random.seed(1)
    again = split(data, protocol, key_bits)
    for one, other in zip(once, again, strict=True):
        assert not set(words_of(one).reshape(-1).tolist()) & set(words_of(other).reshape(-1).tolist())
        # Independent bits agree half of the time.
        for row, other_row in zip(rows_of_bits(one), rows_of_bits(other), strict=True):
            assert half_set(row == other_row)


@each_split
def test_shares_are_drawn_from_the_operating_system(
    protocol: str, key_bits: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[int] = []

    def planted(count: int) -> bytes:
        asked.append(count)
        return bytes(range(count))

    monkeypatch.setattr("os.urandom", planted)
    first, _ = split(prepare(samples_of([0.5, 0.25], [1, 0]), protocol, key_bits), protocol, key_bits)
    assert asked == [32]
    expected = Stream(bytes(range(32)))
    if isinstance(first, PlanesShare):
        assert first.planes.tolist() == expected.words((key_bits + 1, 1)).tolist()
    else:
        assert isinstance(first, AdditiveShare)
        assert first.keys.tolist() == expected.words((2,)).tolist()
        assert first.labels.tolist() == expected.bits((2,)).tolist()


def test_an_additive_share_survives_the_wire() -> None:
    share, _ = split(prepare(samples_of([0.5, 0.25, 0.75], [1, 0, 0]), "paper", 64), "paper", 64)
    assert isinstance(share, AdditiveShare)
    raw = share.to_bytes()
    assert len(raw) == AdditiveShare.wire_bytes(3) == 25
    back = AdditiveShare.from_bytes(raw, 3)
    assert back.keys.tolist() == share.keys.tolist()
    assert back.labels.tolist() == share.labels.tolist()


@pytest.mark.parametrize("key_bits", [32, 64])
@pytest.mark.parametrize("size", [1, 63, 64, 65, 200])
def test_a_planes_share_survives_the_wire(size: int, key_bits: int) -> None:
    for share in split(varied_data(size, key_bits), "fast", key_bits):
        assert isinstance(share, PlanesShare)
        raw = share.to_bytes()
        # Plane after plane, eight bytes to a word, the lowest first.
        assert raw == b"".join(int(word).to_bytes(8, "little") for word in share.planes.reshape(-1))
        assert len(raw) == PlanesShare.wire_bytes(size, key_bits) == (key_bits + 1) * -(-size // 64) * 8
        back = PlanesShare.from_bytes(raw, size, key_bits)
        assert len(back) == size
        assert back.planes.tolist() == share.planes.tolist()


@each_split
def test_a_server_reads_what_an_owner_writes(protocol: str, key_bits: int) -> None:
    job = Job((65, 3), ("auroc",), protocol, key_bits)
    prepared = prepare(samples_of([k / 128 for k in range(65)], [1] * 65), protocol, key_bits)
    for share in split(prepared, protocol, key_bits):
        raw = share.to_bytes()
        assert len(raw) == job.input_bytes(65)
        back = job.read_input(raw, 65)
        assert type(back) is type(share)
        assert back.to_bytes() == raw


# Collecting


def result_shares(*columns: tuple[int, int]) -> list[ResultShare]:
    """Both proxies' shares of (mantissa, exponent) columns."""
    words = np.array(columns, dtype=np.uint64).T
    mask = Stream.fresh().words(words.shape)
    return [ResultShare(mask), ResultShare(words - mask)]


DEFINED = (1, 0)
HALF = (1, 1)


def test_the_result_is_the_sum_of_the_shares() -> None:
    shares = result_shares(DEFINED, (3 << 50, 52), (0, 0), (1 << 52, 52), (2**53 - 1, 60))
    assert combine(shares, ["a", "b", "c", "d"]) == {"a": 0.75, "b": 0.0, "c": 1.0, "d": (2**53 - 1) / 2**60}


def test_one_class_only_is_undefined() -> None:
    with pytest.raises(UndefinedResultError) as caught:
        combine(result_shares((0, 0), (0, 0), (0, 0)), ["auroc", "aupr"])
    assert str(caught.value) == "undefined: one class only"


def test_an_unsorted_list_is_told_before_anything_else() -> None:
    names = ["north", "harbour", "valley"]
    sorted_all = [DEFINED, HALF, (1, 0), (1, 0), (1, 0)]
    assert combine(result_shares(*sorted_all), ["auroc"], names) == {"auroc": 0.5}
    for flags, culprit in (((0, 1, 1), "north"), ((1, 0, 0), "harbour"), ((1, 1, 0), "valley")):
        columns = [(0, 0), (0, 0), *((flag, 0) for flag in flags)]
        with pytest.raises(UnsortedListError, match=f"^{culprit}: the list that was sent is not sorted"):
            combine(result_shares(*columns), ["auroc"], names)
    with pytest.raises(UndefinedResultError):
        combine(result_shares((0, 0), (0, 0), (1, 0), (1, 0), (1, 0)), ["auroc"], names)


@pytest.mark.parametrize(
    "flags",
    [[(2, 0), (1, 0)], [(1, 0), (2**64 - 1, 0)], [(1, 0), (1, 1)], [(1, 0)], [(1, 0)] * 3],
    ids=["neither 0 nor 1", "minus one", "with an exponent", "too few", "too many"],
)
def test_flags_that_do_not_belong_together(flags: list[tuple[int, int]]) -> None:
    with pytest.raises(ProtocolError, match=r"do not belong together|each proxy must give one share"):
        combine(result_shares(DEFINED, HALF, *flags), ["auroc"], ["north", "harbour"])


UNFIT = {
    "flag neither 0 nor 1": result_shares((2, 0), HALF),
    "above one": result_shares(DEFINED, ((1 << 52) + 1, 52)),
    "huge": result_shares(DEFINED, (2**64 - 1, 0)),
    "exponent out of range": result_shares(DEFINED, (1, 2**64 - 1)),
    "undefined, yet a value": result_shares((0, 0), HALF),
    "of two runs": [result_shares(DEFINED, HALF)[0], result_shares(DEFINED, HALF)[1]],
    "too few metrics": result_shares(DEFINED),
    "too many metrics": result_shares(DEFINED, HALF, HALF),
    "of unequal lengths": [result_shares(DEFINED)[0], result_shares(DEFINED, HALF)[1]],
    "without exponents": [ResultShare(share.words[0]) for share in result_shares(DEFINED, HALF)],
    "from one proxy only": result_shares(DEFINED, HALF)[:1],
    "four": [*result_shares(DEFINED, HALF), *result_shares(DEFINED, HALF)],
    "none": [],
}


@pytest.mark.parametrize("name", UNFIT)
def test_shares_that_do_not_belong_together(name: str) -> None:
    with pytest.raises(ProtocolError, match=r"do not belong together|each proxy must give one share"):
        combine(UNFIT[name], ["auroc"])


def test_the_shares_above_would_fit_but_for_their_faults() -> None:
    assert combine(result_shares(DEFINED, HALF), ["auroc"]) == {"auroc": 0.5}


# Errors


@pytest.mark.parametrize(
    "error",
    [
        DataError("is empty", source="a.csv", row=3, column="score", hint="fill it"),
        InputError("no"),
        UnsortedListError("owner 2: the list that was sent is not sorted"),
        PeerTimeoutError("proxy 1", "sent nothing for 3 seconds"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_errors_cross_process_boundaries(error: PpauroraError) -> None:
    back = pickle.loads(pickle.dumps(error))  # noqa: S301 - our own
    assert type(back) is type(error)
    assert str(back) == str(error)
    assert vars(back) == vars(error)
    assert back.exit_code == error.exit_code
