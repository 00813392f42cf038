"""Commands, and files to run them on."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.command_line import OWNERS, CommandLine, table, written


@pytest.fixture
def command(capsys: pytest.CaptureFixture[str]) -> CommandLine:
    return CommandLine(capsys)


@pytest.fixture
def files(tmp_path: Path) -> list[Path]:
    return [written(tmp_path, name, table(samples)) for name, samples in OWNERS.items()]
