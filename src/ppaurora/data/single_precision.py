"""Scores that a program kept as float32: beside the decimals that were meant, and beside others' float64.

0.7 as a float32 is 0.699999988, which lies below the threshold 0.7, and is no tie of another owner's 0.7.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from ppaurora.data.samples import Samples

_MOST_DECIMALS = 7  # that a float32 keeps


@dataclass(frozen=True)
class SinglePrecision:
    """What float32 does to an owner's scores. It stays with the owner; counts are not printed.

    Attributes
    ----------
    at_edges
        How many samples have, for their score, the float32 of a threshold or of a bin's edge that is another
        number, so that they may count on its other side.
    decimals
        How many decimals the scores had, if rounding to so many and going back gives all of them; else None.
    differs
        Whether scores are other numbers than these decimals.
    takes_float64
        Whether the study takes these decimals in their place.
    """

    at_edges: int = field(repr=False)
    decimals: int | None
    differs: bool
    takes_float64: bool = True

    @classmethod
    def of(
        cls, samples: Samples, edges: Sequence[float], *, takes_float64: bool = True
    ) -> SinglePrecision | None:
        """Look at the scores of one model; None if they were no float32."""
        if not samples.is_single_precision:
            return None
        scores = samples.scores_of_source
        moved = [float(np.float32(edge)) for edge in edges if float(np.float32(edge)) != edge]
        values = np.unique(scores)
        kept = values.astype(np.float32)
        meant = ((decimals, np.round(values, decimals)) for decimals in range(_MOST_DECIMALS + 1))
        decimals, rounded = next(
            ((some, numbers) for some, numbers in meant if np.array_equal(numbers.astype(np.float32), kept)),
            (None, None),
        )
        return cls(
            at_edges=int(np.isin(scores, moved).sum()),
            decimals=decimals,
            differs=rounded is None or not np.array_equal(rounded, values),
            takes_float64=takes_float64,
        )

    @property
    def remedy(self) -> str:
        """What to do about it."""
        if not self.takes_float64:
            return (
                "the study takes nothing but float32: ask the coordinator for thresholds between the scores, "
                "or for keys of 64 bits"
            )
        if self.decimals is None:
            return "give the scores as the model computed them, in float64"
        decimals = f"{self.decimals} decimal{'' if self.decimals == 1 else 's'}"
        example = f"frame[column].astype('float64').round({self.decimals})"
        return f"convert them to float64 and round them to {decimals}, as in pandas: {example}"
