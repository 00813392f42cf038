"""The sample plan with some of its commented lines as settings."""

from __future__ import annotations

import re

from ppaurora.study.plan import SAMPLE


def uncommented(*fields: str) -> str:
    """Return the sample in which these fields, of which it shows an example, are set as it shows them."""
    text = SAMPLE
    for field in fields:
        line = rf"^# ({field} = .*)$"
        table = rf"^# (\[{field}(?:\.[a-z]+)?\]\n(?:# \w+ = .*\n)+)"
        text, lines = re.subn(line, r"\1", text, flags=re.MULTILINE)
        text, tables = re.subn(table, lambda found: found[1].replace("\n# ", "\n"), text, flags=re.MULTILINE)
        assert lines + tables, f"the sample does not show {field}"
    return text
