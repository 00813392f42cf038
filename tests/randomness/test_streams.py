"""Streams: exact, and never used twice."""

from __future__ import annotations

import numpy as np
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

from ppaurora.errors import MisuseError
from ppaurora.randomness import Stream, StreamFamily

KEY = bytes(range(32))


def test_a_stream_is_aes_256_in_counter_mode_read_in_order() -> None:
    reference = Cipher(algorithms.AES(KEY), modes.CTR(bytes(16))).encryptor().update(bytes(300_000))
    stream = Stream(KEY)
    pieces = [stream.bytes(n).tobytes() for n in (0, 1, 7, 70_000, 16, 131_072, 3)]
    read = b"".join(pieces)
    assert read == reference[: len(read)]


def test_a_label_is_opened_once() -> None:
    family = StreamFamily(KEY, "k01")
    family.open("a")
    family.open("b")
    with pytest.raises(MisuseError, match="reused"):
        family.open("a")


def test_labels_and_keys_separate_streams() -> None:
    one, other = StreamFamily(KEY, "k01"), StreamFamily(bytes(32), "k01")
    drawn = {s.bytes(16).tobytes() for s in (one.open("a"), one.open("b"), other.open("a"))}
    assert len(drawn) == 3


@pytest.mark.parametrize("limit", [36**12, 37**12, 1, 2**63, 3 * 2**62])
def test_words_below_a_limit_are_exactly_uniform_words(limit: int) -> None:
    words = Stream(KEY).words_below(limit, 10_000)
    assert len(words) == 10_000
    assert int(words.max()) < limit
    # The same by the definition: skip words from the last incomplete multiple of the limit on.
    raw = Stream(KEY).words((60_000,)).tolist()
    accepted = [word % limit for word in raw if word < (1 << 64) // limit * limit]
    first_batch = 10_000 * (17 << 60) // ((1 << 64) // limit * limit - 1) + 16
    if sum(word < (1 << 64) // limit * limit for word in raw[:first_batch]) >= 10_000:
        assert words.tolist() == accepted[:10_000]


def test_bits_and_permutations() -> None:
    stream = Stream.fresh()
    bits = stream.bits((100, 1000))
    assert set(np.unique(bits)) == {0, 1}
    assert abs(bits.mean() - 0.5) < 0.01
    orders = stream.permutations(500, 8)
    assert (np.sort(orders, axis=1) == np.arange(8)).all()
    assert (np.bincount(orders[:, 0], minlength=8) > 20).all()
