"""Fixed randomness is for test vectors: by default it is fresh, and nothing in the package says otherwise."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from ppaurora import Study, evaluate
from ppaurora.agreement.terms import Terms
from ppaurora.data.samples import Samples
from ppaurora.metrics import metrics_named
from ppaurora.protocols import ListProtocol, Protocol, protocols
from ppaurora.session import open_session
from ppaurora.session.agreement import SessionSecrets
from tests.support.repository import ROOT

SEAMS = {"stream", "nonce", "private"}
SOURCES = sorted((ROOT / "src/ppaurora").rglob("*.py"))


SAMPLES = Samples("owner 1", np.array([0.5, 0.25]), np.array([1, 0], dtype=np.uint8))


@pytest.mark.parametrize("kind", protocols().values(), ids=protocols())
def test_splitting_again_gives_other_shares(kind: type[Protocol]) -> None:
    protocol = kind()
    seen = {share.to_bytes() for _ in range(8) for share in protocol.share(SAMPLES, ())}
    assert len(seen) == 8 * len(protocol.input_servers)


def test_sums_are_split_afresh_too() -> None:
    """Their shares differ, and are not the list's."""
    terms = Terms(metrics=metrics_named("brier", "calibration_in_the_large"))
    seen = {part.sums.tobytes() for _ in range(8) for part in terms.share(SAMPLES)}
    assert len(seen) == 8 * len(terms.protocol.input_servers)
    first, second = terms.share(SAMPLES)
    assert (first.sums + second.sums).tolist() == [int(2**32 * 0.3125), int(2**32 * 0.75)]


def test_every_session_has_a_nonce_and_a_key_of_its_own() -> None:
    sent = [SessionSecrets().contribution() for _ in range(8)]
    assert len({one[:32] for one in sent}) == len({one[32:] for one in sent}) == 8


def given_seams(source: str) -> list[str]:
    """Seams that calls give randomness to; a seam may hand on what it was given itself."""
    tree = ast.parse(source)
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    handed_on = {
        id(keyword)
        for function in functions
        for name in {argument.arg for argument in function.args.kwonlyargs} & SEAMS
        for call in ast.walk(function)
        if isinstance(call, ast.Call)
        for keyword in call.keywords
        if keyword.arg == name and isinstance(keyword.value, ast.Name) and keyword.value.id == name
    }
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    return [
        keyword.arg
        for call in calls
        for keyword in call.keywords
        if keyword.arg in SEAMS and id(keyword) not in handed_on
    ]


def test_no_call_in_the_package_gives_randomness() -> None:
    assert len(SOURCES) > 50
    for path in SOURCES:
        assert given_seams(path.read_text()) == [], path
    assert given_seams("protocol.split(prepared, stream=Stream(bytes(32)))") == ["stream"]
    assert given_seams("def f(*, stream=None):\n split(stream=stream)\n split(stream=other)") == ["stream"]
    assert given_seams("def f(stream):\n split(stream=stream)") == ["stream"]


def test_the_seams_are_keywords_that_no_entry_point_has() -> None:
    seams: list[Callable[..., Any]] = [SessionSecrets]
    seams += [kind.share for kind in protocols().values()]
    seams += [kind.split for kind in protocols().values() if issubclass(kind, ListProtocol)]
    assert len(seams) == 6, "not every way of splitting is looked at"
    for seam in seams:
        given = inspect.signature(seam).parameters.values()
        found = [one for one in given if one.name in SEAMS]
        assert found
        assert all(one.kind is inspect.Parameter.KEYWORD_ONLY and one.default is None for one in found)
    for entry in (evaluate, Study, Study.evaluate, Study.submit, open_session, Terms.share):
        assert not SEAMS & set(inspect.signature(entry).parameters)
