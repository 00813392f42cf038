"""The owner's side: reading and checking, encoding and sorting, splitting, adding up the result."""

from __future__ import annotations

import pickle
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ppaurora.errors import (
    DataError,
    InputError,
    PeerTimeoutError,
    PpauroraError,
    ProtocolError,
    UndefinedResultError,
)
from ppaurora.owner import Prepared, Samples, check_samples, combine, prepare, read_table, split
from ppaurora.randomness import Stream
from ppaurora.sharing.stages import InputShare, ResultShare
from tests.bad_input import BAD_ARRAYS, BAD_FILES, GOOD_FILE, BadArrays, BadFile

SCORES = [0.25, 0.75, 0.5]
LABELS = [0, 1, 1]
LONGDOUBLE_IS_WIDER = np.finfo(np.longdouble).nmant > 52


class LikeAPandasSeries:
    """An index, and values that come out through `__array__` only."""

    def __init__(self, values: list[object]) -> None:
        self.index = list(range(100, 100 + len(values)))
        self._values = values

    def __array__(self, dtype: object = None, copy: object = None) -> np.ndarray:
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


@pytest.mark.parametrize("case", BAD_FILES, ids=lambda case: case.name)
def test_a_bad_file_is_refused_and_the_place_is_named(case: BadFile, tmp_path: Path) -> None:
    path = written(tmp_path, case.content)
    with pytest.raises(DataError) as caught:
        prepare(read_table(path, **case.options))
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
        prepare(samples)


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


@pytest.mark.parametrize("case", BAD_ARRAYS, ids=lambda case: case.name)
def test_bad_arrays_are_refused_and_the_place_is_named(case: BadArrays) -> None:
    with pytest.raises(DataError) as caught:
        prepare(check_samples("owner 7", case.y_true, case.y_score, case.pos_label))
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
        memoryview(np.array(SCORES)),
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
def test_scores_in_any_container(y_score: object) -> None:
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
def test_labels_in_any_spelling(y_true: object, pos_label: object) -> None:
    assert check_samples("owner 1", y_true, SCORES, pos_label).labels.tolist() == LABELS


@pytest.mark.parametrize("y_true", [[True, True], [1.0, 1.0], ["1", "1"], ["true", "1.0"]])
def test_an_owner_of_positives_only_is_not_turned_into_negatives(y_true: list[object]) -> None:
    assert check_samples("owner 1", y_true, [0.5, 0.5], pos_label=1).labels.tolist() == [1, 1]


@pytest.mark.parametrize("pos_label", ["", " ", "NA", float("nan")])
def test_the_positive_label_must_be_a_value(pos_label: object) -> None:
    with pytest.raises(InputError, match="the positive label must be a value"):
        check_samples("owner 1", ["", "NA"], [0.5, 0.5], pos_label)


def test_what_the_caller_passed_stays_as_it_was() -> None:
    y_true, y_score = np.array([1, 0, 1]), np.array([0.5, -0.0, 0.75])
    y_score.flags.writeable = False
    split(prepare(check_samples("owner 1", y_true, y_score)))
    assert y_true.tolist() == [1, 0, 1]
    assert np.signbit(y_score).tolist() == [False, True, False]


# Encoding and sorting


def samples_of(scores: list[float], labels: list[int]) -> Samples:
    return Samples("owner 1", np.array(scores, dtype=np.float64), np.array(labels, dtype=np.uint8))


@given(st.lists(st.tuples(st.floats(0, 1), st.integers(0, 1)), min_size=1, max_size=40))
def test_keys_order_as_scores_do(pairs: list[tuple[float, int]]) -> None:
    prepared = prepare(samples_of(*map(list, zip(*pairs, strict=True))))
    keys = prepared.keys.tolist()
    assert keys == sorted(keys, reverse=True)
    assert all(0 <= key < 1 << 62 for key in keys)
    # The same records, and none of them changed: a key is its score's bit pattern.
    decoded = prepared.keys.view(np.float64).tolist()
    assert Counter(zip(decoded, prepared.labels.tolist(), strict=True)) == Counter(pairs)


@given(st.floats(0, 1), st.floats(0, 1))
def test_keys_are_equal_exactly_when_scores_are(one: float, other: float) -> None:
    key, other_key = (int(prepare(samples_of([score], [1])).keys[0]) for score in (one, other))
    assert (key > other_key, key == other_key) == (one > other, one == other)


def test_minus_zero_is_zero() -> None:
    assert prepare(samples_of([-0.0, 0.0], [1, 0])).keys.tolist() == [0, 0]


@pytest.mark.parametrize("score", [5e-324, 0.1, 0.5, 1 - 2**-53])
def test_the_last_bit_counts(score: float) -> None:
    lower, key, higher = (
        int(prepare(samples_of([value], [1])).keys[0])
        for value in (np.nextafter(score, 0.0), score, np.nextafter(score, 1.0))
    )
    assert (lower, higher) == (key - 1, key + 1)


# Splitting

PLENTY = 4096


def bit_counts(words: np.ndarray) -> np.ndarray:
    """How many of the words have bit 0, bit 1, ... set."""
    return np.array([np.count_nonzero(words >> np.uint64(bit) & np.uint64(1)) for bit in range(64)])


def looks_uniform(share: InputShare) -> bool:
    """Every bit is set about half of the time, within seven standard deviations, and no word recurs."""
    tolerance = 7 * np.sqrt(PLENTY) / 2
    counts = np.append(bit_counts(share.keys), np.count_nonzero(share.labels))
    return bool((np.abs(counts - PLENTY / 2) < tolerance).all()) and len(set(share.keys.tolist())) == PLENTY


def constant_data() -> Prepared:
    """As far from random as can be: one score, one label."""
    return prepare(samples_of([0.5] * PLENTY, [1] * PLENTY))


@given(st.lists(st.tuples(st.floats(0, 1), st.integers(0, 1)), min_size=1, max_size=40))
def test_the_two_shares_add_up(pairs: list[tuple[float, int]]) -> None:
    prepared = prepare(samples_of(*map(list, zip(*pairs, strict=True))))
    first, second = split(prepared)
    keys = [(a + b) % 2**64 for a, b in zip(first.keys.tolist(), second.keys.tolist(), strict=True)]
    labels = [a ^ b for a, b in zip(first.labels.tolist(), second.labels.tolist(), strict=True)]
    assert keys == prepared.keys.tolist()
    assert labels == prepared.labels.tolist()
    assert {*first.labels.tolist(), *second.labels.tolist()} <= {0, 1}


def test_each_share_alone_looks_uniform() -> None:
    data = constant_data()
    first, second = split(data)
    assert looks_uniform(first)
    assert looks_uniform(second)
    assert not looks_uniform(InputShare(data.keys, data.labels)), "the check would not notice unshared data"


def test_the_same_data_is_never_shared_alike() -> None:
    data = constant_data()
    np.random.seed(1)  # has no influence
    once = split(data)
    np.random.seed(1)
    again = split(data)
    for one, other in zip(once, again, strict=True):
        assert not set(one.keys.tolist()) & set(other.keys.tolist())
        # Independent bits agree half of the time.
        agreeing = np.count_nonzero(one.labels == other.labels)
        assert abs(agreeing - PLENTY / 2) < 7 * np.sqrt(PLENTY) / 2


def test_shares_are_drawn_from_the_operating_system(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []

    def planted(count: int) -> bytes:
        asked.append(count)
        return bytes(range(count))

    monkeypatch.setattr("os.urandom", planted)
    first, _ = split(prepare(samples_of([0.5, 0.25], [1, 0])))
    assert asked == [32]
    expected = Stream(bytes(range(32)))
    assert first.keys.tolist() == expected.words((2,)).tolist()
    assert first.labels.tolist() == expected.bits((2,)).tolist()


def test_a_share_survives_the_wire() -> None:
    share, _ = split(prepare(samples_of([0.5, 0.25, 0.75], [1, 0, 0])))
    raw = share.to_bytes()
    assert len(raw) == InputShare.wire_bytes(3) == 25
    back = InputShare.from_bytes(raw, 3)
    assert back.keys.tolist() == share.keys.tolist()
    assert back.labels.tolist() == share.labels.tolist()


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
