"""Encode, sort, split: from samples in the clear to one share for each proxy."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from ppaurora.errors import DataError
from ppaurora.owner.samples import Samples
from ppaurora.randomness.streams import Stream
from ppaurora.sharing.algebra import BITS, RING
from ppaurora.sharing.shares import Bytes, Words
from ppaurora.sharing.stages import InputShare


@dataclass(frozen=True)
class Prepared:
    """Encoded and sorted, descending; still in the clear."""

    keys: Words = field(repr=False)
    labels: Bytes = field(repr=False)


def prepare(samples: Samples) -> Prepared:
    """Keys that order as the scores do, exactly, for scores in [0, 1]; records in descending order.

    The bit pattern of a non-negative float64, read as an integer, grows with the number; up to 1.0
    it has 62 bits. Equal scores have equal keys (-0.0 is made 0.0), different ones different keys.
    """
    outside = np.flatnonzero((samples.scores < 0) | (samples.scores > 1))
    if len(outside):
        raise DataError(
            "the score is outside [0, 1]",
            source=samples.source,
            row=samples.row_of(int(outside[0])),
            column=samples.score_column,
            hint="the protocol 'paper' takes probabilities",
        )
    keys = (samples.scores + 0.0).view(np.uint64)
    order = np.argsort(-samples.scores, kind="stable")
    return Prepared(keys[order], samples.labels[order])


def split(prepared: Prepared, stream: Stream | None = None) -> tuple[InputShare, InputShare]:
    """Two parts that are each uniformly random, from the operating system's randomness."""
    stream = Stream.fresh() if stream is None else stream
    keys = RING.draw(stream, prepared.keys.shape)
    labels = BITS.draw(stream, prepared.labels.shape)
    return (
        InputShare(keys, labels),
        InputShare(prepared.keys - keys, prepared.labels ^ labels),
    )
