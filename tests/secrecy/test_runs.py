"""A whole run says nothing, in threads and in processes."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
from pathlib import Path

import pytest

import ppaurora
from ppaurora.protocols.names import ProtocolName
from tests.support.secrecy import LABELS, SCORES, leaks, owners_of_planted_values


@pytest.mark.parametrize("protocol", ["fast", "grid", "paper"])
def test_a_run_in_threads_says_nothing(
    protocol: ProtocolName, capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    steps: list[str] = []
    with caplog.at_level(logging.DEBUG):
        report = ppaurora.evaluate(
            owners_of_planted_values(),
            metrics=["auroc"],
            protocol=protocol,
            progress=lambda step, done, total: steps.append(f"{step} {done}/{total}"),
        )
    said = capfd.readouterr()
    assert (said.out, said.err, caplog.text) == ("", "", "")
    shown = "\n".join([repr(report), report.to_json(), *steps])
    assert "auroc" in shown
    assert leaks(shown, [SCORES, LABELS, *(part for part, _ in owners_of_planted_values())]) == []


def test_a_run_in_processes_says_nothing_even_to_who_debugs(tmp_path: Path) -> None:
    files = []
    for number, (labels, scores) in enumerate(owners_of_planted_values()):
        path = tmp_path / f"{number}.csv"
        rows = "".join(f"{score!r},{label}\n" for score, label in zip(scores.tolist(), labels, strict=True))
        path.write_text(f"score,label\n{rows}")
        assert leaks(path.read_text(), [SCORES])
        files.append(str(path))
    finished = subprocess.run(
        [
            sys.executable,
            "-c",
            "from ppaurora.cli import main; main()",
            "evaluate",
            *files,
            "--format",
            "json",
        ],
        capture_output=True,
        text=True,
        timeout=60,
        env={**os.environ, "PPAURORA_DEBUG": "1"},
    )
    assert finished.returncode == 0, finished.stderr
    assert "auroc" in finished.stdout
    assert leaks(finished.stdout + finished.stderr, [SCORES, LABELS]) == []
