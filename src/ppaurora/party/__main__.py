"""`python -m ppaurora.party`: one embedded server, driven through its standard input and output.

In:   one JSON line with the job, then the input shares as raw bytes.
Out:  JSON lines: "listening" with a port, "progress", then "outcome" or "error".

The driver holds the other end of standard input open; when that ends, the driver is gone, and so
is this server.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
from pathlib import Path
from typing import Any, BinaryIO

from ppaurora.channel.tls import Identity, connect_parties, listen
from ppaurora.errors import PpauroraError
from ppaurora.party.job import Job
from ppaurora.party.outcome import take_part
from ppaurora.party.role import Role
from ppaurora.sharing.stages import InputShare


def main() -> int:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the driver decides what Ctrl-C means
    commands = sys.stdin.buffer
    try:
        _serve(commands)
    except PpauroraError as error:
        peer = getattr(error, "peer", None)
        _say(event="error", kind=type(error).__name__, message=str(error), peer=peer)
        return error.exit_code
    except Exception as error:
        # The text of an unforeseen error might quote data: only its type and place are told.
        _say(
            event="error",
            kind="MisuseError",
            message=f"internal error: {type(error).__name__} {_place(error)}",
        )
        if os.environ.get("PPAURORA_DEBUG"):
            raise
        return 70
    return 0


def _serve(commands: BinaryIO) -> None:
    with listen() as listener:
        _say(event="listening", port=listener.getsockname()[1])
        order: dict[str, Any] = json.loads(commands.readline())
        role = Role(order["role"])
        job = Job.from_json(order["job"])
        inputs: list[InputShare] = []
        if not role.is_helper:
            inputs = [
                InputShare.from_bytes(commands.read(InputShare.wire_bytes(size)), size) for size in job.sizes
            ]
        threading.Thread(target=_leave_with_driver, args=(commands,), daemon=True).start()
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
            lambda step, done, total: _say(event="progress", step=step, done=done, total=total),
        )
    finally:
        transport.close()
    _say(
        event="outcome",
        result=None if outcome.result is None else outcome.result.words.tolist(),
        seconds=outcome.seconds,
        meter=outcome.meter,
        openings=outcome.openings,
    )


def _leave_with_driver(commands: BinaryIO) -> None:
    commands.read()
    os._exit(75)


def _say(**event: Any) -> None:
    sys.stdout.write(json.dumps(event) + "\n")
    sys.stdout.flush()


def _place(error: BaseException) -> str:
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return f"at {Path(trace.tb_frame.f_code.co_filename).name}:{trace.tb_lineno}" if trace else ""


if __name__ == "__main__":
    sys.exit(main())
