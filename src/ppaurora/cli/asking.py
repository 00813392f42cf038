"""Questions to a person, and what happens where there is none."""

from __future__ import annotations

import sys

import click
from msgspec import structs

from ppaurora.data import Columns, Description
from ppaurora.data.answers import yes_and_no
from ppaurora.data.labels import are_bits
from ppaurora.errors import InputError
from ppaurora.io.text import printable


def is_person_there() -> bool:
    """Return whether answers come from a terminal."""
    return sys.stdin is not None and sys.stdin.isatty()


def ask(question: str, *, yes: bool, declined: str, options: str = "--yes") -> None:
    """Returns if `yes` or the answer is yes; return alone means no. A pipe may answer as well.

    Where nobody answers, the options are named that make the question unnecessary.
    """
    if yes:
        return
    agreed = _answer(question)
    if agreed is None:
        raise InputError(f"{declined}. The question was not answered: without a terminal, add {options}")
    if not agreed:
        raise InputError(declined)


def ask_positive(columns: Columns, about: Description) -> Columns:
    """Ask a person, if one is there, whether a label that says yes is the positive one.

    Where nobody is there, or the answer is no, the labels are refused when they are read, with the option to
    add.
    """
    of_outcomes = about.labels_by_outcome.values() or [about.label_values]
    labels = list(dict.fromkeys(label for values in of_outcomes for label in values))
    words = yes_and_no(labels)
    if columns.pos_label is not None or words is None or are_bits(labels) or not is_person_there():
        return columns
    yes, no = map(printable, words)
    agreed = _answer(f"The labels are '{yes}' and '{no}'. Does '{yes}' mean positive, and '{no}' negative?")
    return structs.replace(columns, pos_label=words[0]) if agreed else columns


def _answer(question: str) -> bool | None:
    """Return the answer; None if there is none to be had. Ctrl-C interrupts as ever."""
    if sys.stdin is None:
        return None
    try:
        return click.confirm(question, err=True)
    except click.Abort as abort:
        if isinstance(abort.__context__, EOFError):
            click.echo(err=True)
            return None
        raise
