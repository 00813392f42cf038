"""An owner's way to a proxy: outgoing HTTPS only, mutual TLS 1.3, the proxy known by its pinned key.

HTTPS_PROXY and NO_PROXY are honoured; TLS goes through such a proxy unopened.
"""

from __future__ import annotations

import base64
import contextlib
import http.client
import json
import socket
import ssl
import urllib.parse
import urllib.request
from typing import Any

from ppaurora.channel.tls import peer_pin
from ppaurora.errors import PeerLostError, PeerMisbehavedError, PeerTimeoutError, RefusedError
from ppaurora.study.kit import OwnerKit
from ppaurora.study.manifest import Manifest
from ppaurora.suites.role import Role
from ppaurora.text import printable

_LONGEST_ANSWER = 1 << 24


class ProxyClient:
    """Requests about one study to one proxy."""

    def __init__(self, kit: OwnerKit, manifest: Manifest, role: Role, timeout: float = 60.0) -> None:
        self.role = role
        self.host, self.port = manifest.owners_address(role)
        self._pin = manifest.node(role).pin
        self._study = manifest.hash
        self._context = kit.client_context(manifest)
        self._timeout = timeout

    @property
    def where(self) -> str:
        return f"{self.host}:{self.port}"

    def status(self) -> dict[str, Any]:
        return self._request("GET", f"/v1/studies/{self._study}")

    def submit(self, samples: int, commitments: tuple[str, str], body: bytes) -> dict[str, Any]:
        headers = {
            "Content-Type": "application/octet-stream",
            "Ppaurora-Samples": str(samples),
            **{f"Ppaurora-Commitment-{number}": text for number, text in enumerate(commitments)},
        }
        return self._request("PUT", f"/v1/studies/{self._study}/submission", body, headers)

    def release(self) -> dict[str, Any]:
        return self._request("GET", f"/v1/studies/{self._study}/release")

    def _request(
        self, method: str, path: str, body: bytes | None = None, headers: dict[str, str] | None = None
    ) -> dict[str, Any]:
        title = self.role.title
        connection = self._connection()
        try:
            connection.connect()
            # If it refuses before it has read everything, its answer says why.
            with contextlib.suppress(BrokenPipeError, ConnectionResetError, ssl.SSLError):
                connection.request(method, path, body, headers or {})
            response = connection.getresponse()
            content = response.read(_LONGEST_ANSWER)
        except PeerMisbehavedError:
            raise
        except TimeoutError:
            raise PeerTimeoutError(title, f"at {self.where} did not answer in time") from None
        except ssl.SSLError as error:
            reason = error.reason or "the connection was closed"
            raise PeerMisbehavedError(title, f"at {self.where} failed the TLS handshake: {reason}") from None
        except (OSError, http.client.HTTPException) as error:
            reason = getattr(error, "strerror", None) or printable(error) or type(error).__name__
            raise PeerLostError(title, f"cannot be reached at {self.where}: {reason}") from None
        finally:
            connection.close()
        return self._answer(response.status, content)

    def _answer(self, status: int, content: bytes) -> dict[str, Any]:
        title = self.role.title
        try:
            answer = json.loads(content)
            if status == 200:
                return {name: printable(v) if isinstance(v, str) else v for name, v in answer.items()}
            error = answer["error"]
            refused = RefusedError(title, printable(error["code"]), printable(error["message"]))
        except (ValueError, KeyError, TypeError):
            raise PeerMisbehavedError(title, f"at {self.where} gave an answer that is none of ours") from None
        raise refused

    def _connection(self) -> _PinnedConnection:
        proxy = _https_proxy(self.host)
        if proxy is None:
            return _PinnedConnection(self.host, self.port, self._context, self._timeout, self._check)
        host, port, headers = proxy
        connection = _PinnedConnection(host, port, self._context, self._timeout, self._check)
        connection.set_tunnel(self.host, self.port, headers)
        return connection

    def _check(self, sock: ssl.SSLSocket) -> None:
        if peer_pin(sock) != self._pin:
            raise PeerMisbehavedError(
                self.role.title, f"at {self.where} has another key than the manifest says; nothing was sent"
            )


def _https_proxy(host: str) -> tuple[str, int, dict[str, str]] | None:
    """Where an organisation's proxy is, and what it wants to see of us."""
    proxy = urllib.request.getproxies_environment().get("https")
    if not proxy or urllib.request.proxy_bypass_environment(host):  # type: ignore[attr-defined]
        return None
    parts = urllib.parse.urlsplit(proxy if "//" in proxy else f"//{proxy}")
    headers = {}
    if parts.username is not None:
        user, password = (urllib.parse.unquote(text or "") for text in (parts.username, parts.password))
        token = base64.b64encode(f"{user}:{password}".encode()).decode()
        headers["Proxy-Authorization"] = f"Basic {token}"
    return parts.hostname or "", parts.port or 80, headers


class _PinnedConnection(http.client.HTTPSConnection):
    """Checks whom it has reached before it says anything."""

    def __init__(self, host: str, port: int, context: ssl.SSLContext, timeout: float, check: Any) -> None:
        super().__init__(host, port, context=context, timeout=timeout)
        self._check = check

    def connect(self) -> None:
        super().connect()
        sock = self.sock
        assert isinstance(sock, ssl.SSLSocket)  # noqa: S101
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        try:
            self._check(sock)
        except PeerMisbehavedError:
            self.close()
            raise
