"""A question between nodes and its answer: one line of JSON each way, over TLS."""

from __future__ import annotations

import socket
import ssl
import time

import msgspec

from ppaurora.channel.servers import Server
from ppaurora.channel.tls import Stage, unreached
from ppaurora.errors import PeerError, PeerMisbehavedError
from ppaurora.io.models import from_json, to_json
from ppaurora.io.text import printable
from ppaurora.messages.nodes import Answer, AnyQuestion
from ppaurora.study.kit import NodeKit
from ppaurora.study.manifest import Manifest

CONTROL = "control.ppaurora"  # the name that is asked for at a node's port
_SECONDS_TO_SPEAK = 10.0
_LONGEST_LINE = 1 << 22


def ask(kit: NodeKit, manifest: Manifest, peer: Server, question: AnyQuestion, seconds: float) -> Answer:
    """Return another node's answer, as it can be shown; raise a `PeerError` if there is none."""
    identity = kit.identity(manifest)
    host, port = manifest.addresses()[peer]
    where = f"{host}:{port}"
    line = bytearray()
    stage = Stage.CONNECT
    try:
        with socket.create_connection((host, port), timeout=seconds) as raw:
            stage = Stage.HANDSHAKE
            context = identity.context(ssl.Purpose.SERVER_AUTH)
            with context.wrap_socket(raw, server_hostname=CONTROL) as sock:
                identity.check(peer, sock)
                stage = Stage.REQUEST
                sock.sendall(to_json(question) + b"\n")
                answer = from_json(Answer, read_line(sock, line))
    except PeerError:
        raise
    except OSError as error:
        stage = Stage.ANSWER if line else stage
        way = f"open TCP to {where} on both sides"
        raise unreached(peer.title, where, stage, error, way) from None
    except (ValueError, RecursionError):
        raise PeerMisbehavedError(peer.title, f"at {where} gave an unreadable answer") from None
    return msgspec.structs.replace(answer, note=printable(answer.note), version=printable(answer.version))


def read_line(sock: ssl.SSLSocket, line: bytearray | None = None) -> bytes:
    """Read one line, with one deadline for all of it, so that nobody trickles; `line` has what is here."""
    line = bytearray() if line is None else line
    deadline = time.monotonic() + (sock.gettimeout() or _SECONDS_TO_SPEAK)
    while not line.endswith(b"\n"):
        sock.settimeout(max(deadline - time.monotonic(), 0.001))
        piece = sock.recv(1 << 16)
        if not piece:
            raise ConnectionResetError("closed in the middle of a line")
        line += piece
        if len(line) > _LONGEST_LINE:
            raise ValueError("a line is too long")
    return bytes(line)
