"""Three servers as processes of their own: the right result, from wherever they are started."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.metrics import auc, precision_recall_curve, roc_auc_score

import ppaurora
from ppaurora.channel.servers import Server
from ppaurora.local.processes import LocalProcesses
from ppaurora.protocols import protocols
from ppaurora.protocols.names import ProtocolName
from ppaurora.suites.role import Role
from tests.support.server_processes import TITLES, owners, pooled, servers_of, work_long

PARAMETERS: dict[ProtocolName, Any] = {"fast": {}, "grid": {"decimals": 1}, "paper": {}}
each_protocol = pytest.mark.parametrize("protocol", protocols())


@each_protocol
def test_the_result_is_that_of_scikit_learn_on_the_pooled_data(protocol: ProtocolName) -> None:
    """On a grid, of scores as they are read."""
    data, given = owners(30, 1, 25), PARAMETERS[protocol]
    report = ppaurora.evaluate(data, metrics=["auroc", "aupr"], protocol=protocol, transport="tls", **given)
    y_true, y_score = pooled(data)
    if protocol == "grid":
        y_score = np.rint(10 * y_score)
    precision, recall, _ = precision_recall_curve(y_true, y_score)
    assert report.auroc == pytest.approx(roc_auc_score(y_true, y_score), abs=1e-9)
    assert report.aupr == pytest.approx(auc(recall, precision), abs=1e-9)


@each_protocol
def test_processes_and_threads_say_the_same_and_pay_the_same(protocol: ProtocolName) -> None:
    data, given = owners(12, 9), PARAMETERS[protocol]
    in_threads = ppaurora.evaluate(data, protocol=protocol, transport="memory", **given)
    in_processes = ppaurora.evaluate(data, protocol=protocol, transport="tls", **given)
    assert in_processes.metrics == in_threads.metrics
    for figure in ("messages", "bytes", "rounds", "bytes_by_party", "bytes_by_step"):
        assert getattr(in_processes.cost, figure) == getattr(in_threads.cost, figure)


def test_progress_is_reported_while_it_runs() -> None:
    reports: list[tuple[str, int, int]] = []
    running: list[dict[str, int]] = []

    def watch(step: str, done: int, total: int) -> None:
        reports.append((step, done, total))
        running.append(servers_of(os.getpid()))

    work_long(progress=watch)  # with less, servers may have ended before a busy machine tells us of the first
    assert all(0 <= done <= total for _, done, total in reports)
    assert sorted(running[0]) == sorted(TITLES)


def test_the_servers_end_in_peace(monkeypatch: pytest.MonkeyPatch) -> None:
    """Left alone, every server ends by itself and without an abort."""
    codes: dict[Server, int] = {}
    stop = LocalProcesses.stop

    def wait_and_stop(servers: LocalProcesses) -> None:
        codes.update((server, held._process.wait(120)) for server, held in servers._processes.items())
        stop(servers)

    monkeypatch.setattr(LocalProcesses, "stop", wait_and_stop)
    ppaurora.evaluate(owners(3, 3), transport="tls")
    assert codes == dict.fromkeys(Role, 0)


LITTLE_DATA = [([0, 1, 1, 0], [0.1, 0.4, 0.8, 0.5]), ([0, 1], [0.5, 0.5])]
SCRIPT = f"""
import ppaurora
print("once")
print(ppaurora.evaluate({LITTLE_DATA}, metrics=["auroc"], transport="tls").auroc)
"""


def check_output_of_script(run: subprocess.CompletedProcess[str]) -> None:
    assert run.stderr == ""
    assert run.returncode == 0
    first, result = run.stdout.split()
    assert first == "once"
    assert float(result) == pytest.approx(roc_auc_score(*pooled(LITTLE_DATA)), abs=1e-9)


def test_it_runs_from_a_script_without_a_main_guard(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    check_output_of_script(
        subprocess.run([sys.executable, script], capture_output=True, text=True, cwd=tmp_path, timeout=300)
    )


def test_it_runs_from_a_script_on_standard_input(tmp_path: Path) -> None:
    check_output_of_script(
        subprocess.run(
            [sys.executable, "-"], input=SCRIPT, capture_output=True, text=True, cwd=tmp_path, timeout=300
        )
    )
