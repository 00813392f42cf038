"""The result is the sum of both proxies' parts, if they belong together."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np
import pytest

from ppaurora.errors import ProtocolError, UndefinedResultError, UnsortedListError
from ppaurora.metrics import Query, metrics_named
from ppaurora.metrics.reading import ReleasedResult
from ppaurora.policy.rules import Policy
from ppaurora.protocols import Fast, Paper, Protocol
from ppaurora.randomness import Stream
from ppaurora.sharing.stages import ResultShare
from ppaurora.statistics.estimates import Estimate

OWNERS = ["north", "harbour", "valley"]
DEFINED = (1, 0)
HALF = (1, 1)
SORTED = (1, 0)
DOES_NOT_FIT = (
    r"^(the parts of the result do not belong together"
    r"|each server must give one part of every flag and of every metric asked for)$"
)


def result_parts(*columns: tuple[int, int]) -> list[ResultShare]:
    """Both proxies' parts of (mantissa, exponent) columns."""
    words = np.array(columns, dtype=np.uint64).T
    mask = Stream.fresh().words(words.shape)
    return [ResultShare(mask), ResultShare(words - mask)]


def combine(
    protocol: Protocol, parts: Sequence[ResultShare], metrics: Sequence[str], owners: Sequence[str] = OWNERS
) -> ReleasedResult:
    """Of a study that hides class counts, so that there is no column but for flags and metrics."""
    policy = msgspec.structs.replace(Policy.exact(), counts="hidden")
    return protocol.combine(parts, Query(metrics_named(*metrics), (20, 30, 50), policy), owners)


def values(released: ReleasedResult) -> dict[str, float | None]:
    assert (released.positives, released.suppressed) == (None, False)
    return {name: found.value for name, found in released.metrics.items() if isinstance(found, Estimate)}


def test_the_result_is_the_sum_of_the_parts() -> None:
    metrics = ["auroc", "aupr", "ap", "auroc_no_ties"]
    columns = [DEFINED, (3 << 50, 52), (0, 0), (1 << 52, 52), (2**53 - 1, 60)]
    expected = {"auroc": 0.75, "aupr": 0.0, "ap": 1.0, "auroc_no_ties": (2**53 - 1) / 2**60}
    assert values(combine(Paper(), result_parts(*columns), metrics)) == expected
    parts = result_parts(*columns, SORTED, SORTED, SORTED)
    assert values(combine(Fast(), parts, metrics)) == expected


def test_one_class_only_is_undefined() -> None:
    with pytest.raises(UndefinedResultError) as caught:
        combine(Paper(), result_parts((0, 0), (0, 0), (0, 0)), ["auroc", "aupr"])
    assert str(caught.value) == "undefined: one class only"


def test_an_unsorted_list_is_told_before_anything_else() -> None:
    fast = Fast()
    sorted_all = [DEFINED, HALF, SORTED, SORTED, SORTED]
    assert values(combine(fast, result_parts(*sorted_all), ["auroc"])) == {"auroc": 0.5}
    for flags, culprit in (((0, 1, 1), "north"), ((1, 0, 0), "harbour"), ((1, 1, 0), "valley")):
        columns = [(0, 0), (0, 0), *((flag, 0) for flag in flags)]
        with pytest.raises(UnsortedListError, match=f"^{culprit}: the list that was sent is not sorted"):
            combine(fast, result_parts(*columns), ["auroc"])
    with pytest.raises(UndefinedResultError):
        combine(fast, result_parts((0, 0), (0, 0), SORTED, SORTED, SORTED), ["auroc"])


@pytest.mark.parametrize(
    "flags",
    [[(2, 0), (1, 0)], [(1, 0), (2**64 - 1, 0)], [(1, 0), (1, 1)], [(1, 0)], [(1, 0)] * 3],
    ids=["neither 0 nor 1", "minus one", "with an exponent", "too few", "too many"],
)
def test_flags_that_do_not_belong_together(flags: list[tuple[int, int]]) -> None:
    with pytest.raises(ProtocolError, match=DOES_NOT_FIT):
        combine(Fast(), result_parts(DEFINED, HALF, *flags), ["auroc"], ["north", "harbour"])


UNFIT = {
    "flag neither 0 nor 1": result_parts((2, 0), HALF),
    "above one": result_parts(DEFINED, ((1 << 52) + 1, 52)),
    "huge": result_parts(DEFINED, (2**64 - 1, 0)),
    "exponent out of range": result_parts(DEFINED, (1, 2**64 - 1)),
    "undefined, yet a value": result_parts((0, 0), HALF),
    "of two runs": [result_parts(DEFINED, HALF)[0], result_parts(DEFINED, HALF)[1]],
    "too few metrics": result_parts(DEFINED),
    "too many metrics": result_parts(DEFINED, HALF, HALF),
    "of unequal lengths": [result_parts(DEFINED)[0], result_parts(DEFINED, HALF)[1]],
    "without exponents": [ResultShare(part.words[0]) for part in result_parts(DEFINED, HALF)],
    "from one proxy only": result_parts(DEFINED, HALF)[:1],
    "four": [*result_parts(DEFINED, HALF), *result_parts(DEFINED, HALF)],
    "none": [],
}


@pytest.mark.parametrize("name", UNFIT)
def test_parts_that_do_not_belong_together(name: str) -> None:
    with pytest.raises(ProtocolError, match=DOES_NOT_FIT):
        combine(Paper(), UNFIT[name], ["auroc"])


def test_the_parts_above_would_fit_but_for_their_faults() -> None:
    assert values(combine(Paper(), result_parts(DEFINED, HALF), ["auroc"])) == {"auroc": 0.5}
