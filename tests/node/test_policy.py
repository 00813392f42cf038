"""A study's policy at nodes that run: rounded, suppressed, or not computed by anybody."""

from __future__ import annotations

import json
import secrets
import sqlite3
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from ppaurora.channel.servers import Server
from ppaurora.errors import InputError
from ppaurora.io.models import to_builtins
from ppaurora.messages.nodes import Begin, Ready, Verdict
from ppaurora.messages.owners import StudyState, Submitted
from ppaurora.node.questions import ask
from ppaurora.node.store import SubmissionRecord
from ppaurora.owner.study import Study
from ppaurora.policy.rules import Policy
from ppaurora.study.kit import NodeKit
from ppaurora.study.manifest import Manifest
from tests.support.deployment import NODES, write_csv
from tests.support.policies import (
    DEFAULT_POLICY,
    HEAD,
    SIZES,
    check_rounded,
    events_of,
    made_up,
    submit_all,
)
from tests.support.trials import HELPER, OWNERS, PROXY_0, PROXY_1, YES, RunCommand, Trials, becomes

EVALUATION = '[evaluation]\nmodel = "alert"\nversion = "7"\noutcome = "sepsis"'


def planned(nodes: Trials, name: str, *, policy: str = DEFAULT_POLICY, head: str = HEAD) -> Manifest:
    """Of all three owners."""
    return nodes.study(name, owners=OWNERS, head=head, policy=policy, more=EVALUATION)


def numbers_in(content: Any) -> Iterator[Any]:
    """Values of all estimates in a report's JSON."""
    if isinstance(content, dict):
        if "value" in content:
            yield content["value"]
        for inner in content.values():
            yield from numbers_in(inner)
    elif isinstance(content, list):
        for inner in content:
            yield from numbers_in(inner)


def test_the_default_policy_releases_rounded_numbers(nodes: Trials, run: RunCommand) -> None:
    """Those that plain rounding gives; report, JSON and receipt say under which policy, and of what."""
    planned(nodes, "rounded")
    data = made_up("rounded")
    report = submit_all(nodes, "rounded", data)["north"].wait(timeout=300)
    check_rounded(report, data, Policy())
    assert report.policy == report.receipt.policy == Policy()
    assert report.positives == 665
    assert report["auroc"].method == "DeLong"  # type: ignore[union-attr]
    assert report["ap"].interval is not None  # type: ignore[union-attr]
    assert report.evaluation == report.receipt.evaluation
    assert (report.evaluation.model, report.evaluation.outcome) == ("alert", "sepsis")
    code, said = run("result", nodes.kit("valley"), "--study", "rounded", "--format", "json")
    printed = json.loads(said)
    assert (code, printed["suppressed"], printed["positives"]) == (0, False, 665)
    assert printed["policy"] == printed["receipt"]["policy"] == to_builtins(Policy())
    assert printed["receipt"]["manifest"]["evaluation"]["version"] == "7"
    assert printed["metrics"] == json.loads(report.to_json())["metrics"]
    saved = json.loads((nodes.kit("valley") / "results/rounded.json").read_text())
    assert saved == printed
    code, said = run("result", nodes.kit("harbour"), "--study", "rounded")
    assert (code, f"{report.auroc:.3f}" in said, "95% CI" in said) == (0, True, True)


def test_a_suppressed_result_tells_owners_nothing_and_nodes_no_difference(
    nodes: Trials, run: RunCommand, tmp_path: Path
) -> None:
    """22 positives, of which one owner has 13: without it there are too few."""
    twins = {"let-out": made_up("let-out", (8, 7, 7)), "held-back": made_up("held-back", (13, 5, 4))}
    manifests = {}
    for name, data in twins.items():
        manifests[name] = planned(nodes, name)
        for owner, (labels, scores) in data.items():
            file = write_csv(tmp_path / f"{name}-{owner}.csv", labels, scores)
            code, said = run("submit", nodes.kit(owner), file, "--study", name, *YES)
            assert code == 0, said
    reports = {name: Study(nodes.kit("north"), name).wait(timeout=300) for name in twins}
    check_rounded(reports["let-out"], twins["let-out"], Policy())

    report = reports["held-back"]
    assert report.suppressed
    assert (report.auroc, report.positives) == (None, None)
    assert "suppressed" in repr(report)
    for owner in OWNERS:
        kit = nodes.kit(owner)
        code, said = run("result", kit, "--study", "held-back", "--format", "json")
        printed = json.loads(said)
        assert (code, printed["suppressed"], printed["positives"]) == (5, True, None)
        assert set(numbers_in(printed["metrics"])) == {None}
        assert len(list(numbers_in(printed["metrics"]))) == 9
        assert not {"13", "22", "1308"} & set(said.replace(",", " ").split())  # no count of a class
        code, said = run("result", kit, "--study", "held-back")
        assert (code, "withheld: a policy rule on secret counts was not met" in said) == (5, True)
        assert json.loads((kit / "results/held-back.json").read_text()) == printed

    file = tmp_path / "held-back-harbour.csv"
    assert run("submit", nodes.kit("harbour"), file, "--study", "held-back", *YES, "--wait")[0] == 2
    check_alike_at_nodes(nodes, manifests["let-out"], manifests["held-back"])
    other = planned(nodes, "another-size")  # the control: what differs is seen
    submit_all(nodes, other.study, made_up(other.study, sizes=(501, 430, 400)))["north"].wait(timeout=300)
    with pytest.raises(AssertionError):
        check_alike_at_nodes(nodes, manifests["let-out"], other)


def check_alike_at_nodes(nodes: Trials, one: Manifest, other: Manifest) -> None:
    """Two studies' states, statuses, logs and parts of results look the same."""
    for server in (PROXY_0, PROXY_1):
        statuses = [nodes.client("north", manifest, server).status() for manifest in (one, other)]
        assert statuses[0].state is StudyState.RELEASED
        shown = [msgspec.structs.replace(status, study="0" * 64, name="", time=0.0) for status in statuses]
        assert shown[0] == shown[1]
    for node in NODES:
        last = "shares were deleted after the release"
        assert becomes(lambda: f'"{last}", "study": "{other.study}"' in nodes.log(node))  # noqa: B023
        events = [events_of(nodes, node, manifest.study) for manifest in (one, other)]
        assert events[0][-1]["event"] == last
        assert events[0] == events[1]
        assert "suppress" not in nodes.log(node)
        with sqlite3.connect(nodes.database(node)) as db:
            kept = [
                db.execute(
                    "SELECT owner, attempt, length(part) FROM results WHERE study = ? ORDER BY owner",
                    (manifest.hash,),
                ).fetchall()
                for manifest in (one, other)
            ]
        db.close()
        assert kept[0] == kept[1]
        assert len(kept[0]) == (0 if node == HELPER.file_name else len(OWNERS))


def test_waiting_for_a_suppressed_result_ends_with_its_exit_code(
    nodes: Trials, run: RunCommand, tmp_path: Path
) -> None:
    planned(nodes, "awaited", head='metrics = ["auroc"]\n')
    data = made_up("awaited", (120, 3, 3))
    submit_all(nodes, "awaited", {owner: data[owner] for owner in OWNERS[:2]})
    file = write_csv(tmp_path / "valley.csv", *data["valley"])
    code, said = run("submit", nodes.kit("valley"), file, "--study", "awaited", *YES, "--wait")
    assert (code, "withheld" in said) == (5, True)


def test_a_class_that_is_missing_is_suppressed_like_any_other(nodes: Trials) -> None:
    """With floors, owners do not learn that it is that."""
    planned(nodes, "one-class", head='metrics = ["auroc"]\n')
    data = made_up("one-class", (0, 0, 0))
    assert submit_all(nodes, "one-class", data)["north"].wait(timeout=300).suppressed


BROKEN = {
    "largest": ((900, 60, 50), "north has more than 0.5 of all samples: 900 of 1,010; "),
    "smallest": ((20, 20, 19), "valley has fewer than 20 samples; "),
}


def submitted(sizes: tuple[int, ...]) -> tuple[Submitted, ...]:
    return tuple(
        Submitted(owner=owner, samples=size, commitments=(secrets.token_hex(32), secrets.token_hex(32)))
        for owner, size in zip(OWNERS, sizes, strict=True)
    )


@pytest.mark.parametrize("server", [PROXY_1, HELPER], ids=lambda server: server.file_name)
@pytest.mark.parametrize("rule", BROKEN)
def test_a_node_takes_no_leaders_word_for_it(nodes: Trials, rule: str, server: Server) -> None:
    """A leader that would compute all the same finds nobody to compute with."""
    sizes, note = BROKEN[rule]
    manifest = planned(nodes, f"word-{rule}-{server.file_name}")
    agreed = submitted(sizes)
    good = submitted(SIZES)
    if server is PROXY_1:
        with nodes.store(server.file_name) as store:
            for one in agreed:
                store.submit(
                    manifest.hash, SubmissionRecord(one.owner, one.samples, one.commitments, time.time())
                )
    leader = NodeKit.read(nodes.kit(PROXY_0.file_name))
    token = secrets.token_hex(16)
    for question in (
        Ready(study=manifest.hash, agreed=agreed),
        Begin(study=manifest.hash, attempt=1, token=token, agreed=agreed, workers=1),
    ):
        answer = ask(leader, manifest, server, question, 60)
        assert answer.answer is Verdict.MISMATCH
        assert answer.note.startswith(note)
    with nodes.store(server.file_name) as store:
        assert store.last_attempt(manifest.hash) == 0
    if server is HELPER:  # the control: it has nothing to compare with, and is ready for what breaks no rule
        answer = ask(leader, manifest, server, Ready(study=manifest.hash, agreed=good), 60)
        assert answer.answer is Verdict.READY


def test_too_few_owners_are_no_study(nodes: Trials) -> None:
    """Neither when it is made, nor for a node or owner that is given such a manifest."""
    with pytest.raises(InputError, match="at least 3 owners are needed, got 2"):
        nodes.study("pair", policy=DEFAULT_POLICY)
    manifest = planned(nodes, "trio")
    content = json.loads(manifest.text())
    del content["owners"][-1]
    text = json.dumps(content, indent=2, sort_keys=True, ensure_ascii=False) + "\n"
    with pytest.raises(InputError, match="at least 3 owners are needed, got 2"):
        Manifest.parse(text, "a file")
    content["terms"]["policy"] = to_builtins(Policy.exact())
    Manifest.parse(json.dumps(content, indent=2, sort_keys=True, ensure_ascii=False) + "\n", "a file")
