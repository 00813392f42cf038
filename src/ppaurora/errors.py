"""The error tree.

    PpauroraError
    ├── InputError                 what the user gave cannot be used            exit code 2
    │   ├── DataError              ... and it is in the data: owner, row, column
    │   ├── StudyNotNamedError     ... a kit has several studies, and none was named
    │   ├── WarnedError            ... the data check has warnings, and nobody was there to decide  6
    │   ├── MissingPackageError    ... without a package that is not installed; also an ImportError
    │   ├── BudgetError            ... studies would spend more epsilon on it than its owner lets them  8
    │   └── UnsortedListError      ... found inside the computation, owner named
    ├── UndefinedResultError       the metric does not exist for this data      exit code 2
    ├── RefusedError               a server does not take what it was sent      exit code 2
    ├── NotReleasedError           there is no result yet                       exit code 4
    ├── NotVerifiedError           a receipt or a log is not as it was made     exit code 7
    ├── ProtocolError              the computation could not be finished        exit code 3
    │   ├── PeerError              ... and it is a peer's doing, named
    │   │   ├── PeerLostError      it vanished
    │   │   ├── PeerTimeoutError   it is silent
    │   │   └── PeerMisbehavedError  it said what the protocol does not allow
    │   └── PartyFailedError       an embedded server ended before its time
    └── MisuseError                a bug on our own side of the wire            exit code 70

A result that the policy suppresses is no error; commands that show it end with exit code 5. Warnings about
data are none either: a command that only looks ends with exit code 6.

No message carries a secret: no score, label, share, key or mask.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

SUPPRESSED_EXIT_CODE = 5
WARNED_EXIT_CODE = 6


class Wording(str):
    """A text in the words of the command line and Python; `page` says the same of a page's fields.

    Pages print `page` by themselves (`pages/environment.py`). A text that is made of this one keeps its
    words of the command line alone.
    """

    page: str

    def __new__(cls, text: str, page: str = "") -> Wording:
        made = super().__new__(cls, text)
        made.page = page or text
        return made


def on_a_page(text: object) -> object:
    """Return what a page prints of a value: of a `Wording`, its own words."""
    return text.page if isinstance(text, Wording) else text


class PpauroraError(Exception):
    """The base class of everything that ppaurora raises on purpose.

    Examples
    --------
    >>> import ppaurora
    >>> try:
    ...     ppaurora.evaluate([([1, 0], [0.9, 0.4])], protocol="papyr")
    ... except ppaurora.PpauroraError as error:
    ...     print(error.exit_code, error)
    2 unknown protocol 'papyr'; there are: fast, grid, paper
    """

    exit_code = 1

    def __reduce__(self) -> tuple[Any, ...]:
        """Errors can be pickled, whatever their constructors take."""
        return _restored, (type(self), self.args, vars(self))


def _restored(kind: type[PpauroraError], args: tuple[Any, ...], fields: dict[str, Any]) -> PpauroraError:
    error = kind.__new__(kind, *args)
    vars(error).update(fields)
    return error


class InputError(PpauroraError, ValueError):
    """Arguments or data cannot be used; the message says what to do. It is also a `ValueError`.

    Examples
    --------
    >>> import ppaurora
    >>> ppaurora.evaluate(([1, 0], [0.9, 0.4]))  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    ppaurora.errors.InputError: these are two arrays of one owner, not two owners; write ...
    """

    exit_code = 2


class StudyNotNamedError(InputError):
    """A kit has several studies, and none of them was named."""

    def __init__(self, kit: str, studies: str) -> None:
        self.kit = kit
        self.studies = studies
        super().__init__(f"{kit}: has several studies; name one, as in Study({kit!r}, NAME): {studies}")


class DataError(InputError):
    """A problem in one owner's data. The offending value is not in the message: it may be a patient's.

    Attributes
    ----------
    problem, hint
        What is wrong, and what to do.
    source
        A file, or an owner.
    row
        The line of the file, or the position in an array, counted from 1; None if it concerns no single row.
    column
        The column's name; None if it concerns no single column.

    Examples
    --------
    >>> import ppaurora
    >>> owners = {"north": ([1, 0], [0.9, 0.4]), "harbour": ([0, 2], [0.3, 0.6])}
    >>> try:
    ...     ppaurora.evaluate(owners)
    ... except ppaurora.DataError as error:
    ...     print(error.source, error.row, error.column, error.problem, sep="; ")
    harbour; 2; y_true; the label is neither 0 nor 1
    """

    def __init__(
        self, problem: str, *, source: str, row: int | None = None, column: str | None = None, hint: str = ""
    ) -> None:
        self.problem = problem
        self.source = source
        self.row = row
        self.column = column
        self.hint = hint
        where = [source]
        if row is not None:
            where.append(f"row {row}")
        if column is not None:
            where.append(f"column '{column}'")
        said = f"{', '.join(where)}: {problem}"
        super().__init__(Wording(f"{said} ({hint})", f"{said} ({on_a_page(hint)})") if hint else said)


class WarnedError(InputError):
    """The check of an owner's data warns, and nobody was there to decide; nothing was sent."""

    exit_code = WARNED_EXIT_CODE


class MissingPackageError(InputError, ImportError):
    """What was asked for needs a package that is not installed; the message says how to install it."""


class BudgetError(InputError):
    """Studies on the same data would spend more epsilon than its owner's floor allows; nothing was sent."""

    exit_code = 8


class UnsortedListError(InputError):
    """An owner sent a list that is not sorted; found inside the computation, told to owners only."""


class UndefinedResultError(PpauroraError):
    """The pooled data has no such metric.

    Examples
    --------
    >>> import ppaurora
    >>> ppaurora.evaluate([([1, 1], [0.9, 0.4]), ([1], [0.3])])
    Traceback (most recent call last):
    ...
    ppaurora.errors.UndefinedResultError: undefined: one class only
    """

    exit_code = 2


class RefusedError(PpauroraError):
    """A server refused a request; `code` is stable and explained in docs/reference.md."""

    exit_code = 2

    def __init__(self, server: str, code: str, message: str) -> None:
        self.server = server
        self.code = code
        super().__init__(f"{server} refused ({code}): {message}")


class NotReleasedError(PpauroraError):
    """The study has no result yet, or will have none until someone acts.

    Examples
    --------
    >>> import ppaurora
    >>> study = ppaurora.Study("kits/north", "corrected-2026")
    >>> try:
    ...     study.result()
    ... except ppaurora.NotReleasedError:
    ...     print("come back later")
    come back later
    """

    exit_code = 4


class NotVerifiedError(PpauroraError):
    """A receipt, a saved result or an audit log is not what was signed or written.

    Examples
    --------
    >>> import ppaurora
    >>> ppaurora.verify_receipt("/dev/null")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    ppaurora.errors.NotVerifiedError: /dev/null: does not verify: it is not a receipt ...
    """

    exit_code = 7


class ProtocolError(PpauroraError):
    """The joint computation could not be completed."""

    exit_code = 3


class PeerError(ProtocolError):
    """Another server failed or misbehaved, as seen from here; `advice` says who can do what, if known."""

    def __init__(self, peer: str, problem: str, advice: str = "") -> None:
        self.peer = peer
        self.problem = problem
        self.advice = advice
        super().__init__(f"{peer} {problem}")
        if advice:
            self.add_note(advice)


class PeerLostError(PeerError):
    """The connection to a peer ended in the middle of the computation."""


class PeerTimeoutError(PeerError):
    """A peer sent nothing for too long."""


class PeerMisbehavedError(PeerError):
    """A peer sent something that the protocol does not allow at this point."""


class PartyFailedError(ProtocolError):
    """An embedded server ended before it delivered its share of the result."""


class MisuseError(PpauroraError):
    """Our own code broke one of its rules: a stream opened twice, shares of different kinds mixed."""

    exit_code = 70


def text_of(error: BaseException) -> str:
    """Return an error's text with all of its wordings; `str` keeps that of the command line alone."""
    first = error.args[0] if error.args else ""
    return first if isinstance(first, Wording) else str(error)


def reason_of(error: BaseException) -> str:
    """Return why a connection failed, for people: as TLS says it, or the system, or the error itself."""
    said = getattr(error, "reason", None)
    verified = getattr(error, "verify_message", None)  # which of many reasons not to trust a certificate
    if verified:
        return f"{said}: {verified}" if said else str(verified)
    return said or getattr(error, "strerror", None) or str(error) or type(error).__name__


def place_of(error: BaseException) -> tuple[str, int]:
    """File and line where it was raised: what may be told when its text might quote data."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return ("?", 0) if trace is None else (Path(trace.tb_frame.f_code.co_filename).name, trace.tb_lineno)
