"""Shares on disk whose rows were lost: taken back in, kept, or deleted when the operator says so."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from ppaurora.messages.owners import StudyState
from ppaurora.node.audit import check_log
from ppaurora.node.store import (
    Store,
    SubmissionRecord,
)
from ppaurora.node.store.descriptions import ShareDescription, describe
from ppaurora.study.manifest import Manifest
from tests.support.rolled_back import lose_database, owners, recovered, rolled_back_before_attempt, submitted
from tests.support.trials import RunCommand, Trials


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
    lose_database(folder)
    with recovered(folder) as store:
        later = replace(kept, revision=2, file=file)
        (store.shares / file).write_bytes(b"harbour" * 40)
        describe(store.shares / file, ShareDescription.of(manifest.hash, later))
        store.accept(manifest)
        (study,) = store.studies()
        assert store.take_back(study, 0) == ["harbour"]
        assert store.submission(manifest.hash, "harbour") == later


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


def test_a_share_whose_description_is_spoilt_later_is_set_aside(
    killed: Callable[[], Path], manifest: Manifest
) -> None:
    """Its study is not accepted again yet."""
    folder = killed()
    lose_database(folder)
    with recovered(folder) as store:
        (about,) = (path for path in store.shares.glob("*.about") if "north" in path.name)
        about.write_bytes(b"spoilt")
        assert store.remove_strays() == 0
    kept = folder / "before-recovery-2" / "shares"
    assert {path.name for path in kept.iterdir()} == {"north-share", about.name}


def test_without_its_log_a_node_knows_a_study_by_its_shares(
    killed: Callable[[], Path], manifest: Manifest
) -> None:
    folder = killed()
    lose_database(folder)
    (folder / "audit.log").unlink()
    with recovered(folder) as store:
        store.accept(manifest)
        (study,) = store.studies()
        assert study.state is StudyState.STOPPED
        assert "nobody can tell what" in study.note
