"""The comparison with peers: honest numbers, and nobody missing without a reason."""

from __future__ import annotations

import ast
import contextlib
import fcntl
import json
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, replace
from fractions import Fraction
from pathlib import Path
from typing import IO

import numpy as np
import pytest
from click.testing import CliRunner

from benchmarks.__main__ import cli
from benchmarks.peers import comparison, systems, worker
from benchmarks.peers.command import PEERS_PYTHON
from benchmarks.peers.comparison import Measurement, measure, owners_of, saved_tables
from benchmarks.peers.exact import exact_auroc
from benchmarks.peers.systems import System, all_systems
from benchmarks.peers.worker import Answer, NotMeasuredError, ask
from benchmarks.synthetic import Owner
from ppaurora.errors import InputError, PeerLostError
from ppaurora.session import Progress, no_progress
from tests.support import oracles

PYTHON = Path(sys.executable)
WORKERS = ("spu_worker.py", "mpyc_worker.py")


def tied_owners(samples: int = 30) -> list[Owner]:
    """Three owners; most scores are tied."""
    random = np.random.default_rng(5)
    scores = np.round(random.random(samples), 1)
    labels = random.random(samples) < scores
    return list(zip(np.array_split(labels, 3), np.array_split(scores, 3), strict=True))


def fake_peer(folder: Path, program: str) -> Path:
    script = folder / "fake_worker.py"
    script.write_text(program)
    return script


def query(folder: Path, program: str, limit: float = 300.0) -> Answer:
    return ask(PYTHON, fake_peer(folder, program), tied_owners(), arguments=["-M3"], limit=limit)


def test_the_exact_value_is_the_definition() -> None:
    for owners in (tied_owners(), owners_of(100)):
        samples = [
            (float(s), bool(y)) for labels, scores in owners for y, s in zip(labels, scores, strict=True)
        ]
        assert exact_auroc(owners) == oracles.exact_auroc(samples)


def test_one_class_only_is_refused() -> None:
    with pytest.raises(InputError, match="larger sizes"):
        exact_auroc([(np.ones(4, dtype=bool), np.arange(4) / 4)])


def test_a_peer_gets_the_data_and_gives_an_answer(tmp_path: Path) -> None:
    program = """
import json, sys
import numpy as np
samples = np.load(sys.argv[1])
assert sys.argv[2:] == ["-M3"]
print("loading")
numbers = [len(samples["labels"]), int(samples["labels"].sum()), float(samples["scores"].sum())]
print(json.dumps({"value": "7/9", "seconds": 1.5, "bytes": 10, "version": str(numbers)}))
"""
    labels, scores = (np.concatenate(column) for column in zip(*tied_owners(), strict=True))
    expected = [len(labels), int(labels.sum()), float(scores.sum())]
    assert query(tmp_path, program) == Answer(Fraction(7, 9), 1.5, 10, None, str(expected))


@pytest.mark.parametrize(
    ("program", "reason"),
    [
        ('print(\'{"not_installed": "spu"}\')', "not installed: spu; make peers"),
        ("raise ValueError('of no use')", "failed: exit code 1: ValueError: of no use"),
        ("raise SystemExit(3)", "failed: exit code 3"),
        ("import os; os.kill(os.getpid(), 9)", "failed: killed by signal 9"),
        ("", "failed: its answer cannot be read"),
        ("print('done!')", "failed: its answer cannot be read"),
        ("print('[]')", "failed: its answer cannot be read"),
        ('print(\'{"value": "1/0", "seconds": 1}\')', "failed: its answer cannot be read"),
        ('print(\'{"value": "0.5"}\')', "failed: its answer cannot be read"),
    ],
)
def test_a_peer_without_an_answer_has_a_reason(tmp_path: Path, program: str, reason: str) -> None:
    with pytest.raises(NotMeasuredError) as raised:
        query(tmp_path, program)
    assert str(raised.value) == reason


def test_a_peer_that_takes_too_long_is_stopped_with_all_its_processes(tmp_path: Path) -> None:
    lock = tmp_path / "lock"
    program = f"""
import fcntl, os, time
lock = open({str(lock)!r}, "w")
fcntl.flock(lock, fcntl.LOCK_EX)  # as long as one of the two lives
os.fork()
time.sleep(600)
"""
    with pytest.raises(NotMeasuredError, match="stopped after 3 s"):
        query(tmp_path, program, limit=3)
    deadline = time.monotonic() + 60
    with lock.open() as file:
        while not is_lockable(file):
            assert time.monotonic() < deadline, "a process of the peer lives on"
            time.sleep(0.05)


def is_lockable(file: IO[str]) -> bool:
    with contextlib.suppress(BlockingIOError):
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return True
    return False


def test_an_interpreter_that_cannot_be_run_is_a_reason(tmp_path: Path) -> None:
    with pytest.raises(NotMeasuredError, match="cannot be run"):
        ask(tmp_path / "python", tmp_path / "worker.py", tied_owners(), limit=1)


@pytest.mark.parametrize("name", WORKERS)
def test_workers_need_only_their_peer(name: str) -> None:
    tree = ast.parse((Path(worker.__file__).parent / name).read_text())
    imported = {
        module.split(".")[0]
        for node in ast.walk(tree)
        if isinstance(node, ast.Import | ast.ImportFrom)
        for module in (
            [node.module or ""] if isinstance(node, ast.ImportFrom) else [a.name for a in node.names]
        )
    }
    assert imported - set(sys.stdlib_module_names) <= {"numpy", "jax", "spu", "mpyc"}


def test_our_own_and_plain_results() -> None:
    owners = tied_owners()
    exact = exact_auroc(owners)
    ours = [
        system for system in all_systems(PYTHON, long=False, transport="memory") if "ppaurora" in system.name
    ]
    plain = System("plain", systems._plain, "")
    fast, paper, sklearn = (measure(system, owners, exact, no_progress) for system in [*ours, plain])
    assert fast.error == 0
    for measurement in (paper, sklearn):
        assert measurement.error is not None
        assert measurement.error < 1e-14
    assert fast.bytes
    assert paper.bytes
    assert all(measurement.seconds and measurement.version for measurement in (fast, paper, sklearn))


def answering(auroc: Fraction) -> System:
    return System("there", lambda owners, progress: Answer(auroc, 1.0), "all", samples_at_most=30)


def test_every_outcome_is_a_row() -> None:
    def lost(owners: Sequence[Owner], progress: Progress) -> Answer:
        raise PeerLostError("proxy 1", "closed the connection")

    owners, exact = tied_owners(), exact_auroc(tied_owners())
    found = measure(answering(exact + Fraction(1, 1000)), owners, exact, no_progress)
    assert found.error == pytest.approx(0.001)
    assert found.cells() == ["30", "3", "there", "1.00", "1e-03", "unknown", ""]
    skipped = measure(answering(exact), tied_owners(60), exact, no_progress)
    assert skipped.cells() == ["60", "3", "there", "", "", "", "skipped: takes minutes; --long"]
    failed = measure(System("gone", lost, "all"), owners, exact, no_progress)
    assert failed.not_measured == "failed: proxy 1 closed the connection"


def test_long_lifts_the_limits() -> None:
    assert any(system.samples_at_most for system in all_systems(PYTHON, long=False))
    assert not any(system.samples_at_most for system in all_systems(PYTHON, long=True))


def test_sizes_and_owners() -> None:
    assert [len(labels) for labels, _ in owners_of(193)] == [65, 64, 64]
    assert [len(labels) for labels, _ in owners_of(8000)] == [1000] * 8
    assert comparison.SIZES == (192, 3072, 8000)


def test_the_document_shows_the_latest_of_each() -> None:
    old = Measurement("MPyC", "no TLS", 3072, 3, not_measured="not installed: mpyc; make peers")
    new = replace(old, version="0.11", seconds=90.123, error=0.0, bytes=1_140_000_000, not_measured=None)
    small = Measurement("SPU", "approximate", 192, 3, "1", 0.5, 2.34, 2.1e-9, 2_400_000)
    tables = saved_tables([asdict(row) for row in (old, new, small)])
    assert "\n\n".join(table.markdown() for table in tables).splitlines() == [
        "| samples | owners | system | seconds | error | MB sent | remark |",
        "|--:|--:|---|--:|--:|--:|---|",
        "| 192 | 3 | SPU | 0.50 | 2e-09 | 2.4 | and 2.3 s to compile |",
        "| 3,072 | 3 | MPyC | 90 | 0 | 1,140.0 |  |",
        "",
        "| system | what it shows or leaves out |",
        "|---|---|",
        "| SPU (1) | approximate |",
        "| MPyC (0.11) | no TLS |",
    ]


def test_the_command_lists_and_saves_everybody(tmp_path: Path) -> None:
    interpreter = tmp_path / "python"
    interpreter.write_text('#!/bin/sh\necho \'{"not_installed": "this peer"}\'\n')
    interpreter.chmod(0o755)
    saved = tmp_path / "out" / "peers.json"
    options = ["peers", "--sizes", "24", "--python", str(interpreter), "--out", str(saved.parent)]
    result = CliRunner().invoke(cli, options)
    assert result.exit_code == 0, result.output
    [run] = json.loads(saved.read_text())["runs"]
    rows = {row["system"]: row for row in run["measurements"]}
    assert list(rows) == [system.name for system in all_systems(PYTHON, long=False)]
    for name, row in rows.items():
        peer = name in ("SecretFlow SPU, ABY3", "MPyC")
        assert row["not_measured"] == ("not installed: this peer; make peers" if peer else None)
        assert name in result.output
    assert rows["ppaurora fast"]["error"] == 0
    assert result.output.count("not installed") >= 2


@pytest.mark.parametrize(
    "options", [["--sizes", "some"], ["--sizes", "2"], ["--sizes", ""], ["--python", "no/such/python"]]
)
def test_bad_options_are_refused(tmp_path: Path, options: list[str]) -> None:
    saved = tmp_path / "peers.json"
    result = CliRunner().invoke(cli, ["peers", "--out", str(tmp_path), *options])
    assert isinstance(result.exception, InputError)
    assert not saved.exists()


@pytest.mark.parametrize(("name", "tolerance"), [("SecretFlow SPU, ABY3", 1e-7), ("MPyC", 0.0)])
def test_a_real_peer_handles_ties(name: str, tolerance: float) -> None:
    python = Path(__file__).parents[2] / PEERS_PYTHON
    if not python.exists():
        pytest.skip(f"{name} is not installed: make peers")
    owners = tied_owners()
    [system] = [system for system in all_systems(python, long=False) if system.name == name]
    measurement = measure(system, owners, exact_auroc(owners), no_progress)
    assert measurement.not_measured is None
    assert measurement.error is not None
    assert measurement.error <= tolerance
    assert measurement.bytes
    assert measurement.version
