"""What `ppaurora disclosure` says of models, comparisons, levels, sites and rows left out."""

from __future__ import annotations

from typing import Any

import pytest

from ppaurora.agreement.disclosure import compare, disclosure
from ppaurora.agreement.terms import Terms
from ppaurora.data.design import Model, Outcome, SampleWeight, Subgroup
from ppaurora.data.grid import Grid
from ppaurora.metrics import metrics_named
from ppaurora.policy.rules import Policy
from ppaurora.protocols import Fast
from ppaurora.protocols.grid import GridProtocol

SIZES = (400, 400, 400)
FULL: dict[str, Any] = {
    "models": {"a": Model(), "b": Model()},
    "comparisons": (("a", "b"),),
    "subgroups": {"sex": Subgroup(levels=("f", "m")), "age": Subgroup(levels=("young", "old", "oldest"))},
    "left_out": True,
}


def terms_of(policy: Policy, **design: Any) -> Terms:
    protocol = GridProtocol(decimals=2) if "weight" in design else Fast(grid=Grid(decimals=2))
    metrics = metrics_named("auroc", "brier")
    return Terms(metrics=metrics, confidence_level=0.95, policy=policy, protocol=protocol, **design)


def told_of(policy: Policy, **design: Any) -> tuple[str, ...]:
    return disclosure(terms_of(policy, **design), SIZES).told


def test_a_plain_study_has_no_such_sentence() -> None:
    """The control of all below."""
    plain = told_of(Policy())
    said = told_of(Policy(), **FULL, sites=True)
    assert len(said) == len(plain) + 5
    assert set(plain) < set(said)


def test_a_publication() -> None:
    _, models, differences, levels, sites, rows, *_ = told_of(Policy(), **FULL, sites=True)
    assert models.startswith("all of this for each of: a; b (figures: the first)")
    assert "differ for one person tell that person's outcome" in models
    assert differences.startswith("differences of a and b")
    assert levels.startswith("auroc, brier for each of 5 levels of age, sex; who is in which stays secret")
    assert "numbers of people by class: to the nearest 5" in levels
    assert "withheld, which tells that it is small" in levels
    assert "with 3 owners each can nearly compute the others' AUROC" in sites
    assert rows == "how many rows all owners left out, by reason, to the nearest 5"


@pytest.mark.parametrize(("counts", "said"), [("hidden", "to the nearest 5"), ("exact", "exactly")])
def test_rows_left_out_are_as_exact_as_it_says(counts: str, said: str) -> None:
    (rows,) = (one for one in told_of(Policy.exact(counts=counts), left_out=True) if "left out" in one)
    assert rows.endswith(said)


def test_a_private_study_says_how_epsilon_is_divided() -> None:
    precision, models, levels, rows, divided, *_ = told_of(Policy.private(4.2), **FULL)
    assert "epsilon 4.2 in all, 0.344 for auroc, 0.344 for sums of each model over all samples" in precision
    assert "tell that person" not in models
    assert levels.endswith("how many are is told with noise")
    assert rows.endswith("with noise")
    # Two models over all samples and by two variables, and a tenth of one for rows left out: 6.1 parts.
    assert divided == (
        "epsilon 4.2 is divided: 2 x 0.689 for models and outcomes over all samples, 4 x 0.689 for all "
        "levels of a variable together, 0.0689 for rows left out"
    )
    assert not any("differences" in one for one in (precision, models, levels, rows, divided))


def test_patients_and_outcomes() -> None:
    design: dict[str, Any] = {"outcomes": {"death": Outcome(), "stroke": Outcome()}, "patient": "id"}
    said = told_of(Policy(), **design)
    assert any("for each of: death; stroke" in one for one in said)
    assert any("are patients with such rows, not rows" in one for one in said)
    assert not any("not rows" in one for one in told_of(Policy.private(rows_per_person=3), **design))


def test_weights() -> None:
    weight = SampleWeight(most=5)
    told = "no result unless positives weigh 50 and negatives 50 without any one owner"
    assert any(one.endswith(told) for one in told_of(Policy(), weight=weight))
    assert any(one.endswith("one alone may be most of it") for one in told_of(Policy.exact(), weight=weight))


@pytest.mark.parametrize("design", [FULL, {"patient": "id"}, {"weight": SampleWeight(most=5)}])
def test_kinds_are_compared(design: dict[str, Any]) -> None:
    """Figures are those of the first model; a weight does not make a study larger."""
    found = compare(terms_of(Policy(), **design), SIZES)
    assert "publication (the plan)" in found.columns
    assert any("private is not possible: weight" in note for note in found.notes) == ("weight" in design)
    assert any("of 1,199" in title for title, _ in found.rows)
