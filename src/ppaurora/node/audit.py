"""Entries of a node's audit log, and whether a log is as the node wrote it.

Every entry has the hash of the one before it. So whoever changes, removes or moves one has to change all that
follow; and the last one the node keeps in its database as well, and in every receipt that it signs.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Self

import msgspec

from ppaurora.io.models import StrictModel, canonical_json, from_json, to_json
from ppaurora.io.times import Time
from ppaurora.messages.owners import AuditHead, Count, Digest

BEGINNING = AuditHead(entries=0, hash="0" * 64)
_CONTEXT = b"ppaurora audit 1\0"
_MOST_SHOWN = 20

# What entries say of a study, where a node that was rolled back has to understand its own log.
ACCEPTED = "the operator accepted the manifest"
SUBMITTED = "{} submitted {} samples"
REPLACED = f"{SUBMITTED} in place of what it had submitted"
ATTEMPT_BEGAN = "attempt {} began"
RELEASED_WITH = "released, with attempt {}"
TIME_IS_OVER = "its time is over"
OPERATOR_DELETED = "the operator deleted it"
STOPPED = "stopped: {}"
ENTRIES_LOST = "entries of this log were lost"


class Entry(StrictModel):
    """One line of the log."""

    entry: Count  # its number, from 1 on
    time: Time
    text: str
    previous: Digest  # the hash of the entry before
    hash: Digest

    @property
    def head(self) -> AuditHead:
        return AuditHead(entries=self.entry, hash=self.hash)

    def expected_hash(self) -> str:
        content = {name: getattr(self, name) for name in ("entry", "time", "text", "previous")}
        return hashlib.sha256(_CONTEXT + canonical_json(content)).hexdigest()


@dataclass(frozen=True)
class KeptLine:
    """An entry as the node's database has it."""

    line: str
    written: bool  # whether it is known to be in the file


@dataclass(frozen=True)
class CheckedLog:
    """The entries up to the first that is not in order, and what is wrong with that."""

    entries: tuple[Entry, ...]
    problem: str = ""
    waiting: int = 0  # entries that are not in the file yet


def make_entry(head: AuditHead, time: Time, text: str) -> str:
    """Return the line that follows after `head`."""
    entry = Entry(entry=head.entries + 1, time=time, text=text, previous=head.hash, hash=BEGINNING.hash)
    return to_json(msgspec.structs.replace(entry, hash=entry.expected_hash())).decode()


def read_entry(line: str) -> Entry:
    """Return a line as an entry; raise ValueError for what no node has written."""
    entry = from_json(Entry, line)
    if to_json(entry).decode() != line or entry.hash != entry.expected_hash():
        raise ValueError("is not as it was written")
    return entry


def check_log(content: bytes, kept: Sequence[KeptLine]) -> CheckedLog:
    """Check the file of a log against what the node's database has of its end."""
    *lines, torn = content.split(b"\n")
    entries: list[Entry] = []
    head = BEGINNING
    for number, line in enumerate(lines, start=1):
        try:
            entry = read_entry(line.decode())
        except ValueError:
            return CheckedLog(tuple(entries), f"line {number} is not as this node wrote it")
        if entry.entry != number or entry.previous != head.hash:
            problem = (
                f"line {number} does not follow after line {number - 1}: an entry is missing, or was moved"
            )
            return CheckedLog(tuple(entries), problem)
        entries.append(entry)
        head = entry.head
    return CheckedLog(tuple(entries), _problem_with_end(lines, torn, kept), _waiting(lines, kept))


def _problem_with_end(lines: Sequence[bytes], torn: bytes, kept: Sequence[KeptLine]) -> str:
    """A line that a crash has torn is the beginning of one that waits; any other end was not the node's."""
    known = {read_entry(one.line).entry: one for one in kept}
    last = max(known, default=0)
    if len(lines) > last:
        return f"line {last + 1} is the first of those that were added by somebody else"
    for number, one in known.items():
        if number > len(lines) and one.written:
            return f"it was cut off: it ends with entry {len(lines)}, and this node has written {last}"
        if number <= len(lines) and lines[number - 1] != one.line.encode():
            return f"line {number} is another than this node wrote: the log was written anew"
    awaited = known.get(len(lines) + 1)
    if torn and (awaited is None or not awaited.line.encode().startswith(torn)):
        return f"line {len(lines) + 1} has no end, and is not the beginning of what this node wrote"
    return ""


def _waiting(lines: Sequence[bytes], kept: Sequence[KeptLine]) -> int:
    return sum(read_entry(one.line).entry > len(lines) for one in kept)


def problem_with_head(entries: Sequence[Entry], head: AuditHead) -> str:
    """Return why a log is not the one that had this end when a receipt was signed; nothing if it is."""
    if head.entries > len(entries):
        return f"it has {len(entries)} entries, and had {head.entries} when the receipt was signed"
    if head.entries and entries[head.entries - 1].hash != head.hash:
        return f"entry {head.entries} or one before it is another than when the receipt was signed"
    return ""


@dataclass(frozen=True)
class StudyEntries:
    """What entries tell of one study, by their texts, and whether they are all that there were."""

    texts: tuple[str, ...]
    are_all: bool = True

    @classmethod
    def of(cls, study: str, entries: Iterable[Entry], *, are_all: bool = True) -> Self:
        beginning = f"{study}: "
        texts = [entry.text for entry in entries]
        found = tuple(text.removeprefix(beginning) for text in texts if text.startswith(beginning))
        return cls(found, are_all and ENTRIES_LOST not in texts)

    @property
    def shown(self) -> list[str]:
        """Return them for people: the last of them, without those that repeat what came before."""
        return [text for text in self.texts if not text.startswith(STOPPED.format(""))][-_MOST_SHOWN:]

    @property
    def accepted(self) -> str:
        """Return the hash of the manifest that was accepted last; empty if none was."""
        found = [text for text in self.texts if text.startswith(ACCEPTED)]
        return found[-1].removeprefix(ACCEPTED).strip() if found else ""

    @property
    def attempts(self) -> list[int]:
        """Return the numbers of the attempts that began."""
        return [int(number) for text in self.texts for number in _values(ATTEMPT_BEGAN, text)]

    @property
    def release(self) -> str:
        """Return the entry that tells of the release; empty if there is none."""
        return next((text for text in self.texts if _values(RELEASED_WITH, text)), "")

    @property
    def released_attempt(self) -> int | None:
        """Return the attempt that was released; None if none was."""
        return next((int(number) for number in _values(RELEASED_WITH, self.release)), None)

    @property
    def deletion(self) -> str:
        """Return the entry that tells that everything was deleted; empty if there is none."""
        return next((text for text in self.texts if text.startswith((TIME_IS_OVER, OPERATOR_DELETED))), "")

    @property
    def are_submissions_alone(self) -> bool:
        """Return whether there is nothing but submissions, whose shares are taken back in from disk."""
        others = [text for text in self.texts if not text.startswith(ACCEPTED)]
        return self.are_all and all(_values(SUBMITTED, text) or _values(REPLACED, text) for text in others)


def _values(form: str, text: str) -> tuple[str, ...]:
    """Return what stands in the gaps of a form; nothing if the text has another one."""
    found = re.fullmatch(re.escape(form).replace(re.escape("{}"), r"(\S+)"), text)
    return found.groups() if found else ()
