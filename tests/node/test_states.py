"""What may follow what: the documented tables are the code's, and the store keeps to them."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping
from enum import StrEnum
from pathlib import Path

import numpy as np
import pytest

from ppaurora.errors import InputError, PpauroraError
from ppaurora.messages.owners import StudyState
from ppaurora.node import store as store_package
from ppaurora.node.states import ATTEMPT_CHANGES, STUDY_CHANGES, AttemptState, StaleAttemptError, StateError
from ppaurora.node.store import Store, SubmissionRecord
from ppaurora.sharing.stages import ResultShare
from ppaurora.study.manifest import Manifest
from tests.support.repository import ROOT

ARCHITECTURE = ROOT / "ARCHITECTURE.md"
OVER = {StudyState.EXPIRED, StudyState.DELETED}
PART = ResultShare(np.arange(4, dtype=np.uint64).reshape(2, 2))


def documented(heading: str) -> dict[tuple[str, str], str]:
    """A table with the columns from, to, when, under a heading of ARCHITECTURE.md."""
    section = ARCHITECTURE.read_text().split(f"### {heading}\n")[1].split("\n#")[0]
    lines = [line.strip("| ").split(" | ") for line in section.splitlines() if line.startswith("|")]
    rows = [[cell.strip("` ") for cell in line] for line in lines]
    assert rows[0] == ["from", "to", "when"]
    found = {(source, target): when for source, target, when in rows[2:]}
    assert len(found) == len(rows) - 2
    return found


@pytest.mark.parametrize(
    ("heading", "changes"),
    [("States of a study", STUDY_CHANGES), ("States of an attempt", ATTEMPT_CHANGES)],
)
def test_the_documented_table_is_the_code(
    heading: str, changes: Mapping[tuple[StrEnum, StrEnum], str]
) -> None:
    assert documented(heading) == {(a.value, b.value): when for (a, b), when in changes.items()}


def test_states_are_written_in_two_places_only() -> None:
    """No statement changes a state but the two guarded functions, and the rows that begin."""
    statements = [
        statement
        for path in Path(store_package.__file__).parent.parent.rglob("*.py")
        for statement in re.findall(r"UPDATE (?:studies|attempts) SET state", path.read_text())
    ]
    assert sorted(statements) == ["UPDATE attempts SET state", "UPDATE studies SET state"]


def bring_to(store: Store, study: str, state: StudyState) -> None:
    """By the shortest allowed way."""
    ways: dict[StudyState, list[Callable[[], object]]] = {
        StudyState.COLLECTING: [],
        StudyState.RUNNING: [lambda: store.begin_attempt(study, 1)],
        StudyState.STOPPED: [lambda: store.set_state(study, StudyState.STOPPED, "a person must look")],
        StudyState.RELEASED: [
            lambda: store.begin_attempt(study, 1),
            lambda: store.computed(study, 1, {"north": PART}),
            lambda: store.release(study, 1),
        ],
        StudyState.EXPIRED: [lambda: store.expire(study)],
        StudyState.DELETED: [lambda: store.delete(study, "an operator did")],
    }
    for step in ways[state]:
        step()
    found = store.study(study)
    assert found is not None
    assert found.state is state


@pytest.mark.parametrize("source", StudyState)
@pytest.mark.parametrize("target", StudyState)
def test_only_what_the_table_has_is_done(
    store: Store, manifest: Manifest, source: StudyState, target: StudyState
) -> None:
    bring_to(store, manifest.hash, source)
    before = store.study(manifest.hash)
    if (source, target) in STUDY_CHANGES:
        store.set_state(manifest.hash, target, "changed")
        after = store.study(manifest.hash)
        assert after is not None
        assert (after.state, after.note) == (target, "changed")
        ends = (StudyState.RELEASED, StudyState.EXPIRED, StudyState.DELETED)
        assert (after.ended_at is not None) == (target in ends or source in ends)
    else:
        with pytest.raises(StateError):
            store.set_state(manifest.hash, target, "changed")
        assert store.study(manifest.hash) == before


@pytest.mark.parametrize("state", StudyState)
def test_each_operation_keeps_to_its_own_states(store: Store, manifest: Manifest, state: StudyState) -> None:
    """A stopped study does not go on because an attempt is begun, nor one that is over."""
    study = manifest.hash
    submission = SubmissionRecord("north", 20, ("0" * 64, "1" * 64), time.time())
    operations: list[tuple[Callable[[], object], set[StudyState]]] = [
        (lambda: store.submit(study, submission), {StudyState.COLLECTING}),
        (lambda: store.begin_attempt(study, 9), {StudyState.COLLECTING, StudyState.RUNNING}),
        (lambda: store.retry(study), {StudyState.STOPPED}),
        (lambda: store.release(study, 1), {StudyState.RELEASED}),  # elsewhere it has no results
        (lambda: store.withdraw(study, "north", 2), {StudyState.COLLECTING, StudyState.STOPPED}),
        (lambda: store.stop(study, "an operator"), {StudyState.COLLECTING, StudyState.RUNNING}),
        (lambda: store.delete(study, "an operator"), set(StudyState) - OVER),
        (lambda: store.expire(study), set(StudyState) - OVER),
    ]
    bring_to(store, study, state)
    before = store.study(study)
    for operation, allowed in operations:
        if state not in allowed:
            with pytest.raises(PpauroraError):
                operation()
            assert store.study(study) == before
    for operation, allowed in operations:
        if state in allowed:
            operation()
            break


def test_an_attempt_ends_once(store: Store, manifest: Manifest) -> None:
    study = manifest.hash
    store.begin_attempt(study, 1)
    store.fail_attempt(study, 1, "cut off")
    store.fail_attempt(study, 1, "cut off again")
    found = store.study(study)
    assert found is not None
    assert (found.failures, found.note) == (1, "cut off")
    with pytest.raises(StaleAttemptError):
        store.computed(study, 1, {"north": PART})
    with pytest.raises(StaleAttemptError):
        store.release(study, 1)
    assert store.attempt_state(study, 1) is AttemptState.FAILED
    assert store.attempt_state(study, 2) is None
    assert store.result(study, "north") is None


def test_an_operator_lets_a_study_go_on_where_it_was(store: Store, manifest: Manifest) -> None:
    """Before any attempt it collects again, for somebody may not have submitted here; later it runs."""
    study = manifest.hash
    with pytest.raises(InputError, match="nothing to retry"):
        store.retry(study)
    for begun, expected in ((False, StudyState.COLLECTING), (True, StudyState.RUNNING)):
        if begun:
            store.begin_attempt(study, 1)
            store.fail_attempt(study, 1, "cut off")
        store.set_state(study, StudyState.STOPPED, "look")
        store.retry(study)
        found = store.study(study)
        assert found is not None
        assert (found.state, found.note, found.failures) == (expected, "", 0)


def test_attempts_are_spent_by_failing_or_by_coming_to_nothing(store: Store, manifest: Manifest) -> None:
    """A restart of the node spends none; the operator's retry counts from the beginning."""
    study = manifest.hash
    store.begin_attempt(study, 1)
    assert store.spent_attempts(study) == 1
    store.fail_attempt(study, 1, "cut off")
    assert store.spent_attempts(study) == 1
    store.begin_attempt(study, 2)
    store.fail_interrupted()
    assert store.spent_attempts(study) == 1
    store.begin_attempt(study, 3)
    store.computed(study, 3, {"north": PART})
    store.begin_attempt(study, 4)
    assert store.spent_attempts(study) == 3
    store.set_state(study, StudyState.STOPPED, "look")
    store.retry(study)
    assert store.spent_attempts(study) == 0
    with pytest.raises(StaleAttemptError):
        store.computed(study, 4, {"north": PART})  # it ran all the while, and counts for nothing
    assert store.spent_attempts(study) == 0
    with pytest.raises(StaleAttemptError):
        store.release(study, 3)


def bring_attempt_to(store: Store, study: str, state: AttemptState) -> None:
    """The first attempt, by the shortest allowed way."""
    store.begin_attempt(study, 1)
    if state is AttemptState.FAILED:
        store.fail_attempt(study, 1, "cut off")
    if state in (AttemptState.COMPUTED, AttemptState.RELEASED):
        store.computed(study, 1, {"north": PART})
    if state is AttemptState.RELEASED:
        store.release(study, 1)
    assert store.attempt_state(study, 1) is state


@pytest.mark.parametrize("source", AttemptState)
@pytest.mark.parametrize("target", AttemptState)
def test_only_what_the_table_of_attempts_has_is_done(
    store: Store, manifest: Manifest, source: AttemptState, target: AttemptState
) -> None:
    bring_attempt_to(store, manifest.hash, source)
    if (source, target) in ATTEMPT_CHANGES:
        store._set_attempt_state(manifest.hash, 1, target)
        assert store.attempt_state(manifest.hash, 1) is target
    else:
        with pytest.raises(StaleAttemptError):
            store._set_attempt_state(manifest.hash, 1, target)
        assert store.attempt_state(manifest.hash, 1) is source
    with pytest.raises(StaleAttemptError, match="not known here"):
        store._set_attempt_state(manifest.hash, 2, target)
