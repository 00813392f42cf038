"""What a study evaluates: which model, for which outcome, how its scores are read, and until when."""

from __future__ import annotations

import datetime
import re
from typing import Annotated, Any, Literal, Self, overload

from msgspec import Meta

from ppaurora.data.count_table import CountTable, check_probability_cells
from ppaurora.data.samples import Samples, check_probabilities
from ppaurora.errors import InputError
from ppaurora.io.models import StrictModel
from ppaurora.io.text import CheckedText, Line, LongLine

_DAY = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)
_TIME = re.compile(_DAY.pattern + r"T\d{2}:\d{2}:\d{2}(\.\d{1,6})?(Z|[+-]\d{2}:\d{2})", re.ASCII)


class Deadline(CheckedText):
    """A date, which counts to its end in UTC, or a time with its offset from UTC (RFC 3339)."""

    __slots__ = ()

    @classmethod
    def from_plain(cls, plain: Any) -> Self:
        """Read a day or a time, also as TOML reads one that is written without quotation marks."""
        return super().from_plain(plain.isoformat() if isinstance(plain, datetime.date) else plain)

    @classmethod
    def check(cls, text: str) -> None:
        try:
            _end_of(text)
        except (ValueError, OverflowError):
            raise ValueError(
                "expected a date such as 2026-12-31, or a time such as 2026-12-31T18:00:00Z"
            ) from None

    def is_over(self, now: float) -> bool:
        """Return whether it is over at this time, in seconds since 1970."""
        return now >= _end_of(self).timestamp()

    @property
    def end(self) -> datetime.datetime:
        """The first moment after it."""
        return _end_of(self)

    @property
    def described(self) -> str:
        return f"the end of {self} (UTC)" if _DAY.fullmatch(self) else str(self)


def _end_of(text: str) -> datetime.datetime:
    """Return the first moment after a last day."""
    if _DAY.fullmatch(text):
        midnight = datetime.datetime.fromisoformat(text).replace(tzinfo=datetime.UTC)
        return midnight + datetime.timedelta(days=1)
    if _TIME.fullmatch(text):
        return datetime.datetime.fromisoformat(text)
    raise ValueError(text)


def _one_of(*choices: str) -> Meta:
    return Meta(extra={"expected": " or ".join(f'"{choice}"' for choice in choices)})


class EvaluationSpec(StrictModel):
    """Agreed on with the rest of the manifest, so that all owners' scores mean the same."""

    description: LongLine = LongLine("")
    model: Line = Line("")
    version: Line = Line("")  # of the model
    outcome: Line = Line("")
    positive_class: Line = Line("")
    score_direction: Annotated[Literal["higher", "lower"], _one_of("higher", "lower")] = "higher"
    score_scale: Annotated[Literal["any", "probability"], _one_of("any", "probability")] = "any"
    submissions_until: Deadline | None = None

    def __post_init__(self) -> None:
        if (self.score_direction, self.score_scale) == ("lower", "probability"):
            raise InputError(
                "score_direction: a probability is that of the positive class, so higher means more "
                'positive; take score_scale = "any", or the probability of the other class'
            )

    @property
    def lower_is_positive(self) -> bool:
        """Whether lower scores are the more positive ones."""
        return self.score_direction == "lower"

    @overload
    def read(self, samples: Samples) -> Samples: ...

    @overload
    def read(self, samples: Samples | CountTable) -> Samples | CountTable: ...

    def read(self, samples: Samples | CountTable) -> Samples | CountTable:
        """Return samples whose higher scores are the more positive ones, as all that follows takes them.

        A score that is not on the agreed scale is refused. Negating is exact, and zero stays zero. A table
        keeps its order, and knows.
        """
        if self.score_scale == "probability":
            hint = "the study evaluates probabilities"
            if isinstance(samples, CountTable):
                check_probability_cells(samples, hint)
            else:
                check_probabilities(samples, hint)
        if self.lower_is_positive:
            return samples.negate()
        return samples

    def takes_submissions(self, now: float) -> bool:
        return self.submissions_until is None or not self.submissions_until.is_over(now)

    @property
    def too_late(self) -> str:
        """What to say when submissions are taken no longer."""
        until = "" if self.submissions_until is None else self.submissions_until.described
        return f"submissions were taken until {until}"

    def describe(self) -> list[tuple[str, str]]:
        """Line by line, for people; what is left out is said to be left out."""
        model = f"{self.model}, version {self.version}" if self.version else self.model
        scale = "any number" if self.score_scale == "any" else "a probability, from 0 to 1"
        until = self.submissions_until
        return [
            ("evaluated", self.description or "not stated"),
            ("model", model or "not stated"),
            ("outcome", self.outcome or "not stated"),
            ("positive class", self.positive_class or "not stated"),
            ("score", f"{scale}; {self.score_direction} means more positive"),
            ("submissions", "until all have submitted" if until is None else f"until {until.described}"),
        ]
