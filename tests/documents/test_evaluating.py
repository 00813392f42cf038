"""The command that docs/evaluating.md shows prints what docs/evaluating.md says."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.deployment import command
from tests.support.repository import ROOT

PAGE = (ROOT / "docs/evaluating.md").read_text()
COMMAND = re.compile(r"```sh\n\.venv/bin/ppaurora (evaluate .*?)```\n\n```\n(.*?)```", flags=re.DOTALL)
SECONDS = re.compile(r"\d+\.\d+ s,")


def lines(text: str) -> list[str]:
    """All but how long it took."""
    return [SECONDS.sub("... s,", line.rstrip()) for line in text.splitlines()]


def test_the_files_of_the_demo_give_what_the_page_says(tmp_path: Path) -> None:
    make = [sys.executable, str(ROOT / "examples/make_hospitals.py"), str(tmp_path / "build/demo")]
    subprocess.run(make, check=True, timeout=300, capture_output=True)
    ((arguments, printed),) = COMMAND.findall(PAGE)
    done = command(*shlex.split(arguments.replace("\\\n", " ")), cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert lines(done.stdout) == lines(printed)


EXAMPLE = re.compile(r"```python\n(.*?)```(?:\n\n```\n(.*?)```)?", flags=re.DOTALL)


def test_the_pages_python_runs_as_pasted_and_prints_what_it_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The examples follow each other: a later one uses what an earlier one made."""
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    examples = EXAMPLE.findall(PAGE.split("\n## In Python\n")[1].split("\n## ")[0])
    assert examples
    for example, printed in examples:
        exec(example, names)  # noqa: S102 (our own page)
        assert lines(capsys.readouterr().out) == lines(printed)
