"""A database that is older than what its node has done: noticed at a start, told of, and gone on from."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import hashlib
import shutil
import sqlite3
import struct
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import msgspec
import numpy as np
import pytest

from ppaurora.errors import InputError
from ppaurora.messages.owners import StudyState
from ppaurora.node.audit import check_log
from ppaurora.node.states import AttemptState, StaleAttemptError
from ppaurora.node.store import (
    BegunError,
    ClosedError,
    DamagedDatabaseError,
    NeedsRecoveryError,
    RolledBackError,
    Store,
    SubmissionRecord,
    recover_folder,
    trouble_of,
)
from ppaurora.node.store.database import Database
from ppaurora.node.store.descriptions import ShareDescription, describe
from ppaurora.node.store.mark import Mark, Reached
from ppaurora.node.store.rollback import find_rollback, keep_as_found
from ppaurora.study.manifest import Manifest
from tests.support.trials import RunCommand, Trials, kept_share, part

_WAL_HEADER, _FRAME_HEADER = 32, 24


def submitted(store: Store, manifest: Manifest, owner: str = "harbour") -> SubmissionRecord:
    """A share in its file, and the row that names it."""
    share = owner.encode() * 40
    file = hashlib.sha256(share).hexdigest()[:32]
    (store.shares / file).write_bytes(share)
    record = SubmissionRecord(
        owner, 40, (hashlib.sha256(share).hexdigest(), "0" * 64), store.now(), file=file
    )
    return store.submit(manifest.hash, record)


@pytest.fixture
def killed(store: Store, manifest: Manifest, tmp_path: Path) -> Callable[[], Path]:
    """Copies of the data folder of a killed node: what it did last is in the write-ahead log only."""
    store._db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    submitted(store, manifest)
    kept_share(store, manifest)
    numbers = iter(range(1_000_000))

    def copy() -> Path:
        folder = tmp_path / f"killed-{next(numbers)}"
        shutil.copytree(store.shares.parent, folder)
        return folder

    return copy


def without_its_log(store: Store, folder: Path) -> Path:
    """The data folder of a node that was killed, in this folder: what came since the checkpoint is lost."""
    shutil.copytree(store.shares.parent, folder)
    (folder / "node.db-wal").unlink()
    return folder


def owners(store: Store, manifest: Manifest) -> list[str]:
    study = store.study(manifest.hash)
    return [] if study is None else [one.owner for one in store.submissions(study)]


def test_a_folder_as_the_kill_left_it_has_everything(killed: Callable[[], Path], manifest: Manifest) -> None:
    with Store(killed()) as store:
        assert sorted(owners(store, manifest)) == ["harbour", "north"]


def frames(wal: bytes) -> Iterator[int]:
    """Where the frames of a write-ahead log begin."""
    (page,) = struct.unpack(">I", wal[8:12])
    yield from range(_WAL_HEADER, len(wal), _FRAME_HEADER + page)


def is_noticed(folder: Path, manifest: Manifest) -> bool:
    """Whether it is refused, with every file as it was; else nothing may be missing."""
    files = [path for path in folder.rglob("*") if path.is_file() and "-shm" not in path.name]
    before = [path.read_bytes() for path in files]
    try:
        with Store(folder) as store:
            assert sorted(owners(store, manifest)) == ["harbour", "north"]
    except RolledBackError as error:
        refusal = error
    else:
        return False
    assert refusal.exit_code == 2
    assert "was rolled back" in str(refusal)
    assert "north submitted" in str(refusal) or not (folder / "audit.log").exists()
    assert [path.read_bytes() for path in files] == before
    return True


def test_a_write_ahead_log_that_was_cut_anywhere_is_noticed(
    killed: Callable[[], Path], manifest: Manifest
) -> None:
    whole = (killed() / "node.db-wal").read_bytes()
    noticed = []
    for place in (0, 10, _WAL_HEADER, *(at + more for at in frames(whole) for more in (0, 12, 500))):
        folder = killed()
        (folder / "node.db-wal").write_bytes(whole[:place])
        noticed.append(is_noticed(folder, manifest))
    assert all(noticed[:-6])  # what follows the last change is that the audit log has it
    folder = killed()
    (folder / "node.db-wal").unlink()
    assert is_noticed(folder, manifest)


def test_a_flipped_bit_in_any_frame_is_noticed(killed: Callable[[], Path], manifest: Manifest) -> None:
    """Of what follows the last commit, nothing is needed."""
    whole = (killed() / "node.db-wal").read_bytes()
    noticed = 0
    for place in [3, 17, 25, *(at + more for at in frames(whole) for more in (0, 9, 17, 100, 3_000))]:
        folder = killed()
        damaged = bytearray(whole)
        damaged[place] ^= 4
        (folder / "node.db-wal").write_bytes(damaged)
        noticed += is_noticed(folder, manifest)
    assert noticed > 10


@pytest.mark.parametrize("spoil", [lambda path: path.write_bytes(b""), lambda path: path.unlink()])
def test_no_database_beside_an_audit_log_is_noticed(
    spoil: Callable[[Path], object], killed: Callable[[], Path], manifest: Manifest
) -> None:
    folder = killed()
    spoil(folder / "node.db")
    (folder / "node.db-wal").unlink()
    assert is_noticed(folder, manifest)
    (folder / "node.mark").unlink()
    assert is_noticed(folder, manifest)
    (folder / "audit.log").unlink()
    with Store(folder) as store:  # nothing is left that could tell
        assert store.studies() == []


def test_the_mark_alone_tells(killed: Callable[[], Path]) -> None:
    folder = killed()
    (folder / "node.db-wal").unlink()
    (folder / "audit.log").unlink()
    with pytest.raises(RolledBackError, match="lacks 2 changes"):
        Store(folder)


def test_without_the_comparison_submissions_would_be_lost_silently(
    killed: Callable[[], Path], manifest: Manifest, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The control of the tests above."""
    monkeypatch.setattr(Database, "_check_not_rolled_back", lambda self: None)
    folder = killed()
    (folder / "node.db-wal").unlink()
    with pytest.raises(AssertionError):
        is_noticed(folder, manifest)


def test_a_page_of_an_earlier_time_is_damage(store: Store, manifest: Manifest, tmp_path: Path) -> None:
    """A write that the disk forgot: the rows that are there are as they were written, and one is missing."""
    kept_share(store, manifest)
    store._db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    earlier = store._file.read_bytes()
    submitted(store, manifest)
    store._db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    later = store._file.read_bytes()
    (size,) = struct.unpack(">H", later[16:18])
    noticed = 0
    for start in range(0, len(earlier), size):
        if earlier[start : start + size] == later[start : start + size]:
            continue
        folder = tmp_path / f"forgotten-{start}"
        shutil.copytree(store.shares.parent, folder)
        (folder / "node.db").write_bytes(
            later[:start] + earlier[start : start + size] + later[start + size :]
        )
        with pytest.raises(InputError, match=r"damaged|rolled back"):
            Store(folder)
        noticed += 1
    assert noticed > 3


def test_a_mark_that_was_torn_has_the_number_before(tmp_path: Path) -> None:
    mark = Mark(tmp_path)
    assert mark.read() == Reached()
    for number in (1, 2, 3):
        mark.raise_to(Reached(number, 10 * number))
        assert mark.read() == Reached(number, 10 * number)
    mark.raise_to(Reached(2, 20))
    assert mark.read() == Reached(3, 30)
    content = bytearray((tmp_path / "node.mark").read_bytes())
    content[100] ^= 1  # in the first slot, which was written last
    (tmp_path / "node.mark").write_bytes(content)
    assert mark.read() == Reached(2, 20)


def recovered(folder: Path) -> Store:
    with pytest.raises(RolledBackError) as found:
        Store(folder)
    recover_folder(folder, found.value.rollback)
    return Store(folder)


def test_recovering_takes_shares_back_in_and_continues_the_log(
    killed: Callable[[], Path], manifest: Manifest
) -> None:
    folder = killed()
    (folder / "node.db-wal").unlink()
    with recovered(folder) as store:
        assert owners(store, manifest) == []
        (study,) = store.studies()
        assert study.state is StudyState.COLLECTING  # only submissions were lost
        assert store.take_back(study, 0) == ["harbour"]  # north's share has another commitment
        assert owners(store, manifest) == ["harbour"]
        assert store.take_back(study, 0) == []
        checked = check_log(*store.audit_log())
        assert checked.problem == ""
        texts = [entry.text for entry in checked.entries]
        assert "trial: the share of harbour was taken back in from its file" in texts
        assert sum("rolled back" in text for text in texts) == 1


def test_a_share_of_a_study_that_was_lost_waits_for_it(
    killed: Callable[[], Path], manifest: Manifest
) -> None:
    folder = killed()
    (folder / "node.db").unlink()
    (folder / "node.db-wal").unlink()
    with recovered(folder) as store:
        assert store.studies() == []
        store.remove_strays()
        assert store.accept(manifest)
        (study,) = store.studies()
        assert store.take_back(study, 0) == ["harbour"]


def test_a_study_that_lost_an_attempt_waits_for_its_operator(
    store: Store, manifest: Manifest, tmp_path: Path
) -> None:
    store._db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    store.begin_attempt(manifest.hash, 3)
    folder = without_its_log(store, tmp_path / "killed")
    with recovered(folder) as again:
        (study,) = again.studies()
        assert study.state is StudyState.STOPPED
        assert "lost: attempt 3 began" in study.note
        assert again.last_attempt(manifest.hash) == 3
        again.retry(manifest.hash)
        with pytest.raises(StaleAttemptError):  # no number is used twice
            again.begin_attempt(manifest.hash, 3)
        again.begin_attempt(manifest.hash, 4)


@pytest.mark.parametrize("is_submission_lost", [False, True])
def test_a_study_that_lost_a_withdrawal_waits_for_its_operator_without_the_share(
    store: Store, manifest: Manifest, tmp_path: Path, is_submission_lost: bool
) -> None:
    if not is_submission_lost:
        submitted(store, manifest)
    store._db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    if is_submission_lost:
        submitted(store, manifest)
    store.withdraw(manifest.hash, "harbour", 2)
    with recovered(without_its_log(store, tmp_path / "killed")) as again:
        (study,) = again.studies()
        assert study.state is StudyState.STOPPED
        assert "harbour withdrew what it had submitted" in study.note
        assert again.take_back(study, 0) == []
        again.retry(manifest.hash)
        assert owners(again, manifest) == []
        assert again.withdraw(manifest.hash, "harbour", 2).withdrawn


@pytest.mark.parametrize("is_sent_again", [False, True])
def test_a_study_that_lost_a_submission_and_an_attempt_can_go_on(
    store: Store, manifest: Manifest, tmp_path: Path, is_sent_again: bool
) -> None:
    """The share on disk is taken back in; where that is lost, too, its owner sends it again."""
    store._db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    sent = submitted(store, manifest)
    store.begin_attempt(manifest.hash, 1)
    folder = without_its_log(store, tmp_path / "killed")
    if is_sent_again:
        (folder / "shares" / str(sent.file)).unlink()
    with recovered(folder) as again:
        (study,) = again.studies()
        assert study.state is StudyState.STOPPED
        assert again.take_back(study, 0) == ([] if is_sent_again else ["harbour"])
        assert again.remove_strays() == 0
        if is_sent_again:
            submitted(again, manifest)
        again.retry(manifest.hash)
        assert owners(again, manifest) == ["harbour"]
        again.submit(manifest.hash, replace(sent, revision=2))  # nothing that is known has begun
        again.begin_attempt(manifest.hash, 2)
        with pytest.raises(BegunError):
            again.submit(manifest.hash, replace(sent, revision=3))


def test_what_a_cut_upload_left_takes_the_place_of_nothing_that_is_computed_with(
    store: Store, manifest: Manifest
) -> None:
    """A replacement that came too late, of which a crash left the file before it was refused."""
    sent = submitted(store, manifest)
    store.begin_attempt(manifest.hash, 1)
    late = store.shares / "late"
    late.write_bytes((store.shares / str(sent.file)).read_bytes())
    describe(late, ShareDescription.of(manifest.hash, replace(sent, revision=2)))
    (study,) = store.studies()
    assert store.take_back(study, 0) == []
    assert store.submission(manifest.hash, "harbour") == sent
    assert store.remove_strays() == 2


def test_of_several_shares_of_an_owner_the_latest_is_taken_back_in(store: Store, manifest: Manifest) -> None:
    """A crash may have left one that was replaced."""
    sent = submitted(store, manifest)
    content = (store.shares / str(sent.file)).read_bytes()
    for name, revision in (("0-stray", 2), ("1-latest", 3)):
        (store.shares / name).write_bytes(content)
        described = replace(sent, revision=revision)
        describe(store.shares / name, ShareDescription.of(manifest.hash, described))
    (study,) = store.studies()
    assert store.take_back(study, 0) == ["harbour"]
    kept = store.submission(manifest.hash, "harbour")
    assert kept is not None
    assert (kept.revision, kept.file) == (3, "1-latest")


@pytest.mark.parametrize("told", [0, 1])
def test_what_was_lost_with_the_audit_log_stops_every_study(
    store: Store, manifest: Manifest, tmp_path: Path, told: int
) -> None:
    """The mark says that there were entries which the log lacks: nobody can tell what they were."""
    store._db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    submitted(store, manifest)
    store.begin_attempt(manifest.hash, 1)
    folder = without_its_log(store, tmp_path / "killed")
    lines = (folder / "audit.log").read_bytes().splitlines(keepends=True)
    (folder / "audit.log").write_bytes(b"".join(lines[: told - 2]))
    with pytest.raises(RolledBackError) as found:
        Store(folder)
    assert not found.value.rollback.is_told
    with recovered(folder) as again:
        (study,) = again.studies()
        assert study.state is StudyState.STOPPED
        lost = "harbour submitted 40 samples" if told else "nobody can tell what"
        assert study.note == f"this node was rolled back, and has lost: {lost}"


def test_a_withdrawal_that_another_node_has_forgotten_is_passed_on_again(
    store: Store, manifest: Manifest
) -> None:
    submitted(store, manifest)
    (study,) = store.studies()
    withdrawal = store.withdraw(manifest.hash, "harbour", 2)
    store.told_of_withdrawal(manifest.hash, "harbour", 2)
    assert store.withdrawals_to_tell(study) == []
    assert store.withdraw(manifest.hash, "harbour", 2) == withdrawal
    assert [one.owner for one in store.withdrawals_to_tell(study)] == ["harbour"]


def test_a_study_that_lost_its_release_is_over(store: Store, manifest: Manifest, tmp_path: Path) -> None:
    store.begin_attempt(manifest.hash, 1)
    store._db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    store.computed(manifest.hash, 1, {})
    store.end_with(manifest.hash, 1)
    assert store.attempt_state(manifest.hash, 1) is AttemptState.RELEASED
    folder = without_its_log(store, tmp_path / "killed")
    with recovered(folder) as again:
        (study,) = again.studies()
        assert study.state is StudyState.DELETED
        assert "released, with attempt 1" in study.note


def test_a_release_whose_result_is_here_is_released_again(
    store: Store, manifest: Manifest, tmp_path: Path
) -> None:
    store.begin_attempt(manifest.hash, 1)
    store.computed(manifest.hash, 1, {"north": part(np.arange(4))})
    store._db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    store.release(manifest.hash, 1)
    with recovered(without_its_log(store, tmp_path / "killed")) as again:
        (study,) = again.studies()
        assert study.state is StudyState.RELEASED
        assert again.attempt_state(manifest.hash, 1) is AttemptState.RELEASED
        assert again.result(manifest.hash, "north") is not None


def test_an_attempt_that_was_computed_waits_with_its_study(
    store: Store, manifest: Manifest, tmp_path: Path
) -> None:
    """Whether it was released meanwhile, others know."""
    store.begin_attempt(manifest.hash, 1)
    store.computed(manifest.hash, 1, {"north": part(np.arange(4))})
    store._db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    store.record_of(manifest.hash, "something else")
    with recovered(without_its_log(store, tmp_path / "killed")) as again:
        (study,) = again.studies()
        assert study.state is StudyState.STOPPED
        assert again.attempt_state(manifest.hash, 1) is AttemptState.COMPUTED
        assert again.result(manifest.hash, "north") is not None


def rolled_back_before_attempt(store: Store, manifest: Manifest, folder: Path, revision: int) -> Store:
    """Recovered: of what harbour had submitted, the last revision was lost, with the attempt that began."""
    record = submitted(store, manifest)
    if revision == 1:
        store.withdraw(manifest.hash, "harbour", 2)
    store._db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    latest = replace(record, revision=revision + 1, file=new_file(store))
    agreed = store.submit(manifest.hash, replace(latest, revision=3)).submitted
    store.begin_attempt(manifest.hash, 1, (agreed,))
    without_its_log(store, folder)
    return recovered(folder)


def new_file(store: Store) -> str:
    (store.shares / "later").write_bytes(b"harbour" * 40)
    return "later"


@pytest.mark.parametrize("was_withdrawn", [False, True])
@pytest.mark.parametrize("is_retried", [False, True])
def test_owners_send_again_what_was_lost_with_an_attempt(
    store: Store, manifest: Manifest, tmp_path: Path, was_withdrawn: bool, is_retried: bool
) -> None:
    """Before the operator lets the study go on, as `recover` says, or after."""
    with rolled_back_before_attempt(store, manifest, tmp_path / "killed", 1 if was_withdrawn else 2) as again:
        (study,) = again.studies()
        assert study.state is StudyState.STOPPED
        if is_retried:
            again.retry(manifest.hash)
        record = store.submission(manifest.hash, "harbour")
        assert record is not None
        again.submit(manifest.hash, replace(record, file=new_file(again)))
        assert owners(again, manifest) == ["harbour"]
        if not is_retried:
            assert again.studies()[0].state is StudyState.STOPPED
            again.retry(manifest.hash)
        again.begin_attempt(manifest.hash, 2, (record.submitted,))
        with pytest.raises(BegunError):
            again.submit(manifest.hash, replace(record, revision=4, file=new_file(again)))


def test_nothing_is_sent_again_to_a_study_that_is_released_elsewhere(
    store: Store, manifest: Manifest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with rolled_back_before_attempt(store, manifest, tmp_path / "killed", 2) as again:
        record = store.submission(manifest.hash, "harbour")
        assert record is not None
        monkeypatch.setattr(Store, "release_elsewhere", lambda self, study: "released")
        with pytest.raises(ClosedError):
            again.submit(manifest.hash, replace(record, file=new_file(again)))


@pytest.mark.parametrize("has_earlier", [False, True])
def test_what_is_on_disk_is_taken_back_in_while_the_study_waits(
    store: Store, manifest: Manifest, tmp_path: Path, has_earlier: bool
) -> None:
    """Also where the share that it had replaced is there again: a crash can undo that a file was deleted."""
    with rolled_back_before_attempt(store, manifest, tmp_path / "killed", 2) as again:
        earlier = again.submission(manifest.hash, "harbour")
        assert earlier is not None
        assert earlier.file is not None
        if has_earlier:
            (again.shares / earlier.file).write_bytes(b"harbour" * 40)
            describe(again.shares / earlier.file, ShareDescription.of(manifest.hash, earlier))
        (study,) = again.studies()
        assert study.state is StudyState.STOPPED
        assert again.take_back(study, 0) == ["harbour"]
        assert again.remove_strays() == 0
        assert again.submission(manifest.hash, "harbour") == store.submission(manifest.hash, "harbour")


def test_two_shares_of_one_owner_are_taken_back_in_one_after_the_other(
    killed: Callable[[], Path], manifest: Manifest
) -> None:
    """The later one replaces the earlier one, whose files are gone when it would be their turn."""
    folder = killed()
    with Store(folder) as store:
        kept = store.submission(manifest.hash, "harbour")
        assert kept is not None
        later = replace(kept, revision=2, file="0" * 32)
        (store.shares / ("0" * 32)).write_bytes(b"harbour" * 40)
        describe(store.shares / ("0" * 32), ShareDescription.of(manifest.hash, later))
        (study,) = store.studies()
        assert store.take_back(study, 0) == ["harbour"]
        now = store.submission(manifest.hash, "harbour")
        assert now is not None
        assert now.revision == 2


@pytest.mark.parametrize("file", ["0" * 32, "g" * 32])
def test_of_two_shares_of_one_owner_the_later_one_is_taken_back_in(
    killed: Callable[[], Path], manifest: Manifest, file: str
) -> None:
    """A crash came before the earlier one was deleted; whichever is found first."""
    folder = killed()
    with Store(folder) as store:
        kept = store.submission(manifest.hash, "harbour")
        assert kept is not None
    for path in folder.glob("node.db*"):
        path.unlink()
    with recovered(folder) as store:
        later = replace(kept, revision=2, file=file)
        (store.shares / file).write_bytes(b"harbour" * 40)
        describe(store.shares / file, ShareDescription.of(manifest.hash, later))
        store.accept(manifest)
        (study,) = store.studies()
        assert store.take_back(study, 0) == ["harbour"]
        assert store.submission(manifest.hash, "harbour") == later


@pytest.mark.parametrize("page", [0, 1, 5])
def test_a_page_that_is_none_is_said_to_be_damage(
    killed: Callable[[], Path], manifest: Manifest, page: int
) -> None:
    """Whether the schema, a table or an index is on it; and whatever else is behind."""
    folder = killed()
    with contextlib.closing(sqlite3.connect(folder / "node.db")) as db:
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    content = bytearray((folder / "node.db").read_bytes())
    content[page * 4096 + 100 : page * 4096 + 4096] = bytes(3996)
    (folder / "node.db").write_bytes(content)
    with pytest.raises(DamagedDatabaseError, match=r"(?s)the database is damaged.*ppaurora recover"):
        Store(folder)


def test_what_was_rolled_back_and_is_damaged_is_said_to_be_damage(
    store: Store, manifest: Manifest, tmp_path: Path
) -> None:
    """There is nothing to go on from: recovering would find a row missing."""
    kept_share(store, manifest)
    store._db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    earlier = (store.shares.parent / "node.db").read_bytes()
    with contextlib.closing(sqlite3.connect(store._file)) as db:
        (root,) = db.execute("SELECT rootpage FROM sqlite_schema WHERE name = 'progress'").fetchone()
    submitted(store, manifest)
    store._db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    folder = tmp_path / "killed"
    shutil.copytree(store.shares.parent, folder)
    content = bytearray((folder / "node.db").read_bytes())
    content[(root - 1) * 4096 : root * 4096] = earlier[(root - 1) * 4096 : root * 4096]
    (folder / "node.db").write_bytes(content)
    with pytest.raises(DamagedDatabaseError, match="progress"):
        Store(folder)


def test_a_share_that_does_not_fit_is_not_taken_in(killed: Callable[[], Path], manifest: Manifest) -> None:
    folder = killed()
    (folder / "node.db-wal").unlink()
    for path in (folder / "shares").iterdir():
        if not path.name.endswith(".about"):
            path.write_bytes(path.read_bytes()[:-1])
    with recovered(folder) as store:
        (study,) = store.studies()
        assert store.take_back(study, 0) == []
        assert store.remove_strays() == 4  # two shares, and what was said of them


def test_a_damaged_database_is_set_aside_by_recover(
    consortium: Trials, run: RunCommand, tmp_path: Path
) -> None:
    """Without a backup, what is left are the shares, their descriptions and the audit log."""
    kit = tmp_path / "proxy-1"
    shutil.copytree(consortium.kit("proxy-1"), kit)
    manifest = consortium.manifest
    with Store(kit / "data") as store:
        submitted(store, manifest)
    database = kit / "data" / "node.db"
    damaged = bytearray(database.read_bytes())
    damaged[100:4096] = bytes(3996)
    database.write_bytes(damaged)
    assert run("studies", kit)[0] == 2
    code, said = run("recover", kit, "--yes")
    assert code == 0
    assert "is damaged, and will be set aside" in said
    assert "trial: harbour submitted 40 samples" in said
    assert f"trial: no longer accepted here; run 'ppaurora accept {kit} MANIFEST'" in said
    before = kit / "data" / "before-recovery-1"
    assert f"kept in {before}" in said
    assert (before / "node.db").read_bytes() == damaged
    assert (before / "audit.log").exists()
    code, said = run("studies", kit)
    assert code == 0
    assert f"shares of the study {manifest.hash}: 1; it is not on record here" in said
    with Store(kit / "data") as store:
        assert store.accept(manifest)
        (study,) = store.studies()
        assert store.take_back(study, 0) == ["harbour"]
        assert check_log(*store.audit_log()).problem == ""
    assert run("recover", kit, "--yes")[0] == 2


def test_shares_of_a_study_that_is_not_on_record_can_be_deleted(
    consortium: Trials, run: RunCommand, tmp_path: Path
) -> None:
    kit = tmp_path / "proxy-1"
    shutil.copytree(consortium.kit("proxy-1"), kit)
    study = "a" * 64
    with Store(kit / "data") as store:
        (store.shares / "lost").write_bytes(b"share")
        record = SubmissionRecord("harbour", 40, ("0" * 64, "1" * 64), store.now(), file="lost")
        describe(store.shares / "lost", ShareDescription.of(study, record))
        assert store.remove_strays() == 0
        assert store.unclaimed_shares() == {study: 1}
    assert f"ppaurora delete {kit} {study}" in run("studies", kit)[1]
    code, said = run("delete", kit, study, "--yes")
    assert (code, said.splitlines()[-1]) == (0, "deleted shares: 1")
    with Store(kit / "data") as store:
        assert store.unclaimed_shares() == {}
        assert list(store.shares.glob("lost*")) == []
    assert run("delete", kit, study, "--yes")[0] == 2


def test_shares_of_which_nothing_says_whose_they_are_are_kept_by_recover(
    killed: Callable[[], Path], manifest: Manifest
) -> None:
    folder = killed()
    (folder / "node.db-wal").unlink()
    (unclear,) = (path for path in (folder / "shares").glob("*.about") if "north" in path.name)
    unclear.write_bytes(b"spoilt")
    (folder / "shares" / "undescribed").write_bytes(b"share")
    with recovered(folder) as store:
        (study,) = store.studies()
        assert store.take_back(study, 0) == ["harbour"]
        assert store.remove_strays() == 0
    kept = folder / "before-recovery-1" / "shares"
    assert {path.name for path in kept.iterdir()} == {"undescribed", "north-share", unclear.name}


def test_copies_from_before_a_recovery_go_with_the_study_that_ends(store: Store, manifest: Manifest) -> None:
    kept = keep_as_found(store.shares.parent, is_damaged=False)
    assert {path.name for path in kept.iterdir()} >= {"node.db", "node.db-wal", "node.mark", "audit.log"}
    assert keep_as_found(store.shares.parent, is_damaged=False).name == "before-recovery-2"
    store.delete(manifest.hash, "over")
    assert not kept.exists()


def without_its_rows(store: Store, folder: Path) -> Path:
    """The data folder of a node whose database is gone."""
    shutil.copytree(store.shares.parent, folder)
    for path in folder.glob("node.db*"):
        path.unlink()
    return folder


def test_accepting_a_study_again_does_not_forget_what_the_audit_log_tells_of_it(
    store: Store, manifest: Manifest, tmp_path: Path
) -> None:
    submitted(store, manifest)
    store.begin_attempt(manifest.hash, 3)
    with recovered(without_its_rows(store, tmp_path / "killed")) as again:
        other = msgspec.structs.replace(manifest, owners=manifest.owners[::-1])
        with pytest.raises(InputError, match="another manifest was accepted under the name 'trial'"):
            again.accept(other)
        assert again.accept(manifest)
        (study,) = again.studies()
        assert study.state is StudyState.STOPPED
        assert "attempt 3 began" in study.note
        assert again.last_attempt(manifest.hash) == 3
        assert again.take_back(study, 0) == ["harbour"]
        again.retry(manifest.hash)
        again.begin_attempt(manifest.hash, 4)


@pytest.mark.parametrize("is_damaged", [True, False])
@pytest.mark.parametrize("is_at_its_end", [True, False])
def test_a_study_accepted_again_stops_if_the_audit_log_has_lost_entries(
    store: Store, manifest: Manifest, tmp_path: Path, is_damaged: bool, is_at_its_end: bool
) -> None:
    """What the log does not tell any longer may have been an attempt."""
    submitted(store, manifest)
    store.begin_attempt(manifest.hash, 1)
    if not is_at_its_end:
        store.record("a later line")
    folder = tmp_path / "killed"
    shutil.copytree(store.shares.parent, folder)
    if is_damaged:
        (folder / "node.db").write_bytes(bytes(5000))
    else:
        (folder / "node.db").unlink()
    (folder / "node.db-wal").unlink()
    log = folder / "audit.log"
    whole = log.read_bytes()
    log.write_bytes(
        whole[: whole.rindex(b'{"entry"')] if is_at_its_end else whole.replace(b"began", b"bgean")
    )
    with pytest.raises(NeedsRecoveryError) as found:
        Store(folder)
    recover_folder(folder, found.value.rollback)
    with Store(folder) as again:
        assert again.studies() == []
        again.accept(manifest)
        (study,) = again.studies()
        assert study.state is StudyState.STOPPED
        assert "has lost: the operator accepted" in study.note


@pytest.mark.parametrize("is_released", [True, False])
def test_a_study_that_is_over_by_the_audit_log_is_not_accepted_again(
    store: Store, manifest: Manifest, tmp_path: Path, is_released: bool
) -> None:
    if is_released:
        store.begin_attempt(manifest.hash, 1)
        store.computed(manifest.hash, 1, {})
        store.end_with(manifest.hash, 1)
    else:
        store.delete(manifest.hash, "over")
    with recovered(without_its_rows(store, tmp_path / "killed")) as again:
        with pytest.raises(InputError, match=r"is over here \((released, with|the operator deleted)"):
            again.accept(manifest)
        assert again.studies() == []


def test_a_study_whose_deletion_was_lost_is_deleted_again(
    store: Store, manifest: Manifest, tmp_path: Path
) -> None:
    submitted(store, manifest)
    store._db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    shutil.copytree(store.shares, tmp_path / "shares")
    store.delete(manifest.hash, "over")
    folder = without_its_log(store, tmp_path / "killed")
    shutil.copytree(tmp_path / "shares", folder / "shares", dirs_exist_ok=True)  # a crash may undo that
    with recovered(folder) as again:
        (study,) = again.studies()
        assert study.state is StudyState.DELETED
        assert list(again.shares.iterdir()) == []


def test_what_a_crash_left_of_the_first_transaction_of_all_is_undone(tmp_path: Path) -> None:
    """A journal beside a database that has no write-ahead log yet: nothing was acknowledged, nothing lost."""
    with contextlib.closing(sqlite3.connect(tmp_path / "node.db", isolation_level=None)) as db:
        db.execute("CREATE TABLE begun (a)")
        db.execute("BEGIN IMMEDIATE")
        db.execute("PRAGMA cache_size = 1")
        for _ in range(40):
            db.execute("INSERT INTO begun VALUES (zeroblob(4000))")
        folder = tmp_path / "killed"
        folder.mkdir()
        for name in ("node.db", "node.db-journal"):
            shutil.copyfile(tmp_path / name, folder / name)
        db.execute("ROLLBACK")
    assert find_rollback(folder / "node.db", Mark(folder), folder / "audit.log") is None


def test_a_mark_that_somebody_holds_is_waited_for_and_no_longer(tmp_path: Path) -> None:
    mark = Mark(tmp_path)
    mark.raise_to(Reached(1, 1))
    with (tmp_path / "node.mark").open("rb") as holder:
        fcntl.flock(holder, fcntl.LOCK_EX)
        with pytest.raises(BlockingIOError) as held:
            mark.raise_to(Reached(2, 2))
    assert trouble_of(held.value) == "the database is locked"
    mark.raise_to(Reached(2, 2))
    assert mark.read() == Reached(2, 2)


def test_the_time_is_not_forgotten_with_the_database(
    store: Store, manifest: Manifest, tmp_path: Path
) -> None:
    """A clock that is far ahead would have the study expire as soon as it is accepted again."""
    with recovered(without_its_rows(store, tmp_path / "killed")) as again:
        seen = again.seen_time()
        assert seen is not None
        assert seen.at == pytest.approx(store.now(), abs=60)


def test_shares_are_deleted_also_where_an_earlier_copy_cannot_be(
    store: Store, manifest: Manifest, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = keep_as_found(store.shares.parent, is_damaged=False)
    record = submitted(store, manifest)

    def deny(path: Path) -> None:
        raise PermissionError(errno.EACCES, "Permission denied", str(path))

    monkeypatch.setattr(shutil, "rmtree", deny)
    with pytest.raises(
        InputError, match=f"{kept}: Permission denied; the shares are deleted, but not this copy"
    ):
        store.delete(manifest.hash, "over")
    assert not (store.shares / str(record.file)).exists()


def test_attempts_that_the_leader_has_forgotten_keep_no_owner_from_changing_what_it_sent(
    store: Store, manifest: Manifest
) -> None:
    sent = submitted(store, manifest)
    store.begin_attempt(manifest.hash, 1)
    with pytest.raises(BegunError):  # it runs
        store.forget_attempts(manifest.hash)
    store.fail_attempt(manifest.hash, 1, "over")
    with pytest.raises(BegunError):
        store.withdraw(manifest.hash, "harbour", 2)
    store.forget_attempts(manifest.hash)
    assert store.withdraw(manifest.hash, "harbour", 2).withdrawn
    store.submit(manifest.hash, replace(sent, revision=3, file=new_file(store)))
    assert owners(store, manifest) == ["harbour"]
    with pytest.raises(StaleAttemptError):
        store.begin_attempt(manifest.hash, 1)
