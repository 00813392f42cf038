"""A node that cannot be asked: what is said of it sends people the right way, and who can act is named."""

from __future__ import annotations

import contextlib
import datetime
import re
import socket
import ssl
import threading
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from ppaurora.channel.tls import HungUpError
from ppaurora.credentials import certificates
from ppaurora.errors import InputError, PeerError, PeerLostError, PeerMisbehavedError, PeerTimeoutError
from ppaurora.messages.findings import Finding
from ppaurora.owner.client import NodeClient
from ppaurora.setup.preflight import check_node, check_owner
from ppaurora.study.kit import NodeKit, OwnerKit
from ppaurora.study.provision import provision
from tests.support.deployment import free_ports
from tests.support.tls_peers import Conversation
from tests.support.trials import PAIR, PROXY_0, PROXY_1, RunCommand, Trials


@pytest.fixture(scope="module")
def forgotten(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Trials]:
    """Two nodes run; the operator of proxy 0 has forgotten to accept the study."""
    trials = Trials(tmp_path_factory.mktemp("forgotten"), PAIR)
    trials.accept(names=["proxy-1"])
    trials.start("proxy-0", "proxy-1")
    yield trials
    assert set(trials.stop().values()) == {0}


def test_a_node_that_has_not_accepted_the_study_is_no_matter_of_the_network(
    forgotten: Trials, run: RunCommand
) -> None:
    code, said = run("preflight", forgotten.kit("north"))
    assert code == 2
    assert "ok   proxy 0 reached: " in said
    assert "BAD  proxy 0 knows the study: " in said
    assert "it has probably not accepted this study yet" in said
    assert "ask the operator of proxy 0 to run 'ppaurora accept KIT MANIFEST'" in said
    for network in ("firewall", "outgoing TCP", "cannot be reached", "HTTPS_PROXY"):
        assert network not in said
    assert "ok   proxy 1 knows the study" in said


def test_nodes_say_the_same_of_each_other(forgotten: Trials, run: RunCommand) -> None:
    code, said = run("preflight", forgotten.kit("proxy-1"))
    assert code == 2
    ((line, fix),) = re.findall(r"BAD  (proxy 0 reached for trial: .*)\n     -> (.*)\n", said)
    assert "it has probably not accepted this study yet" in line
    assert "ask the operator of proxy 0 to run 'ppaurora accept KIT MANIFEST'" in fix
    assert "open TCP" not in fix


def test_its_log_warns_of_whom_it_turns_away(forgotten: Trials, run: RunCommand) -> None:
    """Once in a while, however often they come."""
    for _ in range(3):
        run("status", forgotten.kit("north"))
    told = [
        line
        for line in forgotten.events("proxy-0")
        if "owners' port" in line["event"] and line["level"] == "warning"
    ]
    assert len(told) == 1
    assert told[0]["reason"].startswith("CERTIFICATE_VERIFY_FAILED: ")
    assert "has it been accepted here ('ppaurora studies KIT')" in told[0]["do"]


def test_a_node_that_knows_another_study_alone(forgotten: Trials) -> None:
    """Its authorities are trusted, and the refusal has a code."""
    owner = forgotten.owner("north")
    plan = forgotten.folder / "other.toml"
    plan.write_text(forgotten.planned("other"))
    manifest = provision(plan, forgotten.folder / "other", forgotten.folder / "kits")
    owner.add(manifest)
    found = {finding.name: finding for finding in check_owner(owner, "other")}
    assert "refused (unknown-study)" in found["proxy 1 knows the study"].detail
    fix = found["proxy 1 knows the study"].fix
    assert fix.startswith("ask its operator to run 'ppaurora accept KIT MANIFEST'")
    assert "TCP" not in fix
    (told,) = [line for line in forgotten.events("proxy-1") if "not accepted is asked for" in line["event"]]
    assert told["level"] == "warning"
    assert told["do"].endswith(f"ppaurora accept {forgotten.kit('proxy-1')} MANIFEST")


@contextlib.contextmanager
def answering(conversation: Conversation) -> Iterator[int]:
    """A port where one connection is answered like this."""

    def serve() -> None:
        with contextlib.suppress(OSError):
            raw, _ = listener.accept()
            with raw:
                conversation(raw)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=serve)
        thread.start()
        yield listener.getsockname()[1]
        listener.shutdown(socket.SHUT_RDWR)
        thread.join()


def asked(trials: Trials, port: int, host: str = "127.0.0.1", seconds: float = 60.0) -> PeerError:
    """What is said of proxy 0 if it is at this port."""
    client = NodeClient(trials.owner("north"), trials.manifest, PROXY_0, seconds)
    client.host, client.port = host, port
    with pytest.raises(PeerError) as caught:
        client.status()
    assert caught.value.__notes__ == [caught.value.advice]
    return caught.value


@pytest.fixture
def trials(consortium: Trials, monkeypatch: pytest.MonkeyPatch) -> Trials:
    for name in ("HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
    return consortium


def test_a_name_that_nobody_knows(trials: Trials, monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(*_: object, **__: object) -> object:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    error = asked(trials, 8443, "proxy.example.org")
    assert type(error) is PeerLostError
    assert error.problem == "cannot be reached at proxy.example.org:8443: Name or service not known"
    assert error.advice.startswith("no machine is known by this name here: ask the operator of proxy 0")


def test_a_port_where_nobody_listens(trials: Trials) -> None:
    error = asked(trials, free_ports(1)[0])
    assert type(error) is PeerLostError
    assert "Connection refused" in error.problem
    assert "nothing listens at this port: ask the operator of proxy 0 whether the node runs" in error.advice


def test_an_address_where_nothing_answers(trials: Trials, monkeypatch: pytest.MonkeyPatch) -> None:
    def silent(*_: object, **__: object) -> object:
        raise TimeoutError("timed out")

    monkeypatch.setattr(socket, "create_connection", silent)
    error = asked(trials, 8443, "192.0.2.1")
    assert type(error) is PeerTimeoutError
    assert "did not answer in time" in error.problem
    assert "to open outgoing TCP to 192.0.2.1:8443, or set HTTPS_PROXY" in error.advice


def test_a_connection_that_is_ended_before_anybody_shows_a_certificate(trials: Trials) -> None:
    def end(raw: socket.socket) -> None:
        raw.recv(5)

    with answering(end) as port:
        error = asked(trials, port)
    assert type(error) is PeerLostError
    assert "in the TLS handshake" in error.problem
    assert "whether a firewall ends TLS connections" in error.advice
    assert "accept" not in error.advice.replace("accepted the connection", "")


def test_somebody_who_says_nothing(trials: Trials) -> None:
    with socket.create_server(("127.0.0.1", 0)) as mute:
        error = asked(trials, mute.getsockname()[1], seconds=0.5)
    assert type(error) is PeerTimeoutError
    assert "the connection was accepted: ask the operator of proxy 0" in error.advice


def test_another_service(trials: Trials) -> None:
    with answering(lambda raw: raw.sendall(b"220 mail.example.org ESMTP\r\n")) as port:
        error = asked(trials, port)
    assert type(error) is PeerMisbehavedError
    assert "something else than the node answers there" in error.advice


def tls_with(certificate: Path, key: Path) -> Conversation:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)

    def converse(raw: socket.socket) -> None:
        with context.wrap_socket(raw, server_side=True) as sock:
            sock.recv(1)

    return converse


def test_a_web_proxy_that_opens_tls(trials: Trials, tmp_path: Path) -> None:
    """It has a certificate for every name, of an authority that the manifest does not know."""
    issued = certificates.Authority.make("inspection", datetime.timedelta(days=9)).issue(
        "proxy.example.org", datetime.timedelta(days=9)
    )
    (tmp_path / "c.pem").write_bytes(issued.certificate)
    (tmp_path / "k.pem").write_bytes(issued.key)
    with answering(tls_with(tmp_path / "c.pem", tmp_path / "k.pem")) as port:
        error = asked(trials, port)
    assert type(error) is PeerMisbehavedError
    assert "no authority of this study has signed the certificate that is shown there" in error.problem
    assert "a firewall or a web proxy that opens TLS" in error.advice
    assert f"to let connections to 127.0.0.1:{port} pass unopened" in error.advice


def test_the_address_of_another_node(trials: Trials) -> None:
    kit = trials.kit("proxy-1")
    with answering(tls_with(kit / "certificate.pem", kit / "key.pem")) as port:
        error = asked(trials, port)
    assert type(error) is PeerMisbehavedError
    assert error.problem == f"at 127.0.0.1:{port} has the key of proxy 1; nothing was sent"
    assert "may be mixed up" in error.advice


def test_the_key_of_an_owner(trials: Trials) -> None:
    kit = trials.kit("harbour")
    with answering(tls_with(kit / "certificate.pem", kit / "key.pem")) as port:
        error = asked(trials, port)
    assert "has another key than the manifest says; nothing was sent" in error.problem


def test_a_node_that_breaks_off_when_it_knows_who_is_there(trials: Trials) -> None:
    kit = trials.kit("proxy-0")
    with answering(tls_with(kit / "certificate.pem", kit / "key.pem")) as port:
        error = asked(trials, port)
    assert type(error) is HungUpError
    assert isinstance(error, PeerLostError)  # who waits asks again


def in_days(monkeypatch: pytest.MonkeyPatch, days: float) -> None:
    """This machine's clock is so far off."""

    class Clock(datetime.datetime):
        @classmethod
        def now(cls, tz: datetime.tzinfo | None = None) -> Clock:
            return super().now(tz) + datetime.timedelta(days=days)

    shifted = SimpleNamespace(**{**vars(datetime), "datetime": Clock})
    monkeypatch.setattr(certificates, "datetime", shifted)


@pytest.mark.parametrize("name", ["north", "proxy-1"])
def test_a_clock_that_is_behind_is_named_as_that(
    trials: Trials, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """Nobody has a certificate before it was made: there is no need for a renewed one."""
    in_days(monkeypatch, -3)
    found = {finding.name: finding for finding in _preflight(trials, name)}
    certificate = found["certificate"]
    assert not certificate.ok
    assert re.search(
        r"is not valid before \d{4}-\d\d-\d\d \d\d:\d\d UTC, and this machine's clock says ",
        certificate.detail,
    )
    assert certificate.fix == "this machine's clock is behind: set it, for instance with NTP"


def _preflight(trials: Trials, name: str) -> list[Finding]:
    kit = trials.kit(name)
    return list(
        check_owner(OwnerKit.read(kit), "trial") if name == "north" else check_node(NodeKit.read(kit))
    )


def test_whoever_submits_hears_of_the_clock_before_anything_is_sent(
    trials: Trials, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = NodeClient(trials.owner("north"), trials.manifest, PROXY_1, 60.0)
    in_days(monkeypatch, -3)
    with pytest.raises(InputError, match=r"is not valid before .* this machine's clock is behind: set it"):
        client.status()
    in_days(monkeypatch, 5 * 365)
    with pytest.raises(
        InputError, match=r"expired on .* check this machine's clock; if it is right, ask for"
    ):
        client.status()
