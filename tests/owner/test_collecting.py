"""The result is the sum of both proxies' shares, if they belong together."""

from __future__ import annotations

import numpy as np
import pytest

from ppaurora.errors import ProtocolError, UndefinedResultError, UnsortedListError
from ppaurora.owner import combine
from ppaurora.randomness import Stream
from ppaurora.sharing.stages import ResultShare


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
