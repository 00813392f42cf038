"""The audit log: told in plain words, and whoever cuts or edits it is noticed."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import sqlite3
import stat
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from ppaurora.io.times import as_time
from ppaurora.node import audit
from ppaurora.node.audit import CheckedLog, KeptLine, check_log, make_entry, problem_with_head, read_entry
from ppaurora.node.store import Store
from ppaurora.node.store import audit as writing
from ppaurora.node.store.audit import CHANGED, COMPLETED
from ppaurora.study.manifest import Manifest
from tests.support.deployment import command
from tests.support.repository import ROOT
from tests.support.trials import PAIR, RunCommand, Trials, becomes, part

TEXTS = [f"entry number {number}, “straße”" for number in range(1, 9)]


@pytest.fixture
def kept(tmp_path: Path) -> Store:
    """With some entries."""
    with Store(tmp_path / "kept") as store:
        for text in TEXTS:
            store.record(text)
    return Store(tmp_path / "kept")


def checked(store: Store) -> CheckedLog:
    return check_log(*store.audit_log())


def lines_of(store: Store) -> list[bytes]:
    return store.audit_file.read_bytes().splitlines(keepends=True)


def test_entries_are_told_in_order(kept: Store) -> None:
    found = checked(kept)
    assert (found.problem, found.waiting) == ("", 0)
    assert [entry.text for entry in found.entries] == TEXTS
    assert stat.S_IMODE(kept.audit_file.stat().st_mode) == 0o600
    assert kept.audit_head() == found.entries[-1].head
    assert [entry.entry for entry in found.entries] == list(range(1, 9))


def test_every_field_of_every_line_in_turn(kept: Store) -> None:
    lines = lines_of(kept)
    for number, line in enumerate(lines):
        content = json.loads(line)
        for name, value in content.items():
            for other in (value + 1, None) if isinstance(value, int) else (value[:-1] + "1", value + "1", ""):
                if other == value:
                    continue
                edited = json.dumps({**content, name: other}, ensure_ascii=False, separators=(",", ":"))
                kept.audit_file.write_bytes(
                    b"".join([*lines[:number], edited.encode() + b"\n", *lines[number + 1 :]])
                )
                assert checked(kept).problem.startswith(f"line {number + 1} is not as"), (number, name)
    kept.audit_file.write_bytes(b"".join(lines))
    assert checked(kept).problem == ""


def rehashed(lines: list[bytes], number: int, text: str) -> list[bytes]:
    """By somebody who knows how: from this line on everything fits again."""
    head = read_entry(lines[number - 1].decode().rstrip("\n")).head
    new = list(lines[:number])
    for place in range(number, len(lines)):
        old = read_entry(lines[place].decode().rstrip("\n"))
        line = make_entry(head, old.time, text if place == number else old.text)
        head = read_entry(line).head
        new.append(line.encode() + b"\n")
    return new


MISUSES: dict[str, tuple[Callable[[list[bytes]], list[bytes]], str]] = {
    "the first removed": (lambda lines: lines[1:], "line 1 does not follow after line 0"),
    "one removed": (lambda lines: [*lines[:3], *lines[4:]], "line 4 does not follow after line 3"),
    "two exchanged": (
        lambda lines: [*lines[:2], lines[3], lines[2], *lines[4:]],
        "line 3 does not follow after line 2",
    ),
    "one twice": (lambda lines: [*lines[:3], lines[2], *lines[3:]], "line 4 does not follow after line 3"),
    "the last cut": (lambda lines: lines[:-1], "it was cut off: it ends with entry 7"),
    "three cut": (lambda lines: lines[:-3], "it was cut off: it ends with entry 5"),
    "all cut": (lambda lines: [], "it was cut off: it ends with entry 0"),
    "half of the last cut": (lambda lines: [*lines[:-1], lines[-1][:40]], "it was cut off"),
    "the last end cut": (lambda lines: [*lines[:-1], lines[-1][:-1]], "it was cut off"),
    "a piece added": (lambda lines: [*lines, b'{"entry":9'], "line 9 has no end"),
    "an empty line": (lambda lines: [*lines[:4], b"\n", *lines[4:]], "line 5 is not as"),
    "not UTF-8": (lambda lines: [*lines[:4], b"\xff\n", *lines[5:]], "line 5 is not as"),
    "one added that fits": (
        lambda lines: [
            *lines,
            make_entry(read_entry(lines[-1].decode()[:-1]).head, as_time(0), "x").encode() + b"\n",
        ],
        "line 9 is the first of those that were added by somebody else",
    ),
    "written anew from the middle": (
        lambda lines: rehashed(lines, 4, "nothing happened"),
        "line 8 is another than this node wrote",
    ),
    "one written anew, with its own hash": (
        lambda lines: [*rehashed(lines, 4, "nothing happened")[:5], *lines[5:]],
        "line 6 does not follow after line 5",
    ),
}


@pytest.mark.parametrize("name", MISUSES)
def test_a_cut_or_edited_log_is_noticed(name: str, kept: Store) -> None:
    misuse, says = MISUSES[name]
    kept.audit_file.write_bytes(b"".join(misuse(lines_of(kept))))
    assert checked(kept).problem.startswith(says)


def test_a_node_goes_on_after_misuse_and_the_log_still_tells_of_it(kept: Store) -> None:
    lines = lines_of(kept)
    kept.audit_file.write_bytes(b"".join([*lines[:-2], b"half a li"]))
    kept.record("later")
    texts = [json.loads(line)["text"] for line in lines_of(kept)[-2:]]
    assert texts == ["later", CHANGED]
    assert checked(kept).problem.startswith("line 7 is not as")
    kept.record("and later")
    assert json.loads(lines_of(kept)[-1])["text"] == "and later", "it is told once"


def test_without_hashes_an_edit_would_pass(kept: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """The control."""
    lines = lines_of(kept)
    edited = lines[3].replace(b"number 4", b"number 5")
    kept.audit_file.write_bytes(b"".join([*lines[:3], edited, *lines[4:]]))
    assert checked(kept).problem
    monkeypatch.setattr(audit.Entry, "expected_hash", lambda entry: entry.hash)
    assert checked(kept).problem == ""


@pytest.mark.parametrize("written", [0, 1, 30, -1, None])
@pytest.mark.parametrize("entries", [1, 3])
def test_what_a_crash_has_torn_is_completed(
    kept: Store, written: int | None, entries: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The power is cut when some bytes of the new lines are in the file, or all, and nothing more."""
    before = lines_of(kept)
    with monkeypatch.context() as crash:
        crash.setattr(writing, "_append", refuse)
        for number in range(entries):
            kept.record(f"new {number}")
        assert checked(kept).waiting == entries
    waiting = b"".join(line.encode() + b"\n" for line in waiting_lines(kept))
    kept.audit_file.write_bytes(b"".join(before) + waiting[:written])
    kept.close()
    with Store(kept.audit_file.parent) as store:
        assert checked(store).problem == "", "it is not taken for misuse"
        store.record("after the crash")
        found = checked(store)
    told = [] if written == 0 else [COMPLETED]
    assert (found.problem, found.waiting) == ("", 0)
    new = [f"new {number}" for number in range(entries)]
    assert [entry.text for entry in found.entries][8:] in (
        [*new, "after the crash", *told],
        [*new, *told, "after the crash"],
    )


def refuse(*_: object) -> str:
    raise OSError(errno.ENOSPC, "no space left")


def waiting_lines(store: Store) -> list[str]:
    with sqlite3.connect(store.audit_file.with_name("node.db")) as db:
        return [row[0] for row in db.execute("SELECT line FROM audit WHERE NOT written ORDER BY entry")]


def test_a_full_disk_keeps_entries_waiting(kept: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """The node goes on; half a line is in the file, and completed when there is room."""
    real = os.write

    def half(descriptor: int, content: bytes) -> int:
        if not content.startswith(b'{"entry":9'):
            return refuse()  # type: ignore[return-value]
        return real(descriptor, content[:20])

    with monkeypatch.context() as full:
        full.setattr(os, "write", half)
        kept.record("no room")
        kept.record("still none")
    found = checked(kept)
    assert (found.problem, found.waiting, len(found.entries)) == ("", 2, 8)
    kept.record("room again")
    found = checked(kept)
    assert (found.problem, found.waiting) == ("", 0)
    assert [entry.text for entry in found.entries][8:] == ["no room", "still none", "room again", COMPLETED]


def test_what_is_not_done_is_not_told(store: Store, manifest: Manifest) -> None:
    """An entry is a part of the transaction that it tells of."""

    def fail() -> None:
        with store._transaction():
            store.record("this will not have happened")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    texts = [entry.text for entry in checked(store).entries]
    assert texts == [f"trial: the operator accepted the manifest {manifest.hash}"]


def test_processes_beside_each_other(tmp_path: Path) -> None:
    Store(tmp_path / "data").close()
    program = [sys.executable, "-m", "tests.support.record_many", str(tmp_path / "data")]
    beside = [subprocess.Popen([*program, name, "10"], cwd=ROOT) for name in "abcd"]
    assert [process.wait() for process in beside] == [0] * 4
    with Store(tmp_path / "data") as store:
        store.record("in the end")
        found = checked(store)
    assert (found.problem, found.waiting) == ("", 0)
    for name in "abcd":
        told = [entry.text for entry in found.entries if entry.text.startswith(name)]
        assert told == [f"{name} {number}" for number in range(10)]


def test_what_another_process_records_meanwhile_is_not_waited_for(
    kept: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The file is locked once, whatever is in the database by then; all of it is told in the end."""
    append, locked, times = writing._append, writing._locked, 0
    other = Store(kept._file.parent)
    other._has_locked_file = True  # it would wait for the file now

    def append_beside_another(descriptor: int, lines: Sequence[KeptLine]) -> str:
        if other.audit_head().entries == len(TEXTS) + 1:
            other.record("of another")
        return append(descriptor, lines)

    def count(path: Path) -> contextlib.AbstractContextManager[int]:
        nonlocal times
        times += 1
        return locked(path)

    monkeypatch.setattr(writing, "_append", append_beside_another)
    monkeypatch.setattr(writing, "_locked", count)
    kept.record("own")
    assert times == 1
    kept.record("later")
    found = checked(kept)
    assert (found.problem, found.waiting) == ("", 0)
    assert [entry.text for entry in found.entries][-3:] == ["own", "of another", "later"]
    other.close()


def test_a_course_in_plain_words(store: Store, manifest: Manifest) -> None:
    study = manifest.hash
    store.begin_attempt(study, 1)
    store.fail_attempt(study, 1, "proxy 1 sent nothing for 10 seconds")
    store.begin_attempt(study, 2)
    store.abort(study, "this node's operator aborted the attempt")
    store.retry(study)
    store.begin_attempt(study, 3)
    store.computed(study, 3, {owner: part([0, 1, 2, 3]) for owner in PAIR})
    store.release(study, 3)
    store.confirm_time(0.0)
    store.expire(study)
    assert [entry.text for entry in checked(store).entries] == [
        f"trial: the operator accepted the manifest {study}",
        "trial: attempt 1 began",
        "trial: attempt 1 failed: proxy 1 sent nothing for 10 seconds",
        "trial: attempt 2 began",
        "trial: stopped: this node's operator aborted the attempt",
        "trial: the operator aborted attempt 2",
        "trial: the operator let it go on",
        "trial: attempt 3 began",
        "trial: attempt 3 was computed",
        "trial: released, with attempt 3",
        "the operator confirmed that the machine's clock is right: 1970-01-01T00:00:00Z",
        "trial: its time is over: 0 shares and the parts of its result were deleted",
    ]


def test_a_log_that_was_written_anew_does_not_fit_a_receipt(kept: Store) -> None:
    found = checked(kept)
    assert problem_with_head(found.entries, found.entries[4].head) == ""
    assert "had 8 when" in problem_with_head(found.entries[:7], found.entries[7].head)
    anew = [read_entry(line.decode()[:-1]) for line in rehashed(lines_of(kept), 4, "nothing happened")]
    assert problem_with_head(anew, found.entries[3].head) == ""
    assert "entry 5 or one before it is another" in problem_with_head(anew, found.entries[4].head)


def test_the_command_prints_and_verifies(nodes: Trials, run: RunCommand, manifest: Manifest) -> None:
    """Beside nodes that run; a submission that was refused is told once."""
    kit = nodes.kit("proxy-0")
    study = nodes.study("audited")
    upload = nodes.upload(study)
    upload.send(nodes.client("north", study))
    other = nodes.upload(study)
    for _ in range(3):
        assert nodes.refusal(lambda: other.send(nodes.client("north", study))) == "conflict"

    def told() -> list[str]:
        code, said = run("audit", kit, "--format", "json")
        content: dict[str, Any] = json.loads(said)
        assert (code, content["verified"], content["problem"]) == (0, True, "")
        return [entry["text"] for entry in content["entries"] if entry["text"].startswith("audited: ")]

    expected = [
        f"audited: the operator accepted the manifest {study.hash}",
        "audited: north submitted 20 samples",
        "audited: a request of north was refused (conflict)",
    ]
    assert becomes(lambda: told() == expected), told()
    code, said = run("audit", kit)
    assert (code, f"audited: the operator accepted the manifest {study.hash}" in said) == (0, True)
    assert "verified: " in said


def test_the_command_refuses_a_log_that_was_cut(consortium: Trials, tmp_path: Path, run: RunCommand) -> None:
    trials = Trials(tmp_path, PAIR)
    trials.accept()
    kit = trials.kit("helper")
    assert run("audit", kit)[0] == 0
    (kit / "data/audit.log").write_bytes(b"")
    code, said = run("audit", kit)
    assert code == 7
    assert "audit.log: does not verify: it was cut off: it ends with entry 0" in said
    done = command("audit", kit, "--format", "json")
    assert (done.returncode, json.loads(done.stdout)["verified"]) == (7, False)
