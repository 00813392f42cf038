"""Times in the one form that files, receipts and logs have: ISO 8601, UTC, whole seconds, `Z`."""

from __future__ import annotations

import datetime

from ppaurora.io.text import CheckedText

_FORM = "%Y-%m-%dT%H:%M:%SZ"
_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
_LAST = datetime.datetime(9999, 12, 31, 23, 59, 59, tzinfo=datetime.UTC).timestamp()


class Time(CheckedText):
    """A time in the one form that files and messages have, for instance 2026-03-02T09:41:07Z."""

    __slots__ = ()

    @classmethod
    def check(cls, text: str) -> None:
        try:
            when = datetime.datetime.strptime(text, _FORM).replace(tzinfo=datetime.UTC)
        except ValueError:
            when = None
        if when is None or _written(when) != text:
            raise ValueError("expected a time such as 2026-03-02T09:41:07Z")


def as_seconds(time: Time) -> float:
    """Return how many seconds after 1970 a time is."""
    return datetime.datetime.strptime(time, _FORM).replace(tzinfo=datetime.UTC).timestamp()


def as_time(seconds: float) -> Time:
    """Return the time of seconds since 1970; one that no calendar has becomes the nearest that it has."""
    since = datetime.timedelta(seconds=min(max(seconds, 0.0), _LAST))
    return Time(_written(_EPOCH + since))  # the C library of Windows knows no year after 3000


def as_people_say(when: float) -> str:
    """Return the time of seconds since 1970 as people read it, in UTC."""
    try:
        return datetime.datetime.fromtimestamp(when, datetime.UTC).strftime("%Y-%m-%d %H:%M UTC")
    except (OverflowError, ValueError, OSError):
        return "a time that no calendar has"


def _written(when: datetime.datetime) -> str:
    return f"{when.replace(tzinfo=None).isoformat(timespec='seconds')}Z"
