"""An owner's way to a node: outgoing HTTPS only, mutual TLS 1.3, the node known by its pinned key.

HTTPS_PROXY and NO_PROXY are honoured; TLS goes through such a proxy unopened.
"""

from __future__ import annotations

import base64
import contextlib
import http.client
import socket
import ssl
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, TypeVar

import msgspec

from ppaurora.channel.servers import Server
from ppaurora.channel.tls import Stage, not_the_node, peer_pin, unreached
from ppaurora.errors import (
    InputError,
    PeerError,
    PeerLostError,
    PeerMisbehavedError,
    RefusedError,
)
from ppaurora.io.models import StrictModel, from_json, to_json
from ppaurora.io.text import printable
from ppaurora.messages.owners import (
    OFFER_HEADER,
    Acknowledgement,
    Amended,
    Offer,
    Refusal,
    ReleasedPart,
    SignedAgreement,
    SignedStatement,
    StudyStatus,
    Withdrawal,
    WithdrawalAcknowledgement,
    studies_path,
)
from ppaurora.messages.refusals import remedy_of
from ppaurora.study.kit import OwnerKit
from ppaurora.study.manifest import Manifest

_LONGEST_ANSWER = 1 << 24

M = TypeVar("M", bound=StrictModel)


class NodeClient:
    """Requests about one study to one node."""

    def __init__(self, kit: OwnerKit, manifest: Manifest, server: Server, timeout: float = 60.0) -> None:
        self.server = server
        self.host, self.port = manifest.owners_address(server)
        self._kit = kit
        self._manifest = manifest
        self._pin = manifest.node(server).pin
        self._path = f"{studies_path(manifest.version)}/{manifest.study_hash}"
        self._context = kit.client_context(manifest)
        self._timeout = timeout

    @property
    def where(self) -> str:
        return f"{self.host}:{self.port}"

    def status(self) -> StudyStatus:
        return self._request(StudyStatus, "GET", self._path)

    def tell(self, signed: SignedStatement) -> StudyStatus:
        """Show the node a release that it does not know of, and return how it sees the study then."""
        headers = {"Content-Type": "application/json"}
        return self._request(StudyStatus, "PUT", f"{self._path}/known", to_json(signed), headers)

    def amended(self) -> Amended:
        return self._request(Amended, "GET", f"{self._path}/amendments")

    def agree(self, signed: SignedAgreement) -> StudyStatus:
        headers = {"Content-Type": "application/json"}
        return self._request(StudyStatus, "PUT", f"{self._path}/agreement", to_json(signed), headers)

    def submit(
        self, offer: Offer, body: bytes, connection: PinnedConnection | None = None
    ) -> Acknowledgement:
        """Send a submission: over this connection, if the node was reached before."""
        headers = {"Content-Type": "application/octet-stream", OFFER_HEADER: to_json(offer).decode()}
        path = f"{self._path}/submission"
        if connection is None:
            return self._request(Acknowledgement, "PUT", path, body, headers)
        return self._ask(connection, Acknowledgement, "PUT", path, body, headers)

    def withdraw(self, revision: int) -> WithdrawalAcknowledgement:
        headers = {"Content-Type": "application/json"}
        body = to_json(Withdrawal(revision=revision))
        return self._request(WithdrawalAcknowledgement, "PUT", f"{self._path}/withdrawal", body, headers)

    def release(self) -> ReleasedPart:
        return self._request(ReleasedPart, "GET", f"{self._path}/release")

    def _request(
        self,
        kind: type[M],
        method: str,
        path: str,
        body: bytes | None = None,
        headers: dict[str, str] | None = None,
    ) -> M:
        """Return the answer as a message of this kind; raise a refusal, or that there is no answer."""
        with self.reached() as connection:
            return self._ask(connection, kind, method, path, body, headers)

    @contextlib.contextmanager
    def reached(self) -> Iterator[PinnedConnection]:
        """Connect to the node, and make sure that it is the one; nothing has left yet.

        Whatever cuts the connection off until the block ends is raised as what happened to this node.
        """
        self._kit.check_certificate()
        proxy = _https_proxy(self.host)
        connection = self._connection(proxy)
        try:
            connection.connect()
            yield connection
        except PeerMisbehavedError:
            raise
        except (OSError, UnicodeError, http.client.HTTPException) as error:
            raise self._unreached(connection, proxy, error) from None
        finally:
            connection.close()

    def _unreached(
        self, connection: PinnedConnection, proxy: _WebProxy | None, error: Exception
    ) -> PeerError:
        title = self.server.title
        if proxy is not None and connection.stage is Stage.CONNECT:
            where = f"{self.where} through the web proxy {proxy.shown}"
            said = getattr(error, "strerror", None) or printable(error)
            return PeerLostError(title, f"cannot be reached at {where}: {said}", proxy.advice(self.where))
        way = (
            f"ask the administrators of your network to open outgoing TCP to {self.where}, or set "
            "HTTPS_PROXY if connections leave it through a web proxy"
        )
        return unreached(title, self.where, connection.stage, error, way)

    def _ask(
        self,
        connection: PinnedConnection,
        kind: type[M],
        method: str,
        path: str,
        body: bytes | None = None,
        headers: dict[str, str] | None = None,
    ) -> M:
        title = self.server.title
        # If it refuses before it has read everything, its answer says why.
        with contextlib.suppress(BrokenPipeError, ConnectionResetError, ssl.SSLError):
            connection.request(method, path, body, headers or {})
        response = connection.getresponse()
        connection.stage = Stage.ANSWER
        content = self._content(response)
        try:
            if response.status == 200:
                return _printable(from_json(kind, content))
            problem = _printable(from_json(Refusal, content).error)
        except ValueError:
            raise PeerMisbehavedError(
                title,
                f"at {self.where} gave an answer that ppaurora does not know",
                "the versions may differ: compare 'ppaurora --version' with the operator's",
            ) from None
        refused = RefusedError(title, problem.code, problem.message)
        if remedy := remedy_of(problem.code):
            refused.add_note(remedy)
        raise refused

    def _content(self, response: http.client.HTTPResponse) -> bytes:
        """Return the body of an answer that says how long it is, within reason."""
        if response.length is None and not response.chunked and not response.read(1):
            raise http.client.IncompleteRead(b"")  # it was cut off before it said how long
        if response.length is None or response.length > _LONGEST_ANSWER:
            raise PeerMisbehavedError(self.server.title, f"at {self.where} announced an answer without end")
        return response.read()

    def _connection(self, proxy: _WebProxy | None) -> PinnedConnection:
        first = (self.host, self.port) if proxy is None else (proxy.host, proxy.port)
        connection = PinnedConnection(*first, self.host, self._context, self._timeout, self._check)
        if proxy is not None:
            connection.set_tunnel(self.host, self.port, proxy.headers)
        return connection

    def _check(self, sock: ssl.SSLSocket) -> None:
        pin = peer_pin(sock)
        if pin != self._pin:
            other = self._manifest.server_of(pin)
            raise not_the_node(self.server.title, self.where, "" if other is None else other.title)


def clients_of(kit: OwnerKit, manifest: Manifest, timeout: float) -> dict[Server, NodeClient]:
    """Return a client for each node that an owner talks to."""
    protocol = manifest.protocol
    servers = dict.fromkeys((*protocol.input_servers, *protocol.result_servers))
    return {server: NodeClient(kit, manifest, server, timeout) for server in servers}


Check = Callable[[ssl.SSLSocket], None]


@dataclass(frozen=True)
class _WebProxy:
    """An organisation's, and what it wants to see of us."""

    host: str
    port: int
    headers: dict[str, str] = field(repr=False)

    @property
    def shown(self) -> str:
        return printable(f"{self.host}:{self.port} (HTTPS_PROXY)")

    def advice(self, where: str) -> str:
        """Return what to do if it does not answer, or does not let a connection through."""
        return (
            "the web proxy is in the way, and not the node: check HTTPS_PROXY (http://HOST:PORT, or "
            "http://USER:PASSWORD@HOST:PORT), and ask those who run it whether it lets CONNECT to "
            f"{where} through; without a web proxy, unset HTTPS_PROXY or add the host to NO_PROXY"
        )


def _https_proxy(host: str) -> _WebProxy | None:
    proxy = urllib.request.getproxies_environment().get("https")
    if not proxy or urllib.request.proxy_bypass_environment(host):  # type: ignore[attr-defined]
        return None
    try:
        parts = urllib.parse.urlsplit(proxy if "//" in proxy else f"//{proxy}")
        address = parts.hostname or "", parts.port or 80
    except ValueError:
        address = "", 0
    if not all(address):
        raise InputError(
            "HTTPS_PROXY is not the address of a web proxy; write http://HOST:PORT, or unset it if there is "
            "none"
        )
    headers = {}
    if parts.username is not None:
        user, password = (urllib.parse.unquote(text or "") for text in (parts.username, parts.password))
        token = base64.b64encode(f"{user}:{password}".encode()).decode()
        headers["Proxy-Authorization"] = f"Basic {token}"
    return _WebProxy(*address, headers)


def _printable(message: M) -> M:
    """Return a message with another machine's texts as people may see them, also those of nested models."""
    fields = {name: _shown(getattr(message, name)) for name in message.__struct_fields__}
    return msgspec.structs.replace(message, **fields)


def _shown(value: Any) -> Any:
    if isinstance(value, StrictModel):
        return _printable(value)
    if isinstance(value, tuple):
        return tuple(_shown(part) for part in value)
    return printable(value) if type(value) is str else value


class PinnedConnection(http.client.HTTPSConnection):
    """Checks whom it has reached before it says anything, and knows how far it came."""

    def __init__(
        self, host: str, port: int, name: str, context: ssl.SSLContext, timeout: float, check: Check
    ) -> None:
        super().__init__(host, port, context=context, timeout=timeout)
        self.stage = Stage.CONNECT
        self._name = name  # of the node, also if it is reached through another host
        self._tls = context
        self._check = check

    def connect(self) -> None:
        """Do as `HTTPSConnection` does, step by step."""
        http.client.HTTPConnection.connect(self)  # with the tunnel through a web proxy
        self.stage = Stage.HANDSHAKE
        sock = self._tls.wrap_socket(self.sock, server_hostname=self._name)
        self.sock = sock
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        try:
            self._check(sock)
        except PeerMisbehavedError:
            self.close()
            raise
        self.stage = Stage.REQUEST
