"""Asks a running node about itself, at its local port, from another process on its machine."""

from __future__ import annotations

import http.client
import json
import urllib.error
import urllib.request
from dataclasses import dataclass
from typing import Any

from ppaurora.messages.findings import Severity
from ppaurora.study.kit import NodeKit
from ppaurora.study.names import split_address

_SECONDS_TO_ANSWER = 10.0
_MOST_BYTES = 1 << 24
_WITHOUT_WEB_PROXY = urllib.request.build_opener(urllib.request.ProxyHandler({}))
_NONSENSE = (ValueError, LookupError, TypeError, AttributeError, RecursionError)  # what an answer raises


@dataclass(frozen=True)
class RunningNode:
    """A node, its health, and how far it is."""

    status: str
    problems: tuple[str, ...]
    version: str
    progress: dict[str, str]  # of attempts under way, by hash of the study

    @property
    def severity(self) -> Severity:
        """Return how bad it is, by its own account."""
        return {"ok": Severity.GOOD, "attention": Severity.WARN}.get(self.status, Severity.BAD)


def find_running(kit: NodeKit) -> RunningNode | None:
    """Return the node of this kit if it runs here; None if nobody answers, or somebody else does."""
    host, port = split_address(kit.settings.listen_admin)
    try:
        said = _ask_for_json(host, port, "/healthz")
        if said["role"] != kit.title:
            return None
        progress = _ask_for_json(host, port, "/attempts")
        return RunningNode(
            str(said["status"]),
            tuple(map(str, said["problems"])),
            str(said["version"]),
            {str(study): str(told) for study, told in progress.items()},
        )
    except (OSError, http.client.HTTPException, *_NONSENSE):
        return None


def _ask_for_json(host: str, port: int, path: str) -> Any:
    """Return the answer as JSON, also of a node that is not ready."""
    try:
        return json.loads(ask_locally(host, port, path))
    except urllib.error.HTTPError as error:
        with error:
            return json.loads(error.read(_MOST_BYTES))


def ask_locally(host: str, port: int, path: str) -> str:
    """Return the answer; raise OSError if nobody answers, or if the answer is that the node is not ready."""
    shown = f"[{host}]" if ":" in host else host
    with _WITHOUT_WEB_PROXY.open(f"http://{shown}:{port}{path}", timeout=_SECONDS_TO_ANSWER) as answer:
        return str(answer.read(_MOST_BYTES).decode())
