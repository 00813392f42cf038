"""What a node says is taken strictly, within bounds, and shown without control of a terminal."""

from __future__ import annotations

import contextlib
import http.client
import json
import shutil
import ssl
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ppaurora.channel.tls import listen
from ppaurora.data import check_samples
from ppaurora.errors import PeerError, PeerMisbehavedError, RefusedError
from ppaurora.io.models import to_json
from ppaurora.messages.nodes import Answer, Hello, Verdict
from ppaurora.messages.owners import ReleasedPart, Submitted
from ppaurora.node.questions import ask
from ppaurora.owner.study import Study
from ppaurora.sharing.commitment import Salt
from ppaurora.study.kit import NodeKit
from tests.support.bad_input import PLANTED
from tests.support.deployment import samples
from tests.support.false_nodes import Says, false_node, response
from tests.support.trials import PAIR, PROXY_1, Trials, nothing_submitted, part

STEERING = "\x1b[2J" + PLANTED


@pytest.fixture(scope="module")
def quiet(tmp_path_factory: pytest.TempPathFactory) -> Trials:
    """A consortium whose nodes do not run."""
    return Trials(tmp_path_factory.mktemp("quiet"), PAIR)


@pytest.fixture
def at_nodes_port(quiet: Trials) -> Iterator[Says]:
    with false_node(quiet, "proxy-1", quiet.addresses["proxy-1"][1], b"\n") as say:
        yield say


@pytest.fixture
def at_owners_port(quiet: Trials) -> Iterator[Says]:
    port = quiet.addresses["proxy-1"][0]
    assert port is not None
    with false_node(quiet, "proxy-1", port, b"\r\n\r\n") as say:
        yield say


def hello(quiet: Trials) -> Answer:
    leader = NodeKit.read(quiet.kit("proxy-0"))
    return ask(leader, quiet.manifest, PROXY_1, Hello(study=quiet.manifest.hash), 60)


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"\n",
        b'{"answer":"hello"',
        b'{"answer":"perhaps"}\n',
        b'{"answer":5}\n',
        b'{"answer":"ready","last":"1"}\n',
        b'{"answer":"ready","last":-1}\n',
        b'{"answer":"ready","last":1000000001}\n',
        b'{"answer":"ready","last":%s}\n' % (b"9" * 5000),
        b'{"answer":"ready","last":1e999}\n',
        b'{"answer":"ready","last":1.0}\n',
        b'{"answer":"ready","note":null}\n',
        b'{"answer":"ready","%s":1}\n' % PLANTED.encode(),
        b'{"answer":"ready","note":"%s"} {}\n' % PLANTED.encode(),
        b'{"answer":"ready","note":"\xff%s"}\n' % PLANTED.encode(),
        b"[" * 100_000 + b"\n",
        b'{"answer":' * 100_000 + b"\n",
        b"x" * (5 << 20),
    ],
    ids=lambda line: f"{line[:30].decode('latin-1')!r}, {len(line)}",
)
def test_answers_of_nodes_that_are_none(quiet: Trials, at_nodes_port: Says, line: bytes) -> None:
    at_nodes_port(line)
    with pytest.raises(PeerError) as caught:
        hello(quiet)
    assert caught.value.peer == "proxy 1"
    assert PLANTED not in str(caught.value)
    assert len(str(caught.value)) < 300


def test_a_nodes_words_are_cut_short_and_steer_nothing(quiet: Trials, at_nodes_port: Says) -> None:
    long = Answer(answer=Verdict.HELLO, note=STEERING + "x" * 100_000, version=STEERING)
    at_nodes_port(to_json(long) + b"\n")
    heard = hello(quiet)
    assert heard.note.startswith(f"?[2J{PLANTED}x")
    assert len(heard.note) == 500
    assert heard.version == f"?[2J{PLANTED}"


def test_a_node_with_another_nodes_key_is_not_believed(quiet: Trials) -> None:
    """Also one that the same authority vouches for."""
    with false_node(quiet, "helper", quiet.addresses["proxy-1"][1], b"\n") as say:
        say(to_json(Answer(answer=Verdict.HELLO)) + b"\n")
        with pytest.raises(PeerMisbehavedError, match="not the one pinned"):
            hello(quiet)


def test_what_leaves_an_owner_is_on_record_before(
    quiet: Trials, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else a crash in between would leave an owner that does not know what it has sent."""
    shutil.copytree(quiet.kit("north"), tmp_path / "kit", ignore=shutil.ignore_patterns("outbox"))
    study = Study(tmp_path / "kit")
    on_record: list[tuple[str, tuple[str, ...]]] = []
    request = http.client.HTTPSConnection.request

    def watched(connection: Any, method: str, *arguments: Any) -> None:
        found = study.submitted
        assert found is not None
        on_record.append((method, found.sent))
        request(connection, method, *arguments)

    monkeypatch.setattr(http.client.HTTPSConnection, "request", watched)
    port = quiet.addresses["proxy-0"][0]
    assert port is not None
    with false_node(quiet, "proxy-0", port, b"\r\n\r\n") as say:
        say(response(b"{}"))
        with pytest.raises(PeerMisbehavedError):
            study.submit(check_samples("north", *samples(20, 1)))
    assert on_record == [("PUT", ("proxy-0",))]


def status(quiet: Trials, **other: Any) -> dict[str, Any]:
    return {**json.loads(to_json(nothing_submitted(quiet.manifest))), **other}


@pytest.mark.parametrize(
    "changed",
    [
        {"state": "perhaps"},
        {"study": "0" * 63},
        {"missing": "north"},
        {"missing": [5]},
        {"attempt": "1"},
        {"time": "now"},
        {PLANTED: 1},
    ],
    ids=str,
)
def test_answers_to_owners_that_are_none(
    quiet: Trials, at_owners_port: Says, changed: dict[str, Any]
) -> None:
    client = quiet.client("north", quiet.manifest, PROXY_1)
    at_owners_port(response(json.dumps(status(quiet, **changed)).encode()))
    with pytest.raises(PeerMisbehavedError, match="ppaurora does not know") as caught:
        client.status()
    assert PLANTED not in str(caught.value)


@pytest.mark.parametrize(
    "said",
    [
        b"",
        b"no HTTP\r\n\r\n",
        response(b""),
        response(b"no JSON"),
        response(b"{}", length=100),
        response(b"[" * 100_000),
        response(b" " * (17 << 20) + b"{}"),
        response(b"{}", "500 no"),
        response(b'{"error":{"code":5,"message":""}}', "404 no"),
        response(b"HTTP/1.1 " + b"x" * 100_000, "302 elsewhere"),
    ],
    ids=lambda said: f"{said[:50].decode('latin-1')!r}, {len(said)}",
)
def test_answers_to_owners_that_are_not_even_json(quiet: Trials, at_owners_port: Says, said: bytes) -> None:
    at_owners_port(said)
    with pytest.raises(PeerError) as caught:
        quiet.client("north", quiet.manifest, PROXY_1).status()
    assert caught.value.peer == "proxy 1"
    assert len(str(caught.value)) < 300


def test_all_that_owners_are_told_can_be_shown(quiet: Trials, at_owners_port: Says) -> None:
    """Also what stands in lists: `watch=print` of an owner's script prints it as it is."""
    client = quiet.client("north", quiet.manifest, PROXY_1)
    texts = ("name", "note", "progress", "version", "server")
    told = status(quiet, missing=[STEERING], submitted=[STEERING], **dict.fromkeys(texts, STEERING))
    at_owners_port(response(json.dumps(told).encode()))
    heard = client.status()
    shown = f"?[2J{PLANTED}"
    assert (heard.missing, heard.submitted) == ((shown,), (shown,))
    assert {getattr(heard, name) for name in texts} == {shown}
    refusal = {"error": {"code": STEERING, "message": STEERING}}
    at_owners_port(response(json.dumps(refusal).encode(), "404 no"))
    with pytest.raises(RefusedError) as caught:
        client.status()
    assert "\x1b" not in str(caught.value) + caught.value.code
    released = ReleasedPart(
        study=quiet.manifest.hash,
        owner="north",
        attempt=1,
        protocol_version=quiet.manifest.version,
        submissions=(Submitted(owner=STEERING, samples=5, commitments=("0" * 64,) * 2),),
        part=part([0, 1, 2, 3]),
        salt=Salt(bytes(32)),
        statements=(),
    )
    at_owners_port(response(to_json(released)))
    heard_part = client.release()
    assert [one.owner for one in heard_part.submissions] == [shown]
    assert heard_part.part.to_bytes() == released.part.to_bytes()


def test_a_node_whose_line_never_ends_is_not_waited_for(quiet: Trials) -> None:
    """There is one deadline for a whole answer."""
    with listen("127.0.0.1", quiet.addresses["proxy-1"][1]) as listener:
        context = NodeKit.read(quiet.kit("proxy-1")).identity(quiet.manifest).context(ssl.Purpose.CLIENT_AUTH)

        def trickle() -> None:
            raw, _ = listener.accept()
            stopped = threading.Event()
            with contextlib.suppress(OSError), raw, context.wrap_socket(raw, server_side=True) as sock:
                while not stopped.wait(0.1):
                    sock.sendall(b" ")

        thread = threading.Thread(target=trickle, daemon=True)
        thread.start()
        leader = NodeKit.read(quiet.kit("proxy-0"))
        with pytest.raises(PeerError, match="did not answer in time"):
            ask(leader, quiet.manifest, PROXY_1, Hello(study=quiet.manifest.hash), 1.0)
        thread.join(60)
        assert not thread.is_alive()
