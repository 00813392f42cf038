"""Lines of a node's log: what others say or send is never quoted in them."""

from __future__ import annotations

import json
import logging
import sys
from typing import Any

from ppaurora.node.logs import JsonLines
from tests.support.bad_input import PLANTED


def line_of(logger: str, message: str, *arguments: object, **options: Any) -> dict[str, Any]:
    record = logging.getLogger(logger).makeRecord(
        logger, logging.ERROR, "somewhere.py", 1, message, arguments, options.pop("exc_info", None), **options
    )
    text = JsonLines().format(record)
    assert "\n" not in text
    return dict(json.loads(text))


def test_of_other_packages_lines_only_the_fixed_part_is_told() -> None:
    """The rest is what somebody has sent to them."""
    assert line_of("aiohttp.server", "Invalid request %r", PLANTED)["event"] == "Invalid request %r"
    assert line_of("ppaurora.node", "%s is read", "a record")["event"] == "a record is read"


def test_an_exception_is_told_by_its_type() -> None:
    try:
        float(f"{PLANTED} as a score")
    except ValueError:
        line = line_of("ppaurora.node", "failed", exc_info=sys.exc_info())
    assert line["exception"] == "ValueError"
    assert PLANTED not in json.dumps(line)


def test_facts_are_fields_of_their_own() -> None:
    line = line_of("ppaurora.node", "attempt begins", extra={"study": "sepsis", "attempt": 3})
    assert (line["level"], line["event"], line["study"], line["attempt"]) == (
        "error",
        "attempt begins",
        "sepsis",
        3,
    )
    assert line["time"].endswith("Z")
