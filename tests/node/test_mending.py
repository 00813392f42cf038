"""Mistakes are mended while a study collects: another file, a replacement, a withdrawal, a study deleted."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import socket
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from ppaurora.data.samples import Samples, check_samples
from ppaurora.errors import InputError, PeerError, PeerTimeoutError, RefusedError
from ppaurora.messages.owners import HistoryEvent
from ppaurora.node.store import BegunError
from ppaurora.owner import delivery
from ppaurora.owner.study import Study
from ppaurora.study.manifest import Manifest
from tests.support.deployment import NODES, free_ports, samples, write_csv
from tests.support.oracles import exact_auroc
from tests.support.relay import Between, pass_on
from tests.support.trials import PAIR, PROXY_0, PROXY_1, RunCommand, Trials, becomes

Data = tuple[np.ndarray, np.ndarray]
PROXIES = (PROXY_0, PROXY_1)
_SEEDS = itertools.count(7000)


class Way(Between):
    """To a port of this machine, open or not."""

    def __init__(self, port: int) -> None:
        self.is_open = False
        self._target = port
        super().__init__()

    def serve(self, client: socket.socket) -> None:
        if self.is_open:
            pass_on(client, ("127.0.0.1", self._target))


@pytest.fixture
def way(nodes: Trials) -> Iterator[Way]:
    """From the leader to proxy 1."""
    with contextlib.closing(Way(nodes.addresses["proxy-1"][1] or 0)) as way:
        yield way


def fresh(count: int) -> Data:
    """That no other study had."""
    return samples(count, next(_SEEDS))


def north_of(data: Data) -> Samples:
    return check_samples("north", *data)


def pooled(*data: Data) -> float:
    pairs = [
        (score, int(label)) for labels, scores in data for label, score in zip(labels, scores, strict=True)
    ]
    found = exact_auroc(pairs)
    assert found is not None
    return float(found)


def check_result(nodes: Trials, name: str, first: Data, second: Data) -> None:
    Study(nodes.kit("harbour"), name).submit(check_samples("harbour", *second))
    assert Study(nodes.kit("north"), name).wait(timeout=300).auroc == pooled(first, second)


def held(nodes: Trials, manifest: Manifest) -> list[int]:
    """The revision of north's submission at each proxy, 0 if it has none."""
    found = []
    for proxy in ("proxy-0", "proxy-1"):
        with nodes.store(proxy) as store:
            kept = store.submission(manifest.hash, "north")
            found.append(0 if kept is None else kept.revision)
    return found


def test_nothing_is_locked_before_a_byte_has_left(nodes: Trials, run: RunCommand, tmp_path: Path) -> None:
    """Neither by a typo, nor by a node that is down; what status says was sent is true."""
    first, second = free_ports(2)
    owners = [str(nodes.addresses[proxy][0]) for proxy in ("proxy-0", "proxy-1")]
    nodes.study("unlocked", ports=dict(zip(owners, (first, second), strict=True)))
    kit, arguments = nodes.kit("north"), ("--study", "unlocked", "--yes")
    typo = write_csv(tmp_path / "typo.csv", *fresh(30))
    right = write_csv(tmp_path / "right.csv", *fresh(30))
    for data in (typo, right, typo):
        code, said = run("submit", kit, data, *arguments)
        assert code == 3
        assert f"proxy 0 cannot be reached at 127.0.0.1:{first}" in said
        assert "nothing was sent, and this or another file can be submitted" in said
    code, said = run("status", kit, "--study", "unlocked")
    assert (code, "sent from this kit, of north: nothing" in said) == (3, True)
    assert "proxy 0 and proxy 1 gave no answer" in said
    code, said = run("status", kit, "--study", "unlocked", "--format", "json")
    assert (code, '"submitted": null' in said) == (3, True)
    code, said = run("withdraw", kit, *arguments)
    assert (code, "proxy 0 has not acknowledged a withdrawal" in said) == (3, True)
    assert not json.loads((kit / "ledger.json").read_text())["studies"].get("unlocked")


def test_what_was_delivered_to_one_proxy_is_said(nodes: Trials, run: RunCommand, tmp_path: Path) -> None:
    (nobody,) = free_ports(1)
    nodes.study("one", ports={str(nodes.addresses["proxy-1"][0]): nobody})
    kit, data = nodes.kit("north"), write_csv(tmp_path / "data.csv", *fresh(30))
    other = write_csv(tmp_path / "other.csv", *fresh(30))
    code, said = run("submit", kit, data, "--study", "one", "--yes")
    assert (code, "30 samples are acknowledged by proxy 0; to go on, run 'ppaurora submit" in said) == (
        3,
        True,
    )
    code, said = run("status", kit, "--study", "one")
    assert (code, "30 samples: proxy 0 acknowledged it, proxy 1 did not" in said) == (0, True)
    code, said = run("submit", kit, other, "--study", "one", "--yes")
    assert (code, "(30 samples: acknowledged by proxy 0); nothing was sent now" in said) == (2, True)
    assert "'ppaurora submit --replace' sends this in its place" in said


def test_a_cut_before_anything_arrived_leaves_the_owner_free(nodes: Trials) -> None:
    """A byte may have left; the nodes say that they have nothing."""
    manifest = nodes.study("cut-off")
    study = Study(nodes.kit("north"), "cut-off")
    typo, right = fresh(30), fresh(30)
    prepared = study._outbox.prepare(north_of(typo))
    study._outbox.leaves_for(prepared, PROXY_0)
    assert study.submit(north_of(right)).offer.revision == 2
    assert held(nodes, manifest) == [2, 2]
    check_result(nodes, "cut-off", right, fresh(30))


def test_the_same_rows_in_another_order_are_the_same_data(nodes: Trials) -> None:
    manifest = nodes.study("order")
    labels, scores = fresh(200)  # with ties
    study = Study(nodes.kit("north"), "order")
    first = study.submit(north_of((labels, scores)))
    order = np.random.default_rng(1).permutation(200)
    assert study.submit(north_of((labels[order], scores[order]))) == first
    changed = labels.copy()
    changed[3] = not changed[3]
    with pytest.raises(InputError, match="other data was submitted"):
        study.submit(north_of((changed, scores)))
    assert held(nodes, manifest) == [1, 1]


def test_a_replacement_takes_the_place(nodes: Trials, run: RunCommand, tmp_path: Path) -> None:
    """One command mends a wrong file; the receipt carries what happened."""
    manifest = nodes.study("replaced")
    typo, right, others = fresh(30), fresh(40), fresh(30)
    kit, arguments = nodes.kit("north"), ("--study", "replaced", "--yes")
    before = nodes.shares(), nodes.shares("proxy-1")
    for data, more in ((typo, ()), (right, ("--replace",)), (right, ("--replace",))):
        file = write_csv(tmp_path / "data.csv", *data)
        code, said = run("submit", kit, file, *arguments, *more)
        assert (code, "proxy 0 and proxy 1 have acknowledged" in said) == (0, True)
    assert held(nodes, manifest) == [2, 2]
    assert [len(nodes.shares(node) - had) for node, had in zip(NODES, before, strict=False)] == [1, 1]
    check_result(nodes, "replaced", right, others)
    receipt = Study(kit, "replaced").result().receipt
    for server in (PROXY_0, PROXY_1):
        told = receipt.statement(server)
        assert told is not None
        mine = [entry for entry in told.history if entry.owner == "north"]
        assert [entry.event for entry in mine] == [HistoryEvent.SUBMITTED, HistoryEvent.REPLACED]
        assert mine[1].commitments == receipt.commitments["north"]
        assert mine[0].commitments != mine[1].commitments
        assert mine[0].at <= mine[1].at


def test_a_withdrawal_is_acknowledged_by_both(nodes: Trials, run: RunCommand, tmp_path: Path) -> None:
    """Shares are gone, an old upload does not come back, other data can be submitted."""
    manifest = nodes.study("taken-back")
    typo, right = fresh(30), fresh(30)
    kit, arguments = nodes.kit("north"), ("--study", "taken-back", "--yes")
    study = Study(kit, "taken-back")
    assert "nothing to withdraw" in run("withdraw", kit, *arguments)[1]
    before = nodes.shares(), nodes.shares("proxy-1")
    sent = study.submit(north_of(typo))
    bodies = {server: study._outbox.body(server) for server in PROXIES}
    code, said = run("withdraw", kit, *arguments)
    assert (code, "proxy 0 and proxy 1 have acknowledged, and deleted their shares" in said) == (0, True)
    assert run("withdraw", kit, *arguments)[0] == 0
    assert (nodes.shares(), nodes.shares("proxy-1")) == before
    for server in PROXIES:
        client = nodes.client("north", manifest, server)
        assert nodes.refusal(lambda c=client, s=server: c.submit(sent.offer, bodies[s])) == "superseded"  # type: ignore[misc]
    code, said = run("status", kit, "--study", "taken-back")
    assert (code, "north (withdrawn)" in said) == (0, True)
    assert "withdrawn: proxy 0 and proxy 1 acknowledged it" in said
    assert [path.name for path in (kit / "outbox/taken-back").iterdir()] == ["submission.json"]
    file = write_csv(tmp_path / "right.csv", *right)
    assert run("submit", kit, file, *arguments)[0] == 0
    assert held(nodes, manifest) == [3, 3]
    check_result(nodes, "taken-back", right, fresh(30))


def test_a_withdrawal_that_one_has_heard_of_is_completed(
    nodes: Trials, way: Way, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the nodes themselves; no attempt begins meanwhile, and the owner is told who lacks it."""
    manifest = nodes.study("half", ports={str(nodes.addresses["proxy-1"][1]): way.port})
    monkeypatch.setattr(delivery, "_SECONDS_FOR_OTHERS", 0.5)
    for owner in PAIR:
        Study(nodes.kit(owner), "half").submit(check_samples(owner, *fresh(30)))
    study = Study(nodes.kit("north"), "half")
    with pytest.raises(PeerTimeoutError, match="proxy 1 has not heard of the withdrawal") as told:
        study.withdraw()
    assert "proxy 0 has recorded the withdrawal: nothing will be computed" in told.value.__notes__[0]
    assert held(nodes, manifest) == [0, 1]
    assert "proxy 0 acknowledged it, proxy 1 did not" in study.sent(study.status())
    way.is_open = True
    assert becomes(lambda: held(nodes, manifest) == [0, 0])
    study.withdraw()
    assert study.sent(study.status()) == "withdrawn: proxy 0 and proxy 1 acknowledged it"
    with nodes.store("proxy-0") as store:
        assert not store.has_begun(manifest.hash)


def test_what_is_newer_on_one_side_is_waited_for(nodes: Trials) -> None:
    """A replacement that has reached proxy 0 only: no attempt begins; the same call completes it."""
    manifest = nodes.study("newer")
    study = Study(nodes.kit("north"), "newer")
    typo, right, others = fresh(30), fresh(30), fresh(30)
    study.submit(north_of(typo))
    client = study._clients[PROXY_1]
    study._clients[PROXY_1] = nodes.client("north", manifest, PROXY_1)
    study._clients[PROXY_1].port = free_ports(1)[0]
    with pytest.raises(PeerError, match="proxy 1 cannot be reached"):
        study.submit(north_of(right), replace=True)
    assert held(nodes, manifest) == [2, 1]
    Study(nodes.kit("harbour"), "newer").submit(check_samples("harbour", *others))
    waits = "has withdrawn or replaced its submission, and not all nodes have it"
    assert becomes(lambda: waits in nodes.client("north", manifest).status().note)
    study._clients[PROXY_1] = client
    study.submit(north_of(right))
    assert study.wait(timeout=300).auroc == pooled(right, others)


def test_it_is_too_late_when_the_computation_has_begun(nodes: Trials) -> None:
    """What was submitted stands, and its owner can tell."""
    manifest = nodes.study("begun")
    study = Study(nodes.kit("north"), "begun")
    typo, right = fresh(30), fresh(30)
    study.submit(north_of(typo))
    with nodes.store("proxy-0") as store:
        store.begin_attempt(manifest.hash, 1)
        store.fail_attempt(manifest.hash, 1, "cut off", counts=False)
        with pytest.raises(BegunError):
            store.withdraw(manifest.hash, "north", 2)
    for change in (study.withdraw, lambda: study.submit(north_of(right), replace=True)):
        with pytest.raises(RefusedError, match="the computation has begun") as refused:
            change()
        assert refused.value.code == "begun"
    assert held(nodes, manifest) == [1, 1]
    assert study.is_submitted
    study.submit(north_of(typo))
    assert study.sent(study.status()) == "30 samples: proxy 0 and proxy 1 acknowledged it"


def test_two_processes_at_once(nodes: Trials) -> None:
    nodes.study("at-once")
    first, second = (Study(nodes.kit("north"), "at-once") for _ in range(2))
    with first._outbox.alone():
        for act in (lambda: second.submit(north_of(fresh(30))), second.withdraw):
            with pytest.raises(InputError, match="another process is submitting to the study 'at-once'"):
                act()
    assert second.submit(north_of(fresh(30))).offer.revision == 1


def test_a_copy_of_the_lock_holds_nobody_up(nodes: Trials) -> None:
    """As a process has for a moment that another thread starts meanwhile."""
    nodes.study("lock")
    study = Study(nodes.kit("north"), "lock")
    with study._outbox.alone():
        lock = (nodes.kit("north") / "outbox/.lock.lock").stat()
        held = [fd for fd in range(3, 256) if _is(fd, lock)]
        copies = [os.dup(fd) for fd in held]
    try:
        assert held
        with study._outbox.alone():
            pass
    finally:
        for copy in copies:
            os.close(copy)


def _is(descriptor: int, found: os.stat_result) -> bool:
    with contextlib.suppress(OSError):
        return os.path.samestat(os.fstat(descriptor), found)
    return False


def test_an_operator_stops_and_deletes(nodes: Trials, run: RunCommand, tmp_path: Path) -> None:
    """Owners see it, shares are gone at once, and neither the study nor its name comes back."""
    manifest = nodes.study("ended")
    study, before = Study(nodes.kit("north"), "ended"), nodes.shares("proxy-1")
    study.submit(north_of(fresh(30)))
    node = nodes.kit("proxy-1")
    assert run("stop", node, "ended")[0] == 0
    assert "there is nothing to stop" in run("stop", node, "ended")[1]
    answer = study.status()["proxy 1"]
    assert (answer.state, answer.note) == (
        "stopped",
        "this node's operator stopped the study; they let it go on with 'ppaurora retry'",
    )
    assert run("retry", node, "ended")[0] == 0
    assert study.status()["proxy 1"].state == "collecting"
    code, said = run("delete", node, "ended", "--yes")
    assert (code, "ended is deleted at this node, with 1 shares; a new study takes a new name" in said) == (
        0,
        True,
    )
    assert nodes.shares("proxy-1") == before
    answer = study.status()["proxy 1"]
    assert (answer.state, answer.note) == (
        "deleted",
        "this node's operator deleted the study; owners without a result need a new study",
    )
    code, said = run("delete", node, "ended", "--yes")
    assert (code, "is deleted here; there is nothing to delete" in said) == (2, True)
    with pytest.raises(RefusedError, match="operator has deleted the study; nothing was stored"):
        nodes.upload(manifest).send(nodes.client("harbour", manifest, PROXY_1))
    with nodes.store("proxy-1") as store, pytest.raises(InputError, match="is over here"):
        store.accept(manifest)
    harbour = Study(nodes.kit("harbour"), "ended")
    data = write_csv(tmp_path / "data.csv", *fresh(30))
    code, said = run("submit", nodes.kit("harbour"), data, "--study", "ended", "--yes")
    assert (code, "proxy 1 refused (deleted)" in said) == (2, True)
    assert becomes(lambda: harbour.status()["proxy 0"].state == "stopped")
    assert "the study is deleted there" in harbour.status()["proxy 0"].note
