"""Owners' revisions in the store: the latest one counts, and either it or the first attempt comes first."""

from __future__ import annotations

import contextlib
import secrets
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NoReturn

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ppaurora.errors import PpauroraError
from ppaurora.messages.owners import HistoryEvent, StudyState, Submitted
from ppaurora.node.states import ChangedError
from ppaurora.node.store import (
    BegunError,
    Store,
    SubmissionRecord,
    SupersededError,
    TooOftenError,
)
from ppaurora.node.store import (
    store as kept,
)
from ppaurora.study.manifest import Manifest
from tests.support.trials import OWNERS


def submission(store: Store, owner: str, revision: int) -> SubmissionRecord:
    """With a file and commitments of its own."""
    path = store.shares / secrets.token_hex(8)
    path.write_bytes(b"share")
    commitments = (secrets.token_hex(32), secrets.token_hex(32))
    return SubmissionRecord(owner, 20, commitments, time.time(), path.name, revision=revision)


def agreed(submissions: Sequence[SubmissionRecord]) -> tuple[Submitted, ...]:
    return tuple(one.submitted for one in submissions)


def files(store: Store) -> set[str]:
    return {path.name for path in store.shares.iterdir() if not path.name.endswith(".about")}


def test_the_highest_revision_counts(store: Store, manifest: Manifest) -> None:
    """A replacement takes the place of what was there, with its file; nothing older comes back."""
    study = manifest.hash
    first, second, last = (submission(store, "north", revision) for revision in (1, 2, 4))
    store.submit(study, first)
    assert store.submit(study, second) == second
    assert files(store) == {second.file, last.file}
    with pytest.raises(SupersededError):
        store.submit(study, first)
    withdrawn = store.withdraw(study, "north", 3)
    assert store.withdraw(study, "north", 3) == withdrawn
    assert store.submission(study, "north") is None
    assert files(store) == {last.file}
    for stale in (first, second):
        with pytest.raises(SupersededError):
            store.submit(study, stale)
    for revision in (1, 2):
        with pytest.raises(SupersededError):
            store.withdraw(study, "north", revision)
    store.submit(study, last)
    with pytest.raises(SupersededError):
        store.withdraw(study, "north", 3)
    assert [(one.event, one.revision) for one in store.history(study)] == [
        (HistoryEvent.SUBMITTED, 1),
        (HistoryEvent.REPLACED, 2),
        (HistoryEvent.WITHDRAWN, 3),
        (HistoryEvent.SUBMITTED, 4),
    ]
    assert [one.commitments for one in store.history(study)] == [
        first.commitments,
        second.commitments,
        second.commitments,
        last.commitments,
    ]


def test_a_withdrawal_of_what_never_arrived_keeps_it_out(store: Store, manifest: Manifest) -> None:
    store.withdraw(manifest.hash, "north", 2)
    with pytest.raises(SupersededError):
        store.submit(manifest.hash, submission(store, "north", 1))
    (study,) = store.studies()
    assert store.acknowledged(study) == []


def test_all_must_be_there_when_an_attempt_begins(store: Store, manifest: Manifest) -> None:
    study = manifest.hash
    (record,) = store.studies()
    submissions = [store.submit(study, submission(store, owner, 1)) for owner in OWNERS]
    store.gather(record)
    store.withdraw(study, "north", 2)
    found = store.study(study)
    assert found is not None
    assert found.state is StudyState.COLLECTING
    with pytest.raises(ChangedError):
        store.gather(record)
    with pytest.raises(ChangedError):
        store.begin_attempt(study, 1, agreed(submissions))
    assert store.last_attempt(study) == 0
    submissions[0] = store.submit(study, submission(store, "north", 3))
    store.begin_attempt(study, 1, agreed(submissions))
    with pytest.raises(BegunError):
        store.withdraw(study, "north", 4)
    with pytest.raises(BegunError):
        store.submit(study, submission(store, "north", 4))


def test_a_history_ends(store: Store, manifest: Manifest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Receipts carry it, so one owner must not make it longer than others can read."""
    monkeypatch.setattr(kept, "_MOST_LINES", 4)
    study = manifest.hash
    for revision in (1, 2, 3):
        store.submit(study, submission(store, "north", revision))
    store.withdraw(study, "north", 4)
    with pytest.raises(TooOftenError):
        store.submit(study, submission(store, "north", 5))
    with pytest.raises(TooOftenError):
        store.withdraw(study, "north", 5)
    for revision in (1, 2, 3, 4):
        store.submit(study, submission(store, "harbour", revision))
    store.withdraw(study, "harbour", 5)
    assert store.submission(study, "harbour") is None  # what is there can always be withdrawn
    assert len(store.history(study)) == 9


def race(store: Store, folder: Path, study: str, number: int) -> tuple[bool, bool]:
    """An attempt and a withdrawal at the same moment, through two connections: which was taken."""
    submissions = [store.submit(study, submission(store, owner, 1)) for owner in OWNERS]
    start = threading.Barrier(2)

    def taken(act: Callable[[Store], object]) -> bool:
        with Store(folder) as own:
            start.wait()
            with contextlib.suppress(ChangedError, BegunError):
                act(own)
                return True
        return False

    with ThreadPoolExecutor(2) as pool:
        attempt = pool.submit(taken, lambda own: own.begin_attempt(study, number, agreed(submissions)))
        withdrawal = pool.submit(taken, lambda own: own.withdraw(study, "north", 2))
        return attempt.result(), withdrawal.result()


def test_exactly_one_of_an_attempt_and_a_withdrawal_comes_first(tmp_path: Path, manifest: Manifest) -> None:
    for number in range(30):
        folder = tmp_path / str(number)
        with Store(folder) as store:
            store.accept(manifest)
            began, withdrawn = race(store, folder, manifest.hash, 1)
            assert began != withdrawn
            assert store.has_begun(manifest.hash) is began
            assert (store.submission(manifest.hash, "north") is None) is withdrawn


def test_an_attempt_that_does_not_look_would_be_noticed(
    tmp_path: Path, manifest: Manifest, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Store, "_has_exactly", lambda *_: True)
    both = 0
    for number in range(30):
        with Store(tmp_path / str(number)) as store:
            store.accept(manifest)
            both += race(store, tmp_path / str(number), manifest.hash, 1) == (True, True)
    assert both


class Model:
    """What must hold, by hand: every owner's last word, and whether an attempt has begun."""

    def __init__(self) -> None:
        self.latest: dict[str, tuple[int, str]] = {}  # revision, and a file's name, empty if withdrawn
        self.begun = False
        self.lines = 0

    def refuses(self, owner: str, revision: int) -> bool:
        """Something new of an owner."""
        known, _ = self.latest.get(owner, (0, ""))
        return revision <= known or self.begun

    def takes(self, owner: str, revision: int, file: str) -> None:
        self.latest[owner] = (revision, file)
        self.lines += 1

    @property
    def complete(self) -> bool:
        return all(self.latest.get(owner, (0, ""))[1] for owner in OWNERS)


STEPS = st.lists(
    st.tuples(
        st.sampled_from(["submit", "submit", "withdraw", "begin", "restart"]),
        st.sampled_from(OWNERS),
        st.integers(1, 4),
    ),
    max_size=25,
)


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(steps=STEPS)
def test_the_store_does_what_the_model_says(
    tmp_path_factory: pytest.TempPathFactory, manifest: Manifest, steps: list[tuple[str, str, int]]
) -> None:
    folder, model, study = tmp_path_factory.mktemp("model") / "data", Model(), manifest.hash
    with Store(folder) as store:
        store.accept(manifest)
    for what, owner, revision in steps:
        with Store(folder) as store:
            (record,) = store.studies()
            if what == "submit":
                offered = submission(store, owner, revision)
                refused = raised(lambda: store.submit(study, offered))  # noqa: B023
                assert refused == model.refuses(owner, revision)
                if not refused:
                    assert offered.file is not None
                    model.takes(owner, revision, offered.file)
            elif what == "withdraw":
                again = model.latest.get(owner) == (revision, "")
                refused = raised(lambda: store.withdraw(study, owner, revision))  # noqa: B023
                assert refused == (model.refuses(owner, revision) and not again)
                if not refused and not again:
                    model.takes(owner, revision, "")
            elif what == "begin":
                submissions = store.acknowledged(record)
                began = len(submissions) == len(OWNERS)
                assert began == model.complete
                if began and not model.begun:
                    store.begin_attempt(study, 1, agreed(submissions))
                    model.begun = True
            else:
                store.remove_strays()
            held = {word.owner: (word.revision, word.file or "") for word in store.latest_revisions(record)}
            assert held == model.latest
            assert {file for _, file in model.latest.values() if file} <= files(store)
            assert len(store.history(study)) == model.lines


def raised(act: Callable[[], object]) -> bool:
    try:
        act()
    except PpauroraError:
        return True
    return False


def test_what_a_crash_leaves_of_a_replacement_is_a_stray(
    store: Store, manifest: Manifest, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The row is durable before the old file goes."""
    first, second = (submission(store, "north", revision) for revision in (1, 2))
    store.submit(manifest.hash, first)

    def die(*_: object) -> NoReturn:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Store, "_delete_file", die)
        with pytest.raises(KeyboardInterrupt):
            store.submit(manifest.hash, second)
    assert store.submission(manifest.hash, "north") == second
    assert files(store) == {first.file, second.file}
    assert store.remove_strays() == 2  # and what was said of it
    assert files(store) == {second.file}
