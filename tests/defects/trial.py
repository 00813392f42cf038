"""A copy of the tree, a defect put into it, its tests run there."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from tests.defects.defect import Defect

_LEFT_OUT = (
    ".git",
    ".venv*",
    "build",
    "dist",
    "bench-*",
    "*.egg-info",
    "__pycache__",
    ".*_cache",
    ".hypothesis",
)
_SECONDS_FOR_A_DEFECT = 900.0
_SECONDS_TO_END = 20.0


@dataclass(frozen=True)
class Outcome:
    """What one run of pytest has found."""

    failed: tuple[str, ...]  # tests, the first one first
    problem: str = ""  # why there is nothing to say of them


@dataclass(frozen=True)
class Verdict:
    """What became of a defect."""

    defect: Defect
    caught_by: str  # the first test that failed; nothing if none did
    seconds: float
    remark: str = ""  # why it does not count as caught, if that is not said by there being no such test

    @property
    def shown(self) -> str:
        return self.caught_by or " ".join(filter(None, ("NOT CAUGHT", self.remark)))


class InterruptedTrialError(Exception):
    """Somebody has asked for the end."""


class Trials:
    """Copies of one tree, in a folder that is gone when this is closed; from any thread."""

    def __init__(self, root: Path) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="ppaurora-defects-"))
        self._clean = self._folder / "clean"
        self._lock = threading.Lock()
        self._running: set[subprocess.Popen[str]] = set()
        self._ending = False
        self._failing: tuple[str, ...] = ()
        shutil.copytree(root, self._clean, ignore=shutil.ignore_patterns(*_LEFT_OUT))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """No process is left behind, and no copy."""
        with self._lock:
            self._ending = True
            running = list(self._running)
        for process in running:
            _end(process)
        shutil.rmtree(self._folder, ignore_errors=True)

    def run_clean(self, tests: Iterable[str]) -> Outcome:
        """The tests without any defect: one that fails here says nothing about a defect."""
        outcome = self._run_tests(self._clean, sorted(set(tests)), "--continue-on-collection-errors")
        self._failing = outcome.failed
        return outcome

    def try_defect(self, defect: Defect) -> Verdict:
        """In a copy of its own, which has the compiled modules of the clean one but for the changed one."""
        start = time.monotonic()
        spoiled = [test for test in self._failing if is_selected(test, defect.tests)]
        if spoiled:
            return Verdict(defect, "", 0.0, f"({spoiled[0]} fails without it, too)")
        copy = self._folder / defect.name
        shutil.copytree(self._clean, copy)
        try:
            path = copy / defect.file
            path.write_text(defect.changed(path.read_text()))
            for compiled in (path.parent / "__pycache__").glob(f"{path.stem}.*"):
                compiled.unlink()
            outcome = self._run_tests(copy, defect.tests, "-x", seconds=_SECONDS_FOR_A_DEFECT)
        finally:
            shutil.rmtree(copy, ignore_errors=True)
        seconds = time.monotonic() - start
        caught_by = outcome.failed[0] if outcome.failed else ""
        return Verdict(defect, caught_by, seconds, f"({outcome.problem})" if outcome.problem else "")

    def _run_tests(
        self, root: Path, tests: Sequence[str], *options: str, seconds: float | None = None
    ) -> Outcome:
        """In a fresh process, which sees the package of this tree and no other."""
        report = root / "outcome.xml"
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *options]
        command += [f"--junit-xml={report}", "-o", "junit_family=xunit1", *tests]
        process = self._start(command, root)
        try:
            said, _ = process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            _end(process)
            return Outcome((f"(did not end within {seconds:g} seconds)",))
        finally:
            with self._lock:
                self._running.discard(process)
        if self._ending:
            raise InterruptedTrialError
        failed = failed_tests(report)
        if failed or process.returncode == 0:
            return Outcome(failed)
        lines = [line for line in said.splitlines() if line.strip()]
        return Outcome((), f"pytest ended with {process.returncode}: {lines[-1] if lines else 'no word'}")

    def _start(self, command: Sequence[str], root: Path) -> subprocess.Popen[str]:
        """In a session of its own, so that Ctrl-C is for this process to pass on."""
        environment = {**os.environ, "PYTHONPATH": str(root / "src"), "HYPOTHESIS_PROFILE": "unshrunk"}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)  # modules are compiled once, for all copies
        with self._lock:
            if self._ending:
                raise InterruptedTrialError
            process = subprocess.Popen(
                command,
                cwd=root,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                errors="replace",
                start_new_session=True,
            )
            self._running.add(process)
        return process


def _end(process: subprocess.Popen[str]) -> None:
    """As by Ctrl-C, so that tests end what they have started; if that takes too long, at once."""
    for number in (signal.SIGINT, signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, number)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(_SECONDS_TO_END)
            break


def failed_tests(report: Path) -> tuple[str, ...]:
    """From what pytest has written; none if it has not."""
    if not report.exists():
        return ()
    found = []
    for case in ElementTree.parse(report).iter("testcase"):  # noqa: S314 (pytest's own file)
        if case.find("failure") is not None or case.find("error") is not None:
            file, name = case.get("file", ""), case.get("name", "")
            is_whole = name == file.removesuffix(".py").replace("/", ".")  # it could not be loaded
            found.append(file if is_whole else f"{file}::{name}")
    return tuple(dict.fromkeys(found))


def is_selected(test: str, selection: Iterable[str]) -> bool:
    """Whether a test, or a file that could not be loaded, is one of those that are named."""
    return any(
        test == one or test.startswith((f"{one}::", f"{one}[", f"{one}/")) or one.startswith(f"{test}::")
        for one in selection
    )
