"""Names as types are those that there are, and a type checker finds a typo in any of them."""

from __future__ import annotations

import ast
import inspect
import os
import re
import subprocess
import sys
import textwrap
from typing import Any, get_args, get_type_hints

import pytest

import ppaurora
from ppaurora.cli.options import policy_options
from ppaurora.evaluation.evaluate import TRANSPORTS, Transport, evaluate
from ppaurora.metrics import names
from ppaurora.metrics.names import MetricName
from ppaurora.policy.rules import Counts, Floors, Policy
from ppaurora.protocols import DEFAULT_PROTOCOL, Fast, protocols
from ppaurora.protocols.fast import KEY_WIDTHS
from ppaurora.protocols.names import ProtocolName, ProtocolParameters
from tests.support.repository import ROOT

SECONDS = 600


def test_they_are_those_of_the_registries() -> None:
    assert get_args(MetricName) == tuple(ppaurora.METRICS)
    # Tests register protocols of their own.
    released = {name for name, kind in protocols().items() if kind.__module__.startswith("ppaurora.")}
    assert set(get_args(ProtocolName)) == released
    assert get_args(Transport) == TRANSPORTS
    assert Fast.name == DEFAULT_PROTOCOL


def test_parameters_are_those_of_the_protocols() -> None:
    known = [name for kind in map(protocols().get, get_args(ProtocolName)) for name in parameters_of(kind)]
    assert list(get_type_hints(ProtocolParameters)) == known
    width, _ = get_args(get_type_hints(ProtocolParameters)["key_bits"])
    assert set(get_args(width)) == set(KEY_WIDTHS)


def parameters_of(kind: Any) -> tuple[str, ...]:
    return tuple(kind.Parameters.__struct_fields__)


def test_counts_are_those_of_the_command_line() -> None:
    (literal, *_) = get_args(Counts)
    option = next(o for o in policy_options(lambda: None).__click_params__ if o.name == "counts")  # type: ignore[attr-defined]
    assert get_args(literal) == tuple(option.type.choices)
    for model in (Policy, Floors):
        assert get_type_hints(model, include_extras=True)["counts"] == Counts


def test_a_report_declares_a_value_of_every_metric() -> None:
    """For type checkers only: at run time a report has what was asked for."""
    tree = ast.parse(inspect.getsource(names))
    values = next(n for n in tree.body if isinstance(n, ast.ClassDef) and n.name == "MetricAttributes")
    for_types = next(n for n in values.body if isinstance(n, ast.If) and isinstance(n.test, ast.Name))
    declared = [ast.unparse(n.target) for n in for_types.body if isinstance(n, ast.AnnAssign)]
    assert tuple(declared) == get_args(MetricName)


# What is right, and the same with a typo.
LINES = [
    ('ppaurora.evaluate(owners, metrics=["auroc"])', 'ppaurora.evaluate(owners, metrics=["aurock"])'),
    ('ppaurora.evaluate(owners, protocol="paper")', 'ppaurora.evaluate(owners, protocol="papyr")'),
    ('ppaurora.evaluate(owners, transport="tls")', 'ppaurora.evaluate(owners, transport="tsl")'),
    ("ppaurora.evaluate(owners, key_bits=32)", "ppaurora.evaluate(owners, key_bits=33)"),
    ("ppaurora.evaluate(owners, delta=3)", "ppaurora.evaluate(owners, dleta=3)"),
    ('ppaurora.METRICS["brier"]', 'ppaurora.METRICS["breir"]'),
    ('report["ap"]', 'report["pa"]'),
    ("report.auroc", "report.aurok"),
    ('ppaurora.Policy(counts="hidden")', 'ppaurora.Policy(counts="hiden")'),
    ('ppaurora.Policy(digits="exact")', 'ppaurora.Policy(digits="exactly")'),
    ("ppaurora.Policy(minimum_owners=4)", "ppaurora.Policy(minimum_owner=4)"),
    ('ppaurora.Policy(kind="private")', 'ppaurora.Policy(kind="privat")'),
    ('study.submit((y, p), score="risk")', 'study.submit((y, p), scores="risk")'),
    ("study.submit(y, p, replace=True)", "study.submit(y, p, replaces=True)"),
    ("study.evaluate(y, p).auroc", "study.evaluate(y, p).aurok"),
    ('check.concerns[0].code == "overlap"', 'check.concerns[0].code == "overlapping"'),
    ('names: list[ppaurora.MetricName] = ["ap"]', 'other: list[ppaurora.MetricName] = ["pa"]'),
]
HEAD = """
import ppaurora

owners = [([1, 0], [0.9, 0.4]), ([0, 1], [0.3, 0.6])]
y, p = owners[0]
report = ppaurora.evaluate(owners)
study = ppaurora.Study("kit")
check = study.check(y, p)
"""


@pytest.fixture(scope="module")
def complaints(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """What mypy says of whoever uses the package, by the line that it says it of."""
    folder = tmp_path_factory.mktemp("typos")
    text = textwrap.dedent(HEAD) + "\n".join(line for pair in LINES for line in pair) + "\n"
    (folder / "user.py").write_text(text)
    command = [sys.executable, "-m", "mypy", "--strict", "--follow-imports=silent", "--cache-dir=cache"]
    done = subprocess.run(
        [*command, "--config-file=", "user.py"],
        cwd=folder,
        env=os.environ | {"MYPYPATH": str(ROOT / "src")},
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert done.returncode == 1, done.stdout + done.stderr
    found = re.findall(r"^user\.py:(\d+): error: (.*)$", done.stdout, re.MULTILINE)
    return {text.splitlines()[int(number) - 1]: said for number, said in found}


@pytest.mark.long
@pytest.mark.parametrize(("right", "typo"), LINES)
def test_a_type_checker_finds_a_typo(right: str, typo: str, complaints: dict[str, str]) -> None:
    assert typo in complaints
    assert right not in complaints


@pytest.mark.long
def test_a_type_checker_finds_nothing_else(complaints: dict[str, str]) -> None:
    assert complaints.keys() == {typo for _, typo in LINES}


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"metrics": ["aurock"]}, "unknown metric 'aurock'"),
        ({"protocol": "papyr"}, "unknown protocol 'papyr'"),
        ({"transport": "tsl"}, "unknown transport 'tsl'"),
        ({"dleta": 3}, "dleta is not a parameter of any protocol"),
    ],
)
def test_without_a_type_checker_it_is_refused(wrong: dict[str, Any], says: str) -> None:
    with pytest.raises(ppaurora.InputError, match=says):
        evaluate([([1, 0], [0.9, 0.4]), ([0, 1], [0.3, 0.6])], **wrong)
