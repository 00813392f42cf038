"""How a peer is asked: a script, run by an interpreter that has the peer.

    in     the path of an .npz file with "labels" and "scores", as the script's first argument
    out    one line of JSON, the last on standard output: {"value": "17/20", "seconds": 1.5, ...}, or
           {"not_installed": "name"}

"value", which is AUROC, is a decimal number or a fraction; "bytes", of all parties, "compile_seconds", which
are not in "seconds", and "version" may be left out.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.synthetic import Owner
from ppaurora.errors import PpauroraError

INSTALL = "make peers"
_LONGEST_REASON = 200


class NotMeasuredError(PpauroraError):
    """A system gave no result; the message is the reason, for people to read in a table."""


@dataclass(frozen=True)
class Answer:
    """What a system found, and what it took."""

    auroc: Fraction
    seconds: float
    bytes: int | None = None
    compile_seconds: float | None = None
    version: str | None = None


def ask(
    python: Path, script: Path, owners: Sequence[Owner], *, arguments: Sequence[str] = (), limit: float
) -> Answer:
    """Has the script compute on everyone's samples together, for at most `limit` seconds."""
    labels, scores = (np.concatenate(column) for column in zip(*owners, strict=True))
    with tempfile.TemporaryDirectory(prefix="ppaurora-") as folder:
        data = Path(folder) / "samples.npz"
        np.savez(data, labels=labels, scores=scores)
        code, output, complaints = _run([str(python), str(script), str(data), *arguments], limit)
    if code:
        how = f"killed by signal {-code}" if code < 0 else f"exit code {code}"
        raise NotMeasuredError(f"failed: {how}{_last_line(complaints)}")
    return _parsed(output)


def _run(command: Sequence[str], limit: float) -> tuple[int, str, str]:
    """Exit code, output and complaints. No process stays behind, not even one that the script started."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    try:
        process = subprocess.Popen(  # noqa: S603 (an interpreter that the user names, our own script)
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
            start_new_session=True,
            env={**environment, "PYTHONSAFEPATH": "1"},
        )
    except OSError as error:
        raise NotMeasuredError(f"failed: {command[0]} cannot be run: {error.strerror}") from None
    with process:
        try:
            output, complaints = process.communicate(timeout=limit)
        except subprocess.TimeoutExpired:
            raise NotMeasuredError(f"stopped after {limit:g} s") from None
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
    return process.returncode, output, complaints


def _last_line(text: str) -> str:
    lines = text.strip().splitlines()
    return f": {lines[-1][:_LONGEST_REASON]}" if lines else ""


def _parsed(output: str) -> Answer:
    try:
        line = json.loads(output.strip().splitlines()[-1])
        if "not_installed" in line:
            raise NotMeasuredError(f"not installed: {line['not_installed']}; {INSTALL}")
        return Answer(
            auroc=Fraction(line["value"]),
            seconds=float(line["seconds"]),
            bytes=_optional(int, line.get("bytes")),
            compile_seconds=_optional(float, line.get("compile_seconds")),
            version=_optional(str, line.get("version")),
        )
    except (ValueError, LookupError, TypeError, AttributeError, ArithmeticError):
        raise NotMeasuredError("failed: its answer cannot be read") from None


def _optional(kind: Any, value: Any) -> Any:
    return None if value is None else kind(value)
