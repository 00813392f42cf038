"""A disk that is full, locked, or away costs no attempt: it is waited for, and everybody can see for what."""

from __future__ import annotations

import contextlib
import errno
import re
import resource
import shutil
import sqlite3
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ppaurora.data.samples import check_samples
from ppaurora.node.activity import Activity
from ppaurora.node.metrics import Metrics
from ppaurora.node.runner import AttemptFailedError, AttemptRunner
from ppaurora.node.store import Store
from ppaurora.owner.study import Study
from ppaurora.study.kit import NodeKit
from ppaurora.study.manifest import Manifest
from tests.support.deployment import NODES, OWNERS, Deployment, samples
from tests.support.sending import send
from tests.support.trials import PAIR, PROXY_1, RunCommand, Trials, becomes

TITLES = {name: name.replace("-", " ") for name in NODES}


def submit_all(nodes: Deployment, study: str, owners: tuple[str, ...] = PAIR) -> None:
    for seed, owner in enumerate(owners):
        labels, scores = samples(40, 700 + seed)
        send(Study(nodes.kit(owner), study), check_samples(owner, labels, scores))


def check_waiting(nodes: Deployment, manifest: Manifest, node: str, trouble: str) -> None:
    """All see what is waited for, and no attempt is made."""
    study = Study(nodes.kit("north"), manifest.study)
    note = f"not ready: {trouble} at {TITLES[node]}"
    assert becomes(lambda: study.status()["proxy 0"].note == note)
    assert becomes(lambda: nodes.health(node) == (503, [trouble]))
    assert becomes(lambda: "ppaurora_not_ready 1.0" in nodes.get(node, "/metrics"))
    waits = re.compile(r'^ppaurora_waiting_studies{reason="disk"} [1-9]', re.MULTILINE)
    assert becomes(lambda: waits.search(nodes.get(node, "/metrics")) is not None)
    time.sleep(1)
    for name in NODES:
        with nodes.store(name) as store:
            assert store.last_attempt(manifest.hash) == 0


def check_over(nodes: Deployment, manifest: Manifest, node: str) -> None:
    report = Study(nodes.kit("north"), manifest.study).wait(timeout=300)
    assert report.receipt.attempt == 1
    assert becomes(lambda: nodes.health(node) == (200, []))
    assert becomes(lambda: "ppaurora_not_ready 0.0" in nodes.get(node, "/metrics"))


@contextlib.contextmanager
def no_room(nodes: Deployment, node: str) -> Iterator[None]:
    """For files of more than two megabytes, in a process that runs."""
    if not hasattr(resource, "prlimit"):
        pytest.skip("needs prlimit, to take room from a process that runs")
    with contextlib.closing(sqlite3.connect(nodes.database(node), timeout=60)) as database:
        database.execute("PRAGMA wal_checkpoint(TRUNCATE)")  # the journal may be as large already
    process = nodes.processes[node].pid
    soft, hard = resource.prlimit(process, resource.RLIMIT_FSIZE)
    resource.prlimit(process, resource.RLIMIT_FSIZE, (2 << 20, hard))
    try:
        yield
    finally:
        resource.prlimit(process, resource.RLIMIT_FSIZE, (soft, hard))


@pytest.mark.parametrize("node", NODES)
def test_a_node_without_room_is_waited_for(nodes: Trials, node: str) -> None:
    manifest = nodes.study(f"no-room-{node}")
    with no_room(nodes, node):
        submit_all(nodes, manifest.study)
        check_waiting(nodes, manifest, node, "no disk space")
    check_over(nodes, manifest, node)


@pytest.mark.parametrize("node", ["proxy-0", "helper"])
def test_a_foreign_lock_freezes_nothing_and_costs_no_attempt(
    nodes: Trials, node: str, run: RunCommand
) -> None:
    manifest = nodes.study(f"locked-{node}")
    submit_all(nodes, manifest.study, PAIR[:1])
    database = sqlite3.connect(nodes.database(node), timeout=60, isolation_level=None)
    with contextlib.closing(database):
        database.execute("BEGIN EXCLUSIVE")
        if node == "helper":
            submit_all(nodes, manifest.study)
            check_waiting(nodes, manifest, node, "the database is locked")
        else:
            upload = nodes.upload(manifest)
            assert nodes.refusal(lambda: upload.send(nodes.client("harbour", manifest))) == "not-ready"
        seconds = []
        for _ in range(20):
            before = time.monotonic()
            nodes.health(node)
            seconds.append(time.monotonic() - before)
            time.sleep(0.1)
        # Who waited for the lock would do so every time; a busy machine takes long now and then.
        assert sorted(seconds)[-4] < 2
        assert becomes(lambda: nodes.health(node) == (503, ["the database is locked"]))
        code, said = run("studies", nodes.kit(node))
        assert (code, f"not ready: the database is locked at {TITLES[node]}" in said) == (0, True)
        code, said = run("retry", nodes.kit(node), manifest.study)
        assert (code, "the database is locked; nothing was changed" in said) == (2, True)
        database.execute("ROLLBACK")
    submit_all(nodes, manifest.study)
    check_over(nodes, manifest, node)


def test_a_folder_that_is_away_has_lost_nothing(nodes: Trials) -> None:
    """Nobody is asked to submit again because a disk is not mounted."""
    manifest = nodes.study("away")
    submit_all(nodes, manifest.study, PAIR[:1])
    data = nodes.kit("proxy-1") / "data"
    away = data.rename(data.with_name("away"))
    try:
        client = nodes.client("north", manifest, PROXY_1)
        assert becomes(lambda: nodes.health("proxy-1") == (503, ["the data folder is gone"]))
        assert (client.status().submitted, client.status().note) == (
            ("north",),
            "not ready: the data folder is gone at proxy 1",
        )
        upload = nodes.upload(manifest)
        assert nodes.refusal(lambda: upload.send(nodes.client("harbour", manifest, PROXY_1))) == "not-ready"
    finally:
        away.rename(data)
    submit_all(nodes, manifest.study)
    check_over(nodes, manifest, "proxy-1")


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Deployment]:
    """Proxy 0's data is on a file system of its own, of 16 megabytes."""
    deployment = Deployment(tmp_path)
    data = deployment.kit("proxy-0") / "data"
    data.mkdir(mode=0o700)
    mount, umount = shutil.which("mount"), shutil.which("umount")
    options = ("-t", "tmpfs", "-o", "size=16m", "none", str(data))
    if mount is None or umount is None or subprocess.run([mount, *options], check=False).returncode:
        pytest.skip("needs the right to mount a file system")
    try:
        deployment.accept()
        deployment.start()
        yield deployment
    finally:
        deployment.stop()
        subprocess.run([umount, str(data)], check=True)


def test_a_disk_that_is_really_full(small_disk: Deployment, run: RunCommand) -> None:
    """To the last byte: the leader cannot even write down what it waits for, and says it all the same."""
    manifest = small_disk.manifest
    submit_all(small_disk, manifest.study, OWNERS[:2])
    filling = small_disk.kit("proxy-0") / "data" / "other"
    with contextlib.suppress(OSError), filling.open("wb", buffering=0) as file:
        while True:
            file.write(bytes(4096))
    assert becomes(lambda: small_disk.health("proxy-0") == (503, ["no disk space"]))
    code, said = run("studies", small_disk.kit("proxy-0"))
    assert (code, "not ready: no disk space at proxy 0" in said) == (0, True)
    study = Study(small_disk.kit("north"))
    assert study.status()["proxy 0"].note == "not ready: no disk space at proxy 0"
    filling.unlink()
    submit_all(small_disk, manifest.study, OWNERS)
    check_over(small_disk, manifest, "proxy-0")


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (OSError(errno.ENOSPC, "x"), "not ready: no disk space at proxy 1"),
        (OSError(errno.EROFS, "x"), "not ready: the data folder cannot be written to at proxy 1"),
    ],
)
def test_a_result_that_cannot_be_written_is_nobodys_failure(
    store: Store, consortium: Trials, monkeypatch: pytest.MonkeyPatch, error: OSError, words: str
) -> None:
    class Computed:
        number = 1

        def results(self) -> tuple[()]:
            raise error

    kit = NodeKit.read(consortium.kit("proxy-1"))
    made_up: Any = Computed()
    runner = AttemptRunner(kit, store, made_up, Activity(), Metrics())
    (study,) = store.studies()
    store.begin_attempt(study.hash, 1)
    with pytest.raises(AttemptFailedError):
        runner.finish(study, made_up)
    (study,) = store.studies()
    assert (study.note, study.failures, store.spent_attempts(study.hash)) == (words, 0, 0)
