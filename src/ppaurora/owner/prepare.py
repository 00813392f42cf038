"""Encode, sort, split: from samples in the clear to one share for each proxy."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ppaurora.owner.samples import Samples
from ppaurora.randomness.streams import Stream
from ppaurora.sharing.algebra import BITS, RING
from ppaurora.sharing.planes import slice_numbers
from ppaurora.sharing.shares import Bytes, Words
from ppaurora.sharing.stages import AdditiveShare, InputShare, PlanesShare

KEY_WIDTHS = (32, 64)


@dataclass(frozen=True)
class Prepared:
    """Encoded and sorted, descending; still in the clear."""

    keys: Words = field(repr=False)
    labels: Bytes = field(repr=False)


def encode_unit_interval(samples: Samples) -> Words:
    """Keys of 62 bits that order as scores in [0, 1] do.

    The bit pattern of a non-negative float64, read as an integer, grows with the number. Equal
    scores have equal keys (-0.0 is made 0.0), different ones different keys.
    """
    outside = np.flatnonzero((samples.scores < 0) | (samples.scores > 1))
    if len(outside):
        hint = "the protocol 'paper' takes scores from 0 to 1, such as probabilities"
        raise samples.bad_score(int(outside[0]), "the score is outside [0, 1]", hint)
    return (samples.scores + 0.0).view(np.uint64)


def encode_floats(samples: Samples, key_bits: int) -> Words:
    """Keys of 64 or 32 bits that order as any finite float64, or float32, does.

    Read as an integer, the bit pattern of a float grows with its magnitude: negative numbers have
    all bits inverted, others the sign bit. Scores that would not be exact at the agreed width are
    refused, never rounded.
    """
    if key_bits == 64:
        patterns = (samples.scores + 0.0).view(np.uint64)
    else:
        inexact = np.flatnonzero(~fits_float32(samples.scores))
        if len(inexact):
            problem = "the score is not a float32, as keys of 32 bits need"
            raise samples.bad_score(int(inexact[0]), problem, "use keys of 64 bits")
        patterns = (samples.scores + 0.0).astype(np.float32).view(np.uint32).astype(np.uint64)
    sign = np.uint64(1 << (key_bits - 1))
    all_bits = np.uint64((1 << key_bits) - 1)
    return np.where(patterns & sign, patterns ^ all_bits, patterns ^ sign)


def fits_float32(scores: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Where a score is exactly a float32."""
    with np.errstate(over="ignore", under="ignore"):
        exact: NDArray[np.bool_] = scores.astype(np.float32).astype(np.float64) == scores
    return exact


def least_key_bits(owners: Iterable[Samples]) -> int:
    """The narrowest width at which everybody's scores are exact."""
    return 32 if all(fits_float32(samples.scores).all() for samples in owners) else 64


def prepare(samples: Samples, protocol: str, key_bits: int) -> Prepared:
    """Keys and labels in descending order of the keys; equal keys in the owner's order."""
    keys = encode_unit_interval(samples) if protocol == "paper" else encode_floats(samples, key_bits)
    order = np.argsort(~keys, kind="stable")
    return Prepared(keys[order], samples.labels[order])


def split(prepared: Prepared, protocol: str, key_bits: int) -> tuple[InputShare, InputShare]:
    """Two parts that are each uniformly random, from the operating system's randomness."""
    stream = Stream.fresh()
    if protocol == "paper":
        keys = RING.draw(stream, prepared.keys.shape)
        labels = BITS.draw(stream, prepared.labels.shape)
        return AdditiveShare(keys, labels), AdditiveShare(prepared.keys - keys, prepared.labels ^ labels)
    size = len(prepared.keys)
    planes = np.concatenate(
        [slice_numbers(prepared.keys, key_bits), slice_numbers(prepared.labels.astype(np.uint64), 1)]
    )
    pad = stream.words(planes.shape)
    return PlanesShare(pad, size), PlanesShare(planes ^ pad, size)
