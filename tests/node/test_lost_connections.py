"""Connections that are lost, after any number of bytes: the peer is lost and does not misbehave."""

from __future__ import annotations

import contextlib
import shutil
import ssl
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from ppaurora.channel.tls import HungUpError, reaching
from ppaurora.data import check_samples
from ppaurora.errors import PeerLostError, PeerMisbehavedError, PpauroraError
from ppaurora.messages.nodes import Hello, Verdict
from ppaurora.node.questions import ask
from ppaurora.owner import study as owners_study
from ppaurora.owner.client import NodeClient
from ppaurora.owner.study import Study
from ppaurora.study.kit import NodeKit
from ppaurora.study.manifest import Manifest
from tests.support.deployment import samples
from tests.support.relay import CuttingRelay
from tests.support.trials import PAIR, PROXY_0, Trials, becomes

# Every study here has the same data.
pytestmark = pytest.mark.filterwarnings("ignore::ppaurora.OverlapWarning")

STEPS = 30  # of places where a connection is cut
RESET = pytest.mark.parametrize("reset", [False, True], ids=["closed", "reset"])


@pytest.fixture
def relay(running: Trials) -> Iterator[CuttingRelay]:
    """Between owners and proxy 0."""
    port = running.addresses["proxy-0"][0]
    assert port is not None
    with contextlib.closing(CuttingRelay(port)) as relay:
        yield relay


@pytest.fixture(scope="module")
def released(running: Trials) -> Manifest:
    manifest = running.study("lost-connections")
    for place, owner in enumerate(PAIR):
        Study(running.kit(owner), manifest.study).submit(check_samples(owner, *samples(30, 60 + place)))
    study = Study(running.kit("north"), manifest.study)
    assert becomes(lambda: {one.state for one in study.status().values()} == {"released"})
    return manifest


def places(relay: CuttingRelay) -> list[int]:
    """In the handshake, the request and the answer of what the last connection carried."""
    whole = relay.carried[-1]
    assert whole > 1000
    return [*range(1, whole, whole // STEPS), whole - 30, whole - 200]


def through(relay: CuttingRelay, client: NodeClient) -> NodeClient:
    client.port = relay.port
    return client


def raised_by(ends: list[PpauroraError | None]) -> set[type]:
    return {type(end) for end in ends if end is not None}


def ends_of(call: Callable[[], object], relay: CuttingRelay, *, reset: bool) -> list[PpauroraError | None]:
    """What became of a call, which has gone through whole, over connections that are cut; None if it did."""
    assert becomes(lambda: relay.carried[-1] > 1000)
    ends: list[PpauroraError | None] = []
    for place in places(relay):
        relay.cut(place, reset=reset)
        try:
            call()
        except PpauroraError as error:
            ends.append(error)
        else:
            ends.append(None)
    return ends


def fetched(relay: CuttingRelay, client: NodeClient, *, reset: bool) -> list[PpauroraError | None]:
    """What became of fetching a part of the result over connections that are cut; None where it arrived."""
    relay.cut(None)
    assert through(relay, client).release()
    return ends_of(client.release, relay, reset=reset)


@RESET
def test_an_answer_that_is_cut_off_is_a_lost_node(
    nodes: Trials, released: Manifest, relay: CuttingRelay, reset: bool
) -> None:
    ends = fetched(relay, nodes.client("north", released), reset=reset)
    assert raised_by(ends) == {PeerLostError, HungUpError}
    assert len([end for end in ends if end is None]) < 3
    for end in filter(None, ends):
        assert f"at 127.0.0.1:{relay.port}" in str(end)
        assert ("probably not accepted this study" in str(end)) == isinstance(end, HungUpError)
        assert "IncompleteRead" not in str(end)


def test_who_takes_every_error_of_tls_for_a_fault_would_blame_the_node(
    nodes: Trials, released: Manifest, relay: CuttingRelay, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The positive control."""
    monkeypatch.setattr(reaching, "is_lost", lambda error: not isinstance(error, ssl.SSLError))
    assert PeerMisbehavedError in raised_by(fetched(relay, nodes.client("north", released), reset=False))


@RESET
def test_who_waits_fetches_again(
    nodes: Trials,
    released: Manifest,
    relay: CuttingRelay,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    reset: bool,
) -> None:
    """The last connection of `wait` is cut off: the next look fetches the result."""
    monkeypatch.setattr(owners_study, "_SECONDS_BETWEEN_LOOKS", 0.01)

    def study(number: int) -> Study:
        kit = tmp_path / f"north-{number}"
        shutil.copytree(nodes.kit("north"), kit, ignore=shutil.ignore_patterns("inbox", "results"))
        study = Study(kit, released.study)
        through(relay, study._clients[PROXY_0])
        return study

    first = study(0).wait(timeout=60)
    for number, place in enumerate(places(relay)[::4], 1):
        before = len(relay.carried)
        relay.cut(place, spared=1, reset=reset)  # the first one asks for the state
        assert study(number).wait(timeout=60).auroc == first.auroc
        assert len(relay.carried) - before >= 2


@pytest.fixture
def between(running: Trials, monkeypatch: pytest.MonkeyPatch) -> Iterator[CuttingRelay]:
    """Between the other nodes and proxy 0."""
    port = int(running.manifest.node(PROXY_0).nodes_address.rpartition(":")[2])
    with contextlib.closing(CuttingRelay(port)) as relay:
        monkeypatch.setattr(Manifest, "addresses", lambda _: {PROXY_0: ("127.0.0.1", relay.port)})
        yield relay


def asked(nodes: Trials, between: CuttingRelay, *, reset: bool) -> list[PpauroraError | None]:
    """What became of a question that helper asks proxy 0."""
    kit, manifest = NodeKit.read(nodes.kit("helper")), nodes.manifest
    question = Hello(study=manifest.hash)
    between.cut(None)
    assert ask(kit, manifest, PROXY_0, question, 60.0).answer is Verdict.HELLO
    return ends_of(lambda: ask(kit, manifest, PROXY_0, question, 60.0), between, reset=reset)


@RESET
def test_a_question_that_is_cut_off_is_a_lost_node(nodes: Trials, between: CuttingRelay, reset: bool) -> None:
    ends = asked(nodes, between, reset=reset)
    assert raised_by(ends) == {PeerLostError, HungUpError}
    assert len([end for end in ends if end is None]) < 3
    said = [str(end) for end in ends if end is not None]
    # Only between the handshake and the answer it may be that the peer does not know the study.
    assert "probably not accepted" not in said[0]
    assert [isinstance(end, HungUpError) for end in ends if end is not None] == [
        "probably not accepted" in text for text in said
    ]


def test_who_takes_every_error_of_tls_for_a_fault_would_blame_the_peer(
    nodes: Trials, between: CuttingRelay, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The positive control."""
    monkeypatch.setattr(reaching, "is_lost", lambda error: not isinstance(error, ssl.SSLError))
    assert PeerMisbehavedError in raised_by(asked(nodes, between, reset=False))
