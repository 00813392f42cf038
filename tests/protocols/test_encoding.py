"""Scores become keys that compare as the scores do; records are sorted."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from ppaurora.data import check_samples
from ppaurora.errors import DataError
from ppaurora.protocols import Fast, ListProtocol, Paper, Prepared
from ppaurora.protocols.fast import least_key_bits
from tests.support.owners import samples_of

finite_floats = st.floats(allow_nan=False, allow_infinity=False)
float32s = st.floats(allow_nan=False, allow_infinity=False, width=32)


@dataclass(frozen=True)
class Encoding:
    protocol: ListProtocol
    scores: st.SearchStrategy[float]
    bits_used: int
    neighbours: type = np.float64  # next to a score in this type, there is no other

    def prepare(self, scores: Sequence[float], labels: Sequence[int] | None = None) -> Prepared:
        return self.protocol.prepare(samples_of(scores, labels or [1] * len(scores)))

    def key(self, score: float) -> int:
        return int(self.prepare([score]).keys[0])


ENCODINGS = {
    "fast, 64 bits": Encoding(Fast(key_bits=64), finite_floats, 64),
    "fast, 32 bits": Encoding(Fast(key_bits=32), float32s, 32, np.float32),
    "paper": Encoding(Paper(), st.floats(0, 1) | st.just(-0.0), 62),
}
FAST_64 = ENCODINGS["fast, 64 bits"]
each_encoding = pytest.mark.parametrize("encoding", ENCODINGS.values(), ids=ENCODINGS.keys())


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
    if isinstance(encoding.protocol, Fast):
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
    assume(above <= 1 or (isinstance(encoding.protocol, Fast) and np.isfinite(above)))
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
    if isinstance(encoding.protocol, Fast):
        # Neither all zeros nor all ones: those keys are the merge network's own.
        assert min(keys) > 0
        assert max(keys) < (1 << encoding.protocol.key_bits) - 1
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
        assert len(set(Fast(key_bits=32).prepare(samples).keys.tolist())) == (1 if score == 0.5 else 2)
    else:
        with pytest.raises(DataError, match="owner 1, row 2, column 'y_score': the score is not a float32"):
            Fast(key_bits=32).prepare(samples)


@settings(deadline=None)
@given(float32s)
def test_a_float32_is_exact_at_both_widths(score: float) -> None:
    assert is_float32(score)
    samples = samples_of([score, 0.5, -score], [1, 0, 1])
    assert (
        Fast(key_bits=32).prepare(samples).labels.tolist()
        == Fast(key_bits=64).prepare(samples).labels.tolist()
    )


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
    assert [len(Fast(key_bits=width).prepare(samples).keys) for samples in everybody] == list(
        map(len, owners)
    )


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
        prepared = Fast(key_bits=64).prepare(samples)
    assert prepared.labels.tolist() == ([1, 0] if score > 0.5 else [0, 1])
