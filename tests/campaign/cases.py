"""Tests that are cases of a kind already, run again, each in the number of its own inputs."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import xml.etree.ElementTree
from pathlib import Path

from tests.campaign.tally import Tally
from tests.support.repository import ROOT

FILES = (
    "tests/node/test_damaged_shares.py",
    "tests/node/test_full_disk.py",
    "tests/node/test_clock.py",
    "tests/node/test_crowd.py",
    "tests/node/test_sni_router.py",
    "tests/node/test_recovery.py",
    "tests/node/test_malformed.py",
    "tests/node/test_malformed_requests.py",
    "tests/channel/test_due.py",
    "tests/channel/test_faults.py",
    "tests/channel/test_lost_peers.py",
    "tests/party/test_failures.py",
)


def run(rounds: int, files: tuple[str, ...] = FILES) -> Tally:
    """Malformed peers and requests, frames that are not due, full and locked disks, clocks, crowds."""
    tally = Tally("tests that are cases of these kinds")
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(rounds):
            _once(tally, Path(folder) / "cases.xml", files)
    return tally


def _once(tally: Tally, report: Path, files: tuple[str, ...]) -> None:
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", f"--junitxml={report}", *files]
    subprocess.run(command, cwd=ROOT, capture_output=True, check=False)
    for case in xml.etree.ElementTree.parse(report).iter("testcase"):  # noqa: S314 (pytest wrote it)
        name = f"{case.get('classname')}::{case.get('name')}"
        if any(case.find(kind) is not None for kind in ("failure", "error")):
            tally.breach(f"{name} failed")
        else:
            tally.count("skipped" if case.find("skipped") is not None else "passed")
