"""The pages by role, walked through: every command on them is run, by the party that it is for."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator
from typing import get_args

import pytest
from msgspec import UNSET

import ppaurora
from ppaurora import errors
from ppaurora.agreement.terms import Terms
from ppaurora.check import check_data
from ppaurora.check.concerns import Code
from ppaurora.cli.main import EXIT_INTERRUPTED
from ppaurora.data import check_samples
from ppaurora.io.models import StrictModel, checked, to_builtins
from ppaurora.messages.owners import StudyState
from ppaurora.messages.refusals import RefusalCode
from ppaurora.metrics import METRICS
from ppaurora.policy.rules import Floors, Policy, Weights
from ppaurora.study.kit import NodeSettings
from ppaurora.study.manifest import AgreedChanges
from ppaurora.study.plan import read_plan
from tests.support import releases
from tests.support.guide import (
    EVERYBODY,
    FENCE,
    GUIDE,
    NODES,
    OWNERS,
    PAGES,
    SECONDS,
    STUDY,
    Walk,
    commands_to_a_result,
    sections_to_run,
    steps,
)
from tests.support.oracles import defined, exact_aupr, exact_auroc
from tests.support.repository import ROOT


@pytest.fixture(scope="module")
def walk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Walk]:
    walk = Walk(tmp_path_factory.mktemp("guide"))
    try:
        for step in steps():
            walk.take(step)
        yield walk
    finally:
        for process in walk.nodes.values():
            if process.poll() is None:
                process.terminate()
        for process in walk.nodes.values():
            process.wait(timeout=SECONDS)


@pytest.mark.long
def test_every_command_was_run(walk: Walk) -> None:
    run = {step for step, _ in walk.done}
    kinds = [step.kind for step in steps()]
    assert run == {step for step in steps() if step.kind in ("sh", "python", "by hand")}
    assert kinds.count("sh") == GUIDE.count("```sh") > 15
    assert kinds.count("python") == GUIDE.count("```python") == 1
    assert {step.text for step in run if step.kind == "by hand"} == set(walk.by_hand)
    assert {party for _, party in walk.done if party} == set(EVERYBODY)


def test_every_section_with_something_to_run_is_walked_once() -> None:
    walked = [place for place in STUDY if place in sections_to_run()]
    assert set(walked) == sections_to_run()
    assert len(set(STUDY)) == len(STUDY)


def test_what_is_not_run_is_little_and_none_of_ours() -> None:
    """Blocks of kind "bash" need a Ray cluster: test_ray_guide.py runs them."""
    left = [block for block in FENCE.findall(GUIDE) if block[0] not in ("sh", "python", "bash")]
    assert {kind for kind, _ in left} == {"console", "json", "toml"}
    settings = [tomllib.loads(text) for kind, text in left if kind == "toml"]
    models: dict[str, type[StrictModel]] = {"floors": Floors, "agreed_changes": AgreedChanges}
    assert all(checked(models[name], content) for section in settings for name, content in section.items())
    lines = "".join(text for kind, text in left if kind == "console").splitlines()
    assert len(lines) < 20
    assert not [line for line in lines if re.search(r"\bppaurora [a-z]+ ", line)]
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    assert set(re.findall(r"\.\[(\w+)\]", "".join(lines))) <= set(extras)


def test_a_result_takes_few_commands() -> None:
    """Of the coordinator, three operators and three owners, the installation included."""
    typed = commands_to_a_result()
    assert typed == {
        "coordinator": 6,
        "proxy-0": 10,
        "proxy-1": 11,  # with a certificate of its own
        "helper": 10,
        "hospital-a": 9,
        "hospital-b": 8,  # in Python
        "hospital-c": 8,
    }
    few, many = min(typed.values()), max(typed.values())
    assert f"types {few} to {many} commands" in " ".join(PAGES["coordinators"].split())


@pytest.mark.long
def test_the_walk_ends_with_the_pooled_result_and_receipts(walk: Walk) -> None:
    """Rounded as the sample's policy says, with the number of positives to the nearest five."""
    owners = [
        [(float(score), int(label)) for label, score in zip(labels, scores, strict=True)]
        for labels, scores in walk.data.values()
    ]
    pooled = [sample for owner in owners for sample in owner]
    assert read_plan(walk.plan).policy.digits == 3
    auroc, aupr = defined(exact_auroc(pooled)), defined(exact_aupr(pooled))
    standard_error = defined(releases.delong_root(owners, 4))
    positives = releases.to_multiple_of_five(sum(label for _, label in pooled))
    for owner in OWNERS:
        filed = json.loads((walk.folder / owner / owner / "results/sepsis-2026.json").read_text())
        values = {name: estimate["value"] for name, estimate in filed["metrics"].items()}
        assert values == {
            "auroc": float(releases.half_away(auroc, 3)),
            "aupr": float(releases.half_away(aupr, 3)),
        }
        found = filed["metrics"]["auroc"]
        assert found["standard_error"] == float(standard_error)
        assert found["interval"][0] < values["auroc"] < found["interval"][1]
        assert filed["metrics"]["aupr"]["digits"] == 3
        assert (found["digits"], found["confidence_level"], found["method"]) == (3, 0.95, "DeLong")
        assert (filed["suppressed"], filed["positives"]) == (False, positives)
        assert filed["policy"] == filed["receipt"]["policy"] == to_builtins(read_plan(walk.plan).policy)
        assert filed["receipt"]["samples"] == {name: len(walk.data[name][0]) for name in OWNERS}


@pytest.mark.long
def test_the_amended_study_is_computed_once_all_have_agreed(walk: Walk) -> None:
    """It has fewer samples than its first manifest asked for."""
    kit = walk.folder / "hospital-a/hospital-a"
    report = ppaurora.Study(kit, "sepsis-2027").wait(timeout=SECONDS)
    assert sum(report.receipt.samples.values()) == 90
    assert report.receipt.amended is not UNSET
    assert report.receipt.amended.reasons == "1: 90 samples are enough for this audit"
    assert [one.agreement.owner for one in report.receipt.amended.agreements] == list(OWNERS)


SET = {  # to other than whole numbers
    "whole_tables": True,
    "digits": 1,
    "counts": "hidden",
    "weights": {"sums": 2.0},
}


def test_the_rules_of_every_kind_are_those_of_the_table() -> None:
    """Rule by rule, as a plan writes them."""
    _, *rows = rows_of("| rule in `[policy]`")
    described = {
        name: cells for rule, *cells in rows for name in rule.replace("`", "").split(":")[0].split(", ")
    }
    kinds = (Policy(), Policy.private(), Policy.exact())
    assert described.keys() == set(Policy.__struct_fields__) - {"kind"}
    for rule, cells in described.items():
        for policy, cell in zip(kinds, cells, strict=True):
            value = getattr(policy, rule)
            if "noise" in cell:  # in its place, or there is none: the plan cannot set this rule
                with pytest.raises(errors.InputError, match=r"noise|are rules of kind = 'private'"):
                    checked(Policy, {"kind": policy.kind, rule: SET.get(rule, 12)})
            else:
                written = "in equal parts" if value == Weights() else json.dumps(value)
                assert cell.replace("`", "").removesuffix(", to fives") == written, rule


def test_every_public_rule_that_a_study_waits_for_is_explained() -> None:
    """By the notes that owners and operators see."""
    rows = [note for note, *_ in rows_of("| note of a study that waits")]
    patterns = [re.escape(row).replace(re.escape("..."), ".+") for row in rows]
    policy, with_counts = Policy(), Terms(metrics=(METRICS["histogram"](),), policy=Policy())
    broken = [
        Policy(minimum_samples=1000).broken_rule([100, 100, 100]),
        policy.broken_rule([1000, 30, 20]),
        policy.broken_rule([300, 200, 10]),
        policy.broken_rule([300, 200]),
        with_counts.broken_rule([100] * 3, [Floors(counts="hidden"), Floors(), Floors()]),
    ]
    for rule in broken:
        assert rule is not None
        assert any(re.fullmatch(pattern, rule.note(OWNERS)) for pattern in patterns), rule


@pytest.mark.long
def test_the_keys_are_where_the_guide_says_and_nowhere_else(walk: Walk) -> None:
    keys = {str(path.relative_to(walk.folder)) for path in walk.folder.rglob("*key.pem")}
    at_home = {f"{name}/kit/key.pem" for name in NODES} | {f"{name}/{name}/key.pem" for name in OWNERS}
    authority = {f"coordinator/{kits}/authority/key.pem" for kits in ("kits", "kits-2")}
    assert keys == at_home | authority | {"proxy-0/kit.old/key.pem"}
    assert all((walk.folder / key).stat().st_mode & 0o077 == 0 for key in keys)


@pytest.mark.long
def test_the_guides_metrics_are_those_of_a_node(walk: Walk) -> None:
    there = {
        name
        for name in re.findall(r"^# TYPE (\w+)", walk.get("proxy-0", "/metrics"), re.MULTILINE)
        if not name.endswith("_created")
    }
    assert set(re.findall(r"`(ppaurora_\w+)", GUIDE)) == there


@pytest.mark.long
def test_the_guides_log_line_is_one_that_a_node_writes(walk: Walk) -> None:
    (example,) = (json.loads(text) for kind, text in FENCE.findall(GUIDE) if kind == "json")
    written = [json.loads(line) for line in (walk.folder / "proxy-0/serve.log").read_text().splitlines()]
    about = ("event", "study")
    alike = [line for line in written if all(line.get(key) == example[key] for key in about)]
    assert [list(line) for line in alike] == [list(example)]
    varying = ("time", "hash")
    assert {k: v for k, v in alike[0].items() if k not in varying} == {
        k: v for k, v in example.items() if k not in varying
    }


def rows(heading: str) -> list[list[str]]:
    """Of the first table below a heading."""
    return rows_of(f"## {heading}\n")


def rows_of(text: str) -> list[list[str]]:
    """Of the first table that begins behind this text, or with it."""
    below = ("|" if text.startswith("|") else "") + GUIDE.split(text, 1)[1]
    table = re.search(r"^\|.*?\n\n", below + "\n\n", re.DOTALL | re.MULTILINE)
    assert table
    lines = table.group().strip().splitlines()[2:]
    return [[cell.strip().strip("`") for cell in line.strip("|").split(" | ")] for line in lines]


def test_every_refusal_is_explained_and_no_other() -> None:
    """With its status, which is the framework's for a request that is not HTTP, and its meaning."""
    statuses = {code: "4xx" if code is RefusalCode.BAD_REQUEST else str(code.status) for code in RefusalCode}
    listed = rows("Refusals")
    assert [row[:3] for row in listed] == [[code, statuses[code], code.meaning] for code in RefusalCode]
    assert all(len(row) == 4 and all(row) for row in listed)


def test_every_state_of_a_study_is_explained() -> None:
    assert [state for state, *_ in rows("The states of a study")] == list(StudyState)


def test_every_exit_code_is_explained() -> None:
    kinds = [kind for kind in vars(errors).values() if isinstance(kind, type)]
    raised = {kind.exit_code for kind in kinds if issubclass(kind, errors.PpauroraError)}
    # 1 is the base class's, which nobody raises as such.
    codes = {0, EXIT_INTERRUPTED, errors.SUPPRESSED_EXIT_CODE, *raised} - {errors.PpauroraError.exit_code}
    assert {int(code) for code, *_ in rows("Exit codes")} == codes


def test_every_code_and_key_of_a_check_is_explained() -> None:
    explained = [code.strip("`") for codes, _ in rows_of("| code | warns when") for code in codes.split(", ")]
    assert sorted(explained) == sorted(get_args(Code))
    keys = check_data(check_samples("north", [0, 1], [0.25, 0.5])).to_dict()
    assert [key for key in keys if f"`{key}`" not in GUIDE.split("| code | warns when")[1]] == []


def test_every_port_of_a_node_is_in_the_table() -> None:
    settings = [name for name in NodeSettings.__struct_fields__ if name.startswith("listen_")]
    assert sorted(name for name, *_ in rows("4. Settings")) == sorted(settings)
    assert all(f"`{name}`" in GUIDE for name in settings)
