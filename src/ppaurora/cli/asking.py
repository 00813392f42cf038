"""Questions to a person, and what happens where there is none."""

from __future__ import annotations

import sys

import click

from ppaurora.errors import InputError


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
