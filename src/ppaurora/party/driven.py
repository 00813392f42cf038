"""A server process that another process drives: it hears orders on standard input and answers in JSON lines.

When the driver is gone, so is the server. What it says of an unforeseen error is its type and place:
the text might quote data.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ppaurora import errors
from ppaurora.channel.tls import Identity
from ppaurora.errors import PpauroraError, place_of
from ppaurora.party.run import Outcome
from ppaurora.servers import Server
from ppaurora.suites.role import Role

# Arrays of a few hundred kilobytes come and go by the million; keep glibc from giving their pages
# back to the kernel each time. Elsewhere these variables mean nothing.
_ALLOCATOR = {"MALLOC_TRIM_THRESHOLD_": str(1 << 28), "MALLOC_MMAP_THRESHOLD_": str(1 << 26)}


def start_server(module: str, *arguments: str, **options: Any) -> subprocess.Popen[bytes]:
    """A server process that sees the packages that this one sees; it complains only to who debugs."""
    return subprocess.Popen(  # noqa: S603 (this interpreter, our own words)
        [sys.executable, "-P", "-m", module, *arguments],
        stderr=None if os.environ.get("PPAURORA_DEBUG") else subprocess.DEVNULL,
        env={**_ALLOCATOR, **os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        **options,
    )


@dataclass(frozen=True)
class Meeting:
    """How a server finds the other two and knows them; travels to it as JSON."""

    identity: Identity
    addresses: dict[Server, tuple[str, int]]
    timeout: float

    def to_dict(self) -> dict[str, Any]:
        identity = self.identity
        return {
            "certificate": str(identity.certificate),
            "key": str(identity.key),
            "authorities": identity.authorities,
            "pins": identity.pins,
            "addresses": self.addresses,
            "timeout": self.timeout,
        }

    @classmethod
    def from_dict(cls, content: dict[str, Any]) -> Meeting:
        pins: dict[Server, str] = {Role(int(peer)): pin for peer, pin in content["pins"].items()}
        return cls(
            Identity(Path(content["certificate"]), Path(content["key"]), content["authorities"], pins),
            {Role(int(peer)): (host, port) for peer, (host, port) in content["addresses"].items()},
            content["timeout"],
        )


class Driver:
    """The process that started this one."""

    def __init__(self) -> None:
        self.commands = sys.stdin.buffer
        self._speaking = threading.Lock()

    def say(self, **event: Any) -> None:
        line = memoryview(json.dumps(event).encode() + b"\n")
        with self._speaking:
            while line:
                line = line[os.write(sys.stdout.fileno(), line) :]

    def progress(self, step: str, done: int, total: int) -> None:
        self.say(event="progress", step=step, done=done, total=total)

    def tell_outcome(self, outcome: Outcome, **more: Any) -> None:
        self.say(
            event="outcome",
            seconds=outcome.seconds,
            meter=outcome.meter,
            openings=outcome.openings,
            peak_bytes=outcome.peak_bytes,
            **more,
        )

    def stay_in_touch(self, seconds: float) -> None:
        """From now on, give a sign of life now and then, and leave when the driver is gone."""
        threading.Thread(target=self._stay_in_touch, args=(seconds,), daemon=True).start()

    def _stay_in_touch(self, seconds: float) -> None:
        # On bare descriptors: a daemon thread that holds the lock of a buffered stream makes the
        # interpreter abort when it shuts down.
        descriptor = self.commands.fileno()
        with contextlib.suppress(BrokenPipeError):
            while not select.select([descriptor], [], [], seconds)[0] or os.read(descriptor, 1):
                self.say(event="alive")
        os._exit(75)


def run_driven(serve: Callable[[Driver], None]) -> int:
    """Serve one order, and tell the driver of any error. Returns the exit code."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the driver decides what Ctrl-C means
    driver = Driver()
    try:
        serve(driver)
    except PpauroraError as error:
        peer = getattr(error, "peer", None)
        driver.say(event="error", kind=type(error).__name__, message=str(error), peer=peer)
        return error.exit_code
    except Exception as error:
        driver.say(
            event="error",
            kind="MisuseError",
            message=f"internal error: {type(error).__name__} at {':'.join(map(str, place_of(error)))}",
        )
        if os.environ.get("PPAURORA_DEBUG"):
            raise
        return 70
    return 0


def told_error(event: dict[str, Any], reporter: str) -> PpauroraError:
    """The error that a server told its driver of."""
    kind = getattr(errors, event["kind"])
    peer, message = event.get("peer"), event["message"]
    error: PpauroraError = (
        kind(peer, message.removeprefix(f"{peer} ")) if peer else kind(f"{reporter}: {message}")
    )
    return error
