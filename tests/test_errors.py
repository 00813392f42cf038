"""Errors, wherever they are raised and shown."""

from __future__ import annotations

import pickle

import pytest

from ppaurora.errors import (
    DataError,
    InputError,
    MissingPackageError,
    PeerTimeoutError,
    PpauroraError,
    UnsortedListError,
)


@pytest.mark.parametrize(
    "error",
    [
        DataError("is empty", source="a.csv", row=3, column="score", hint="fill it"),
        InputError("no"),
        MissingPackageError("needs one more package"),
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
