"""Runs among the vectors that have a policy: what is let out is the policy applied to the plain values."""

from __future__ import annotations

import json
from typing import Any

from ppaurora.policy.rules import Policy
from tests.support import releases
from tests.support.oracles import Sample, defined
from tests.support.repository import ROOT

RUNS = json.loads((ROOT / "test_vectors/run.json").read_text())["vectors"]


def samples_by_owner(vector: dict[str, Any]) -> list[list[Sample]]:
    return [list(zip(owner["scores"], owner["labels"], strict=True)) for owner in vector["owners"]]


def test_a_policy_lets_out_rounded_numbers_or_nothing() -> None:
    """What is suppressed looks the same between servers: as many frames of the same lengths."""
    released, suppressed = (run for run in RUNS if "policy" in run["name"])
    assert suppressed["outcome"] == {"suppressed": True}
    for one, other in zip(released["sent"], suppressed["sent"], strict=True):
        assert {**one, "sha256": ""} == {**other, "sha256": ""}
        assert (one["sha256"] != other["sha256"]) == bool(one["frames"])
    terms, owners = json.loads(released["job"])["terms"], samples_by_owner(released)
    policy = Policy(**terms["policy"])
    assert releases.passes_floors(policy, owners)
    assert not releases.passes_floors(Policy(**json.loads(suppressed["job"])["terms"]["policy"]), owners)
    outcome = released["outcome"]
    asked = {
        **{name: () for name in terms["metrics"] if isinstance(name, str)},
        **{metric["name"]: metric["thresholds"] for metric in terms["metrics"] if isinstance(metric, dict)},
    }
    for name, plain in releases.released(owners, policy, asked).items():
        found, digits = outcome["values"][name], releases.decimals_of(policy, name)
        assert digits is not None
        values = [row[name] for row in found] if asked[name] else [found]
        assert values == [None if one is None else float(releases.half_away(one, digits)) for one in plain]
    assert outcome["positives"] == releases.to_multiple_of_five(sum(y for owner in owners for _, y in owner))
    standard_error = releases.delong_root(owners, 3)
    assert outcome["standard_errors"]["auroc"] == float(defined(standard_error))
    # At 0.25 one sample is called negative, and two are called positive at 0.75, of two owners: without one
    # of them there are too few.
    assert [row["called_positive"] for row in outcome["values"]["ppv"]] == [None, 5, None]
    assert [row["ppv"] is None for row in outcome["values"]["ppv"]] == [True, False, True]
