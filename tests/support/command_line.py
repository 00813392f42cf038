"""The command line, run in this process or in one of its own, on three owners' files."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from ppaurora.cli import main
from tests.support.oracles import exact_aupr, exact_auroc, exact_average_precision

OWNERS = {
    "north.csv": [(0.9, 1), (0.4, 0), (0.4, 1)],
    "harbour.csv": [(0.4, 0), (0.1, 0)],
    "valley.csv": [(0.6, 1)],
}
POOLED = [sample for samples in OWNERS.values() for sample in samples]
AUROC, AUPR, AP = exact_auroc(POOLED), exact_aupr(POOLED), exact_average_precision(POOLED)
FAST = ("--transport", "memory")
PAPER = ("--protocol", "paper", "--transport", "memory")
RUN = [sys.executable, "-c", "from ppaurora.cli import main; main()"]


@dataclass(frozen=True)
class Finished:
    code: int
    out: str
    err: str


class CommandLine:
    """Runs commands in this process."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys = capsys

    def __call__(self, *arguments: object) -> Finished:
        self._capsys.readouterr()
        with pytest.raises(SystemExit) as stopped:
            main([str(argument) for argument in arguments])
        captured = self._capsys.readouterr()
        assert isinstance(stopped.value.code, int)
        return Finished(stopped.value.code, captured.out, captured.err)


def table(samples: list[tuple[float, int]], header: str = "score,label") -> bytes:
    return "\n".join([header, *(f"{score!r},{label}" for score, label in samples), ""]).encode()


def written(folder: Path, name: str, content: bytes) -> Path:
    path = folder / name
    path.write_bytes(content)
    return path


def check_refused(finished: Finished, *said: str) -> None:
    assert finished.code == 2
    assert finished.out == ""
    assert "Traceback" not in finished.err
    for words in said:
        assert words in finished.err


def values(printed: str) -> dict[str, float]:
    """By metric, from a report in JSON."""
    return {name: found["value"] for name, found in json.loads(printed)["metrics"].items()}


def check_result(printed: str) -> None:
    """One JSON document and nothing else, with the pooled values."""
    report = json.loads(printed)
    assert printed.startswith("{")
    assert AUROC is not None
    assert AUPR is not None
    auroc, aupr = (values(printed)[name] for name in ("auroc", "aupr"))
    assert abs(auroc - AUROC) < 1e-9
    assert abs(aupr - AUPR) < 1e-9
    assert report["protocol"] == "paper" or auroc == float(AUROC)
    assert not report["suppressed"]
    assert (report["owners"], report["samples"]) == (3, 6)
    assert {"seconds", "bytes", "rounds"} <= report["cost"].keys()
