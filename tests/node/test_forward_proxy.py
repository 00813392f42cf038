"""Owners behind a forward proxy."""

from __future__ import annotations

import contextlib
import socket

import pytest

from ppaurora.errors import PpauroraError
from tests.support.relay import Between, pass_on
from tests.support.trials import Trials


class ConnectProxy(Between):
    """A forward proxy: CONNECT, an answer, then bytes in both directions."""

    def __init__(self, answer: bytes = b"HTTP/1.1 200 OK\r\n\r\n") -> None:
        self.requests: list[str] = []
        self._answer = answer
        super().__init__()
        self.address = f"127.0.0.1:{self.port}"

    def serve(self, client: socket.socket) -> None:
        head = b""
        while not head.endswith(b"\r\n\r\n"):
            head += client.recv(1)
        self.requests.append(head.decode())
        client.sendall(self._answer)
        if b" 200 " in self._answer:
            host, port = head.split()[1].decode().rsplit(":", 1)
            pass_on(client, (host, int(port)))


@pytest.fixture
def environment(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    for name in ("HTTPS_PROXY", "https_proxy", "NO_PROXY", "no_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
    return monkeypatch


def test_https_proxy_is_honoured(nodes: Trials, environment: pytest.MonkeyPatch) -> None:
    """TLS goes through it unopened: requests work, pins are checked, it sees addresses only."""
    client = nodes.client("north", nodes.manifest)
    with contextlib.closing(ConnectProxy()) as proxy:
        environment.setenv("HTTPS_PROXY", f"http://{proxy.address}")
        assert client.status().state == "collecting"
        assert [request.split()[:2] for request in proxy.requests] == [["CONNECT", client.where]]
        environment.setenv("NO_PROXY", "127.0.0.1")
        assert client.status().state == "collecting"
        assert len(proxy.requests) == 1
        environment.delenv("NO_PROXY")
        client._pin = "0" * 64  # its own key is then that of somebody else
        with pytest.raises(PpauroraError, match="has the key of proxy 0; nothing was sent"):
            client.status()
        assert len(proxy.requests) == 2
    with contextlib.closing(ConnectProxy(b"HTTP/1.1 403 Forbidden\r\n\r\n")) as proxy:
        environment.setenv("HTTPS_PROXY", f"http://{proxy.address}")
        with pytest.raises(PpauroraError, match="cannot be reached") as refused:
            nodes.client("north", nodes.manifest).status()
        assert refused.value.exit_code == 3


def test_an_https_proxy_that_wants_a_password_gets_it(nodes: Trials, environment: pytest.MonkeyPatch) -> None:
    with contextlib.closing(ConnectProxy()) as proxy:
        environment.setenv("HTTPS_PROXY", f"http://user:word@{proxy.address}")
        assert nodes.client("north", nodes.manifest).status().state == "collecting"
        assert "Proxy-Authorization: Basic dXNlcjp3b3Jk" in proxy.requests[0]
