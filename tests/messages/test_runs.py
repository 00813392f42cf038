"""Runs among the vectors that have a policy: what is let out is the policy applied to the plain values."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ppaurora.policy.rules import Policy
from tests.support import releases
from tests.support.oracles import Sample, defined
from tests.support.repository import ROOT

RUNS = {run["name"]: run for run in json.loads((ROOT / "test_vectors/run.json").read_text())["vectors"]}
RELEASED = [name for name in RUNS if name.startswith("released under a policy")]


def samples_by_owner(vector: dict[str, Any]) -> list[list[Sample]]:
    """Scores as they are read: on a grid, to so many decimals."""
    protocol = json.loads(vector["job"])["terms"]["protocol"]
    decimals = protocol["decimals"] if protocol["name"] == "grid" else None
    return [
        [
            (score if decimals is None else round(score, decimals), label)
            for score, label in zip(owner["scores"], owner["labels"], strict=True)
        ]
        for owner in vector["owners"]
    ]


def test_what_is_suppressed_looks_as_if_it_were_released() -> None:
    """Between servers: as many frames of the same lengths."""
    released, suppressed = RUNS["released under a policy"], RUNS["suppressed by a policy"]
    assert suppressed["outcome"] == {"suppressed": True}
    for one, other in zip(released["sent"], suppressed["sent"], strict=True):
        assert {**one, "sha256": ""} == {**other, "sha256": ""}
        assert (one["sha256"] != other["sha256"]) == bool(one["frames"])
    assert not releases.passes_floors(
        Policy(**json.loads(suppressed["job"])["terms"]["policy"]), samples_by_owner(released)
    )


@pytest.mark.parametrize("name", RELEASED)
def test_a_policy_lets_out_rounded_numbers(name: str) -> None:
    released = RUNS[name]
    terms, owners = json.loads(released["job"])["terms"], samples_by_owner(released)
    policy = Policy(**terms["policy"])
    assert releases.passes_floors(policy, owners)
    outcome = released["outcome"]
    asked = {
        **{name: () for name in terms["metrics"] if isinstance(name, str)},
        **{metric["name"]: metric["thresholds"] for metric in terms["metrics"] if isinstance(metric, dict)},
    }
    for metric, plain in releases.released(owners, policy, asked).items():
        found, digits = outcome["values"][metric], releases.decimals_of(policy, metric)
        assert digits is not None
        values = [row[metric] for row in found] if asked[metric] else [found]
        assert values == [None if one is None else float(releases.half_away(one, digits)) for one in plain]
    assert outcome["positives"] == releases.to_multiple_of_five(sum(y for owner in owners for _, y in owner))
    standard_error = releases.delong_root(owners, 3)
    assert outcome["standard_errors"]["auroc"] == float(defined(standard_error))
    # At 0.25 one sample is called negative, and two are called positive at 0.75, of two owners: without one
    # of them there are too few.
    assert [row["called_positive"] for row in outcome["values"]["ppv"]] == [None, 5, None]
    assert [row["ppv"] is None for row in outcome["values"]["ppv"]] == [True, False, True]


def test_lists_and_tables_are_both_released_from() -> None:
    """So the test above is about each; a table beside the lists changes nothing of what they give."""
    assert len(RELEASED) == 3
    plain, beside = RUNS[RELEASED[0]], RUNS["released under a policy, with tables beside the lists"]
    assert plain["outcome"] == beside["outcome"]
    assert [one["bytes"] for one in plain["sent"]] != [one["bytes"] for one in beside["sent"]]
