"""The owner's floor on epsilon, at the commands and at nodes that run."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

from ppaurora.messages.owners import Acknowledgement, Offer
from ppaurora.owner.client import NodeClient
from ppaurora.owner.study import Study
from ppaurora.policy.rules import Floors
from ppaurora.testing.consortium import POLICY
from tests.support.deployment import samples, write_csv
from tests.support.policies import with_floors
from tests.support.trials import PROXY_0, PROXY_1, YES, RunCommand, Trials

PRIVATE = '[policy]\nkind = "private"\nepsilon = {}\n'
HEAD = 'metrics = ["auroc"]\n'


def test_commands_show_what_is_spent_and_stop_at_the_floor(
    nodes: Trials, run: RunCommand, tmp_path: Path
) -> None:
    for name, epsilon in (("spends-2", 2), ("spends-1", 1), ("spends-half", 0.5)):
        nodes.study(name, head=HEAD, policy=PRIVATE.format(epsilon))
    nodes.study("spends-all", head=HEAD)
    kit = with_floors(nodes, "north", tmp_path, "epsilon = 3")
    data = write_csv(tmp_path / "scores.csv", *samples(100, 4711))
    code, said = run("check", data, "--kit", kit, "--study", "spends-2")
    assert (code, "epsilon" in said) == (0, True)
    assert "this study 2, so far 0, at most 3 by your floor" in said
    code, said = run("submit", kit, data, "--study", "spends-2", *YES)
    assert (code, "this study 2, so far 0, at most 3 by your floor" in said) == (0, True)
    code, said = run("submit", kit, data, "--study", "spends-1", "--yes")  # it is shown, not warned of
    assert (code, "this study 1, so far 2 on this data (spends-2), at most 3" in said) == (0, True)
    refused = "epsilon: this study 0.5, so far 3 on this data (spends-2, spends-1), at most 3 by your floor"
    for command in (
        ("check", data, "--kit", kit),
        ("submit", kit, data, "--dry-run"),
        ("submit", kit, data, *YES),
    ):
        code, said = run(*command, "--study", "spends-half")
        assert (code, refused in said, "Nothing was sent" in said) == (8, True, True), said
    assert not (kit / "outbox/spends-half").exists()
    code, said = run("submit", kit, data, "--study", "spends-all", *YES)
    assert (code, "a study of kind 'exact' has no noise" in said) == (8, True)
    assert not (kit / "outbox/spends-all").exists()
    code, said = run("check", data, "--kit", kit, "--study", "spends-half", "--format", "json")
    found = json.loads(said[said.index("{") : said.rindex("}") + 1])
    assert code == 8
    assert {name: found["epsilon"][name] for name in ("study", "before", "most")} == {
        "study": 0.5,
        "before": 3.0,
        "most": 3.0,
    }
    assert found["refusal"].startswith(refused)


def test_a_result_says_what_was_spent_and_what_it_means(
    nodes: Trials, run: RunCommand, tmp_path: Path
) -> None:
    nodes.study("told", head=HEAD, policy=PRIVATE.format(1.5))
    for owner, seed in (("north", 4712), ("harbour", 4713)):
        data = write_csv(tmp_path / f"{owner}.csv", *samples(100, seed))
        assert run("submit", nodes.kit(owner), data, "--study", "told", *YES)[0] == 0
    report = Study(nodes.kit("harbour"), "told").wait(timeout=300)
    assert report.privacy.startswith(
        "Private, with epsilon 1.5 for every person: whoever knows everything else guesses one person's "
        "outcome right at most 82 times in 100."
    )
    assert round(100 / (1 + math.exp(-1.5))) == 82
    code, said = run("result", nodes.kit("north"), "--study", "told")
    assert (code, report.privacy in said) == (0, True)
    code, said = run("report", nodes.kit("north"), "--study", "told", "--format", "json")
    assert json.loads(said)["privacy"] == report.privacy


@pytest.mark.parametrize(
    ("policy", "enough"), [(POLICY, None), (PRIVATE.format(3), 3.0)], ids=["unbounded", "costly"]
)
def test_nodes_take_no_study_that_spends_more_than_an_owner_lets_one(
    nodes: Trials, policy: str, enough: float | None, request: pytest.FixtureRequest
) -> None:
    """What a kit forgot to check, a node does; what other studies spent, it cannot know."""
    manifest = nodes.study(request.node.callspec.id, head=HEAD, policy=policy)
    upload = nodes.upload(manifest)
    for server in (PROXY_0, PROXY_1):
        client = nodes.client("north", manifest, server)

        def submit(epsilon: float | None, client: NodeClient = client) -> Acknowledgement:
            offer = Offer(
                samples=upload.samples, floors=Floors(epsilon=epsilon), commitments=upload.commitments
            )
            return client.submit(offer, upload.bodies[client.server])

        assert nodes.refusal(lambda submit=submit: submit(2.5)) == "samples"  # type: ignore[misc]
        assert client.status().submitted == ()
        submit(enough)  # the control
        assert client.status().submitted == ("north",)
