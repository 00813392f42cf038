"""docs/data.md: its example runs, and what it says about extras and limits is so."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from ppaurora.data.chunks import MOST_ROWS
from ppaurora.data.labels import is_missing
from ppaurora.data.text import MOST_BYTES
from tests.support.repository import ROOT

TEXT = (ROOT / "docs/data.md").read_text()


def test_the_example_runs_as_pasted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (example,) = re.findall(r"```python\n(.*?)```", TEXT, flags=re.DOTALL)
    monkeypatch.chdir(tmp_path)
    exec(compile(example, "docs/data.md", "exec"), {})  # noqa: S102
    auroc, described = capsys.readouterr().out.splitlines()
    assert 0.7 < float(auroc) < 1
    assert re.fullmatch(r"80 0 \{'(yes|no)': \d+, '(yes|no)': \d+\}", described)


def test_extras_and_limits_are_those_of_the_code() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    assert set(re.findall(r"ppaurora\[(\w+)\]", TEXT)) == {"arrow", "excel"} <= set(extras)
    assert f"at most {MOST_BYTES >> 30} GiB" in TEXT
    assert MOST_ROWS == 2**30
    listed = re.search(r"an empty field, (.*?) and the like", TEXT, flags=re.DOTALL)
    assert listed
    assert all(map(is_missing, re.findall("`(.*?)`", listed[1])))
