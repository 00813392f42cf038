"""How a node goes on whose database was rolled back or damaged: what becomes of its studies."""

from __future__ import annotations

import errno
import shutil
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
    NeedsRecoveryError,
    RolledBackError,
    Store,
    recover_folder,
)
from ppaurora.node.store.rollback import keep_as_found
from ppaurora.study.manifest import Manifest
from tests.support.rolled_back import (
    new_file,
    owners,
    recovered,
    rolled_back_before_attempt,
    submitted,
    without_its_log,
    without_its_rows,
)
from tests.support.trials import RunCommand, Trials, part


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
        assert study.note.startswith(f"this node was rolled back, and has lost: {lost}; owners who")
        assert study.note.endswith("runs 'ppaurora retry'")


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


def compute(store: Store, manifest: Manifest) -> None:
    """Have a result in the database itself; its write-ahead log has what comes after."""
    store.begin_attempt(manifest.hash, 1)
    store.computed(manifest.hash, 1, {"north": part(np.arange(4))})
    store._db.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def test_a_release_whose_result_is_here_is_released_again(
    store: Store, manifest: Manifest, tmp_path: Path
) -> None:
    compute(store, manifest)
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
    compute(store, manifest)
    store.record_of(manifest.hash, "something else")
    with recovered(without_its_log(store, tmp_path / "killed")) as again:
        (study,) = again.studies()
        assert study.state is StudyState.STOPPED
        assert again.attempt_state(manifest.hash, 1) is AttemptState.COMPUTED
        assert again.result(manifest.hash, "north") is not None


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


def test_a_damaged_database_is_set_aside_by_recover(
    consortium: Trials, run: RunCommand, tmp_path: Path
) -> None:
    """Without a backup, what is left are the shares, their descriptions and the audit log."""
    kit = tmp_path / "proxy-1"
    shutil.copytree(consortium.kit("proxy-1"), kit)
    manifest = consortium.manifest
    with Store(kit / "data") as store:
        submitted(store, manifest)
        store.begin_attempt(manifest.hash, 1)
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
    file = tmp_path / "trial.json"
    file.write_text(manifest.text())
    code, said = run("accept", kit, file, "--yes")
    assert code == 0
    assert "it has stopped here: this node was rolled back, and has lost:" in said
    assert "attempt 1 began; owners who have withdrawn or replaced" in said
    with Store(kit / "data") as store:
        (study,) = store.studies()
        assert store.take_back(study, 0) == ["harbour"]
        assert check_log(*store.audit_log()).problem == ""
    assert run("recover", kit, "--yes")[0] == 2


def test_copies_from_before_a_recovery_go_with_the_study_that_ends(store: Store, manifest: Manifest) -> None:
    kept = keep_as_found(store.shares.parent, is_damaged=False)
    assert {path.name for path in kept.iterdir()} >= {"node.db", "node.db-wal", "node.mark", "audit.log"}
    assert keep_as_found(store.shares.parent, is_damaged=False).name == "before-recovery-2"
    store.delete(manifest.hash, "over")
    assert not kept.exists()


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
    assert "the leader has forgotten what began here" in store.audit_file.read_text()
    assert store.withdraw(manifest.hash, "harbour", 2).withdrawn
    store.submit(manifest.hash, replace(sent, revision=3, file=new_file(store)))
    assert owners(store, manifest) == ["harbour"]
    with pytest.raises(StaleAttemptError):
        store.begin_attempt(manifest.hash, 1)


def test_what_an_incomplete_log_tells_of_a_release_waits_for_the_operator(
    store: Store, manifest: Manifest, tmp_path: Path
) -> None:
    """The entry that is missing may be that everything was deleted."""
    compute(store, manifest)
    store.release(manifest.hash, 1)
    store.record("something")
    store.record("something else")
    folder = without_its_log(store, tmp_path / "killed")
    log = folder / "audit.log"
    log.write_bytes(log.read_bytes().replace(b'something"', b'sumething"'))
    (folder / "node.mark").unlink()  # which would tell, too, that there was an entry
    with recovered(folder) as again:
        (study,) = again.studies()
        assert study.state is StudyState.STOPPED
        assert again.attempt_state(manifest.hash, 1) is AttemptState.COMPUTED
