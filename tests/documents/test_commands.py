"""The documents name commands that there are."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from ppaurora.cli.main import COMMANDS
from tests.support.guide import FENCE
from tests.support.repository import DOCUMENTS


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_commands_that_documents_name_exist(document: Path) -> None:
    text = document.read_text()
    code = [block for kind, block in FENCE.findall(text) if kind == "sh"]
    code += re.findall(r"`([^`\n]+)`", FENCE.sub("", text))
    command = r"(?<![\w.-])ppaurora ([a-z]+(?:-[a-z]+)*)\b"
    named = {name for piece in code for name in re.findall(command, piece)}
    assert named <= set(COMMANDS)
    of_no_commands = ("leakage.md", "protocol.md", "metrics.md", "designs.md", "ARCHITECTURE.md")
    assert named or document.name in of_no_commands
