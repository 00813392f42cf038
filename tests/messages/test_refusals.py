"""Codes of refusal are one enumeration, and nobody writes one out."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import ppaurora
from ppaurora.errors import RefusedError
from ppaurora.messages.refusals import FINAL, PASSING, REPLACEABLE, Outlook, RefusalCode, remedy_of

SOURCES = Path(ppaurora.__file__).parent
ENUMERATION = SOURCES / "messages/refusals.py"


def trees() -> dict[Path, ast.Module]:
    return {path: ast.parse(path.read_text()) for path in SOURCES.rglob("*.py") if path != ENUMERATION}


def written_out(tree: ast.Module) -> list[str]:
    """Codes that stand in the source as text: with a hyphen anywhere, others where a code is compared."""
    compared = [
        part
        for node in ast.walk(tree)
        if isinstance(node, ast.Compare) and ".code" in ast.unparse(node)
        for part in ast.walk(node)
    ]
    texts = [node.value for node in ast.walk(tree) if isinstance(node, ast.Constant)]
    values = {part.value for part in compared if isinstance(part, ast.Constant)}
    return [code for code in RefusalCode if code in values or ("-" in code and code.value in texts)]


def test_no_code_is_written_out_elsewhere() -> None:
    assert {path: codes for path, tree in trees().items() if (codes := written_out(tree))} == {}
    assert written_out(ast.parse('error.code in ("expired", other)')) == [RefusalCode.EXPIRED]
    assert written_out(ast.parse('refuse("too-late")')) == [RefusalCode.TOO_LATE]


def test_a_node_uses_every_code() -> None:
    used = {
        node.attr
        for path, tree in trees().items()
        if path.is_relative_to(SOURCES / "node")
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and ast.unparse(node.value) == "RefusalCode"
    }
    assert used == set(RefusalCode.__members__)


@pytest.mark.parametrize("code", RefusalCode)
def test_a_code_is_its_string_for_whoever_is_told(code: RefusalCode) -> None:
    error = RefusedError("proxy 0", str(code), code.meaning)
    assert error.code == code
    assert str(error) == f"proxy 0 refused ({code.value}): {code.meaning}"
    assert 400 <= code.status < 600


def test_what_to_expect_of_a_code() -> None:
    """An owner replaces what has a successor, waits for what passes, and gives up what is final."""
    assert {"conflict", "superseded"} == REPLACEABLE < FINAL
    assert {"no-room", "not-ready"} == PASSING
    assert not PASSING & FINAL
    final = {"begun", "closed", "deleted", "expired", "reused", "samples", "too-late", "too-often"}
    assert final == FINAL - REPLACEABLE
    assert "a code of a later version" not in FINAL | PASSING
    assert {code.outlook for code in RefusalCode} == set(Outlook)


def test_a_refusal_is_never_blamed_on_the_network() -> None:
    """Who refuses was reached."""
    assert "ppaurora accept KIT MANIFEST" in RefusalCode.UNKNOWN_STUDY.remedy
    for code in RefusalCode:
        assert remedy_of(code.value) == code.remedy
        for network in ("firewall", "TCP", "HTTPS_PROXY"):
            assert network not in code.remedy
    assert remedy_of("of-a-later-version") == ""


def test_what_only_an_operator_can_mend_is_not_asked_of_the_owner() -> None:
    for code in PASSING:
        assert code.remedy.startswith("its operator")
        assert "nothing is to be changed here" in code.remedy
