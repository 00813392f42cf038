"""Times have one form: what is signed has one text only."""

from __future__ import annotations

import pytest

from ppaurora.io.times import Time, as_time


def test_a_time_is_taken_as_it_is_written() -> None:
    assert as_time(1_772_444_467.9) == "2026-03-02T09:41:07Z"
    for seconds in (0.0, 1_772_444_467.0, 1e300):
        assert Time.from_plain(as_time(seconds)) == as_time(seconds)


@pytest.mark.parametrize(
    "text",
    [
        "2026-3-2T9:41:7Z",
        "2026-03-02T09:41:7Z",
        "2026-03-02 09:41:07Z",
        "2026-03-02T09:41:07",
        "2026-03-02T09:41:07.5Z",
        "2026-03-02T09:41:07+00:00",
        "2026-02-30T09:41:07Z",
        "",
    ],
)
def test_no_other_form_is_taken(text: str) -> None:
    with pytest.raises(ValueError, match="expected a time such as"):
        Time.from_plain(text)
