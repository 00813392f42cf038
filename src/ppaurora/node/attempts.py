"""One node's part of one attempt: a worker process, watched."""

from __future__ import annotations

import contextlib
import json
import logging
import queue
import secrets
import subprocess
import threading
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from ppaurora.errors import PartyFailedError
from ppaurora.node.gate import Gate, job_name
from ppaurora.party.driven import Meeting, start_server, told_error
from ppaurora.sharing.shares import Words
from ppaurora.study.kit import NodeKit
from ppaurora.study.manifest import PROTOCOL_VERSION, Manifest

_SECONDS_TO_START = 60.0

log = logging.getLogger(__name__)


def fresh_token() -> str:
    """A name for an attempt that outsiders cannot guess; the other nodes are told."""
    return secrets.token_hex(16)


@dataclass(frozen=True)
class Order:
    """What is to be computed, with which shares."""

    manifest: Manifest
    number: int
    token: str
    agreed: tuple[dict[str, Any], ...]  # per owner: name, samples, commitments; alike at all three nodes
    shares: tuple[Path, ...] = field(default=(), repr=False)

    def binding(self) -> bytes:
        """The study as the session's keys are bound to it: manifest and submissions."""
        return json.dumps([PROTOCOL_VERSION, self.manifest.hash, list(self.agreed)], sort_keys=True).encode()


class Attempt:
    """Runs from its creation; `results` waits for the end."""

    def __init__(self, kit: NodeKit, gate: Gate, order: Order) -> None:
        self.number = order.number
        self._about = {"study": order.manifest.study, "attempt": order.number}
        self._title = kit.role.title
        self._patience = kit.settings.silence_seconds
        self._events: queue.Queue[dict[str, Any] | None] = queue.Queue()
        self._aborted = ""
        self.progress = ""
        self._resources = contextlib.ExitStack()
        process = None
        try:
            entrance = self._resources.enter_context(gate.expecting(order.token))
            self._process = process = start_server(
                "ppaurora.node.worker",
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                pass_fds=[entrance.fileno()],
            )
            assert self._process.stdin is not None  # noqa: S101
            with contextlib.suppress(BrokenPipeError):
                line = json.dumps(_order(kit, order, entrance.fileno())).encode() + b"\n"
                self._process.stdin.write(line)
                self._process.stdin.flush()
        except BaseException:
            if process is not None:
                process.kill()
                process.wait()
            self._resources.close()
            raise
        threading.Thread(target=self._listen, daemon=True).start()

    def results(self) -> list[Words]:
        """One part per owner, none at the helper; or the error that ended the attempt."""
        try:
            while True:
                event = self._next_event()
                if event["event"] == "progress":
                    self.progress = f"{event['step']} {100 * event['done'] // max(event['total'], 1)} %"
                if event["event"] == "session":
                    log.info("session opened", extra={**self._about, "session": event["session"]})
                if event["event"] == "error":
                    raise told_error(event, self._title)
                if event["event"] == "outcome":
                    return [np.array(words, dtype=np.uint64) for words in event["releases"]]
        finally:
            self._end()

    def abort(self, reason: str) -> None:
        """From another thread; `results` then raises."""
        self._aborted = reason
        self._process.kill()

    def _next_event(self) -> dict[str, Any]:
        try:
            event = self._events.get(timeout=self._patience + _SECONDS_TO_START)
        except queue.Empty:
            raise PartyFailedError("the computation gave no sign of life and was stopped") from None
        if event is None:
            code = self._process.wait()
            how = f"was killed by signal {-code}" if code < 0 else f"ended with exit code {code}"
            raise PartyFailedError(self._aborted or f"the computation {how}")
        return event

    def _listen(self) -> None:
        assert self._process.stdout is not None  # noqa: S101
        with self._process.stdout as lines:
            for line in lines:
                try:
                    self._events.put(json.loads(line))
                except ValueError:
                    break
        self._events.put(None)

    def _end(self) -> None:
        self._process.kill()
        self._process.wait()
        if self._process.stdin is not None:
            with contextlib.suppress(BrokenPipeError):
                self._process.stdin.close()
        self._resources.close()


def _order(kit: NodeKit, order: Order, entrance: int) -> dict[str, Any]:
    meeting = Meeting(kit.identity(order.manifest), order.manifest.addresses(), kit.settings.silence_seconds)
    return {
        "meeting": meeting.to_dict(),
        "role": int(kit.role),
        "job": order.manifest.job([entry["samples"] for entry in order.agreed]).to_json(),
        "study": order.binding().hex(),
        "attempt": order.number,
        "shares": [str(path) for path in order.shares],
        "server_name": job_name(order.token),
        "entrance": entrance,
    }
