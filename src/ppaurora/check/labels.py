"""How a source spells its labels, and which of them name the plan's positive class."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from ppaurora.data import Description
from ppaurora.data.answers import says_no, says_yes
from ppaurora.data.labels import labels_from


@dataclass(frozen=True)
class Spelling:
    """A label as the source spells it, and how many samples have it."""

    label: str
    samples: int = field(repr=False)
    positive: bool

    @property
    def says_yes(self) -> bool:
        """Whether it is such as stands for any positive class."""
        return says_yes(self.label)

    @property
    def says_no(self) -> bool:
        return says_no(self.label)

    def names(self, positive_class: str) -> bool:
        """Return whether it is a plan's positive class, or its first words."""
        words, wanted = _words(self.label), _words(positive_class)
        return bool(words) and wanted[: len(words)] == words


def spellings(
    description: Description | None, pos_label: object | None = None, outcome: str = ""
) -> tuple[Spelling, ...]:
    """Return the spellings, positive ones first, the frequent before others; none without a description.

    They are those of one outcome, if the study names any.
    """
    if description is None:
        return ()
    values = description.labels_by_outcome.get(outcome, description.label_values)
    bits = labels_from(tuple(values), description.source, description.label_column, None, pos_label)
    found = [Spelling(*one) for one in zip(values, values.values(), map(bool, bits), strict=True)]
    return tuple(sorted(found, key=lambda one: (not one.positive, -one.samples)))


def most_frequent(labels: Sequence[Spelling], *, positive: bool) -> Spelling | None:
    return next((one for one in labels if one.positive is positive), None)


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", text.casefold())
