"""`python -m ppaurora.party ROLE`: one embedded server, driven through its standard input and output.

In:   one JSON line with the job, then the input shares as raw bytes.
Out:  JSON lines: "listening" with a port, "alive" now and then, "progress", and "outcome" or "error".

The driver holds the other end of standard input open; when that ends, the driver is gone, and so
is this server.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import sys
import threading
from pathlib import Path
from typing import Any

from ppaurora.channel.shaped import Network
from ppaurora.channel.tls import Identity, connect_parties, listen
from ppaurora.errors import PpauroraError
from ppaurora.party.job import Job
from ppaurora.party.run import take_part
from ppaurora.role import Role
from ppaurora.sharing.stages import InputShare


def main() -> int:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the driver decides what Ctrl-C means
    driver = _Driver()
    try:
        _serve(_role(sys.argv[1]), driver)
    except PpauroraError as error:
        peer = getattr(error, "peer", None)
        driver.say(event="error", kind=type(error).__name__, message=str(error), peer=peer)
        return error.exit_code
    except Exception as error:
        # The text of an unforeseen error might quote data: only its type and place are told.
        driver.say(
            event="error",
            kind="MisuseError",
            message=f"internal error: {type(error).__name__} {_place(error)}",
        )
        if os.environ.get("PPAURORA_DEBUG"):
            raise
        return 70
    return 0


def _role(title: str) -> Role:
    return next(role for role in Role if role.title == title)


def _serve(role: Role, driver: _Driver) -> None:
    with listen() as listener:
        driver.say(event="listening", port=listener.getsockname()[1])
        order: dict[str, Any] = json.loads(driver.commands.readline())
        job = Job.from_json(order["job"])
        inputs: list[InputShare] = []
        if not role.is_helper:
            inputs = [job.read_input(driver.commands.read(job.input_bytes(size)), size) for size in job.sizes]
        driver.stay_in_touch(order["timeout"] / 4)
        identity = Identity(
            Path(order["certificate"]),
            Path(order["key"]),
            Path(order["authority"]),
            {Role(int(peer)): pin for peer, pin in order["pins"].items()},
        )
        addresses = {Role(int(peer)): (host, port) for peer, (host, port) in order["addresses"].items()}
        transport = connect_parties(role, identity, listener, addresses, order["timeout"])
    try:
        outcome = take_part(
            transport,
            job,
            inputs,
            lambda step, done, total: driver.say(event="progress", step=step, done=done, total=total),
            None if order["network"] is None else Network(**order["network"]),
        )
        transport.finish()
    finally:
        transport.close()
    driver.say(
        event="outcome",
        result=None if outcome.result is None else outcome.result.words.tolist(),
        seconds=outcome.seconds,
        meter=outcome.meter,
        openings=outcome.openings,
        peak_bytes=outcome.peak_bytes,
    )


class _Driver:
    """The process that started this one."""

    def __init__(self) -> None:
        self.commands = sys.stdin.buffer
        self._speaking = threading.Lock()

    def say(self, **event: Any) -> None:
        line = memoryview(json.dumps(event).encode() + b"\n")
        with self._speaking:
            while line:
                line = line[os.write(sys.stdout.fileno(), line) :]

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


def _place(error: BaseException) -> str:
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return f"at {Path(trace.tb_frame.f_code.co_filename).name}:{trace.tb_lineno}" if trace else ""


if __name__ == "__main__":
    sys.exit(main())
