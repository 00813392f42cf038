"""What `ppaurora disclosure` says, and how much of it commands and pages show."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ppaurora.agreement import disclosure as module
from ppaurora.agreement.disclosure import PREVALENCES, compare, disclosure, example_sizes
from ppaurora.agreement.terms import Terms
from ppaurora.cli.main import main
from ppaurora.data.grid import Grid
from ppaurora.metrics import METRICS, Metric, find_metric, metrics_named
from ppaurora.policy.rules import Policy
from ppaurora.protocols import Fast
from ppaurora.study.plan import SAMPLE

SIZES = (400, 400, 400)
EVERYTHING = tuple(metric.sample() for name, metric in METRICS.items() if name != "auroc_no_ties")


def at(*names: str, thresholds: tuple[float, ...] = (0.2,)) -> tuple[Metric, ...]:
    return tuple(find_metric(name)(thresholds=thresholds) for name in names)


def terms_of(metrics: Any, policy: Policy | None = None, level: float | None = 0.95) -> Terms:
    beside = Fast(grid=Grid(decimals=2)) if any(metric.needs_table for metric in metrics) else Fast()
    return Terms(metrics=metrics, policy=policy or Policy(), confidence_level=level, protocol=beside)


def test_words_of_a_publication() -> None:
    found = disclosure(terms_of((*metrics_named("auroc", "brier"), *at("sensitivity"))), SIZES)
    digits, floors, cells, widths, left, attacker = found.told
    assert digits.startswith("auroc, sensitivity: 3 decimals; brier: 4 decimals; standard errors with one")
    assert digits.endswith("numbers of positives and negatives: to the nearest 5")
    assert "unless there are 10 positives and 10 negatives without any one owner" in floors
    assert "only if 10 samples are behind it" in cells
    assert widths.startswith("intervals (95 %) about so wide: AUROC 0.1")
    assert "; Brier score 0.0" in widths
    assert "at 5 % and" in left
    assert left.endswith("the rounded number alone leaves 5")
    assert attacker.startswith(
        "whoever knows everything else guesses one person's outcome right so many times"
    )
    assert found.warnings == ()


def test_words_of_an_exact_policy() -> None:
    found = disclosure(terms_of(metrics_named("auroc"), Policy.exact()), SIZES)
    assert found.told[0] == "auroc: full precision; numbers of positives and negatives: exact"
    assert "how many positives there are" in found.told
    assert "100 at 5 % and 100 at 20 % positives if the score is the median" in found.told[-1]
    (warning,) = found.warnings
    assert warning.startswith("numbers at full precision")
    hidden = disclosure(terms_of(metrics_named("auroc"), Policy.exact(counts="hidden")), SIZES)
    assert "leave possible: 2 at 5 % and 2 at 20 % positives" in hidden.told[-2]


def test_words_of_a_private_study() -> None:
    found = disclosure(terms_of(metrics_named("auroc", "brier"), Policy.private(1.0)), SIZES)
    assert found.told[0] == (
        "auroc, brier: with noise that nobody knows; epsilon 1 in all, 0.5 for auroc, 0.5 for sums"
    )
    assert "none is excluded" in found.told[2]
    assert "right at most 73 times in 100; in simulated studies: " in found.told[3]
    assert len(found.told) == 4
    assert found.warnings == ()
    brier = disclosure(terms_of(metrics_named("brier"), Policy.private()), SIZES)
    assert "no number of positives; none is excluded" in brier.told


def test_too_few_samples_are_said_to_be_too_few() -> None:
    told = disclosure(terms_of(metrics_named("auroc")), (20, 20, 20)).told
    assert told[-1] == "so few samples mostly give no result, if 5 or 20 % are positive"


@pytest.mark.parametrize("counts", ["hidden", "rounded", "exact"])
@pytest.mark.parametrize("sizes", [(1, 1), (2, 1), (2, 2), (3, 2)])
def test_hardly_any_samples_are_no_problem(counts: str, sizes: tuple[int, ...]) -> None:
    terms = terms_of((*metrics_named("auroc", "brier"), *at("ppv")), Policy.exact(counts=counts, digits=2))
    assert disclosure(terms, sizes).told
    assert compare(terms, sizes).rows


def test_a_study_without_intervals_has_no_widths() -> None:
    told = disclosure(terms_of(metrics_named("auroc"), level=None), SIZES).told
    assert not any("so wide" in said or "standard error" in said for said in told)


def test_all_numbers_are_taken_together() -> None:
    """Rates with three decimals tell the number of positives that is rounded to fives."""
    alone, together = (
        disclosure(terms_of(metrics), SIZES).told[-2]
        for metrics in (metrics_named("auroc"), at("sensitivity", "specificity", "ppv", "npv"))
    )
    assert "leave possible: 5 at 5 % and 5 at 20 % positives" in alone
    assert "leave possible: 1 at 5 % and 1 at 20 % positives" in together


@pytest.mark.parametrize("policy", [Policy(), Policy.private(), Policy.exact(), Policy(counts="hidden")])
def test_what_is_shown_first_has_at_most_ten_lines(policy: Policy) -> None:
    """With the heading, the line that says where there is more, and that a large study was made smaller."""
    fitting = [
        metric
        for metric in EVERYTHING
        if not (policy.is_private and metric.mechanism() is None)
        and not (policy.counts == "hidden" and metric.discloses_counts)
    ]
    found = disclosure(terms_of(tuple(fitting), policy), SIZES)
    assert 1 + len(found.told) + 1 + 1 + len(found.warnings) <= 10
    assert found.more


def test_what_one_person_changes_is_told() -> None:
    """With at least 10 of each class among 1,200 people: 1/10 of AUROC, 1/1,200 of the Brier score."""
    more = disclosure(terms_of(metrics_named("auroc", "brier", "aupr")), SIZES).more
    (said,) = [one for one in more if one.startswith("replacing one person")]
    assert "AUROC by 0.1," in said
    assert "Brier score by 0.00083 at most" in said
    assert said.endswith("no useful bound for AUPR")
    (said,) = [one for one in disclosure(terms_of(metrics_named("aupr")), SIZES).more if "replacing" in one]
    assert said == "there is no useful bound on how far replacing one person changes AUPR"


def test_close_thresholds_are_a_warning_where_no_rule_is_on_the_samples_between() -> None:
    for thresholds, policy, warned in (
        ((0.5,), Policy.exact(digits=2), False),
        ((0.5, 0.50001), Policy.exact(digits=2), True),
        ((0.5, 0.50001), Policy(), False),
        ((0.5, 0.50001), Policy.private(), False),
    ):
        found = disclosure(terms_of(at("f1", thresholds=thresholds), policy), SIZES)
        assert any("thresholds" in said for said in found.warnings) is warned


def test_kinds_are_compared() -> None:
    found = compare(terms_of(metrics_named("auroc", "ap", "brier")), SIZES)
    assert found.columns == ("publication (the plan)", "private, epsilon 2", "exact")
    assert found.notes == ("private is without ap, for which no good noise is known",)
    cells = {title: own for title, own in found.rows if own}
    assert cells["auroc"] == ("3 decimals", "noise", "full precision")
    assert cells["ap"] == ("3 decimals", "not computed", "full precision")
    assert cells["brier"] == ("4 decimals", "noise", "full precision")
    assert cells["numbers of positives and negatives"] == ("to the nearest 5", "noise", "exact")
    assert cells["one outcome guessed right, times in 100, by any attacker at most"] == ("100", "88", "100")
    headings = [title for title, own in found.rows if not own]
    assert len(headings) == 5  # two widths, what is possible, two attackers
    assert "interval of AUROC" in headings[0]
    assert "interval of Brier score" in headings[1]  # which all kinds have
    by_prevalence = [own for title, own in found.rows if title.startswith("  at ")]
    assert len(by_prevalence) == len(PREVALENCES) * len(headings)
    for publication, private, exact in ([float(cell) for cell in own] for own in by_prevalence[1:5]):
        assert exact <= publication + 0.0011
        assert exact < private


def test_the_plans_own_rules_are_compared() -> None:
    found = compare(terms_of(metrics_named("auroc"), Policy.private(0.5)), SIZES)
    assert found.columns == ("publication", "private, epsilon 0.5 (the plan)", "exact")


def test_a_kind_that_is_not_possible_says_why() -> None:
    notes = compare(terms_of(metrics_named("ap"), Policy.exact()), (400, 400)).notes
    assert notes[0] == (
        "publication: there will be no result: the policy asks for at least 3 owners, there are 2"
    )
    assert notes[1].startswith("private is not possible: ")


def test_a_large_study_says_that_figures_are_of_a_smaller_one() -> None:
    terms = terms_of(metrics_named("auroc"), level=None)
    assert disclosure(terms, (20_000, 20_001)).told[-1].startswith("figures are for 40,000 samples in all")
    assert compare(terms, (20_000, 20_001)).notes[-1] == disclosure(terms, (20_000, 20_001)).told[-1]


def test_it_is_computed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pages ask for the same again and again."""
    terms = terms_of(metrics_named("auroc"), level=None)
    first = disclosure(terms, (50, 60, 70))
    monkeypatch.setattr(module, "figures_at", None)
    assert disclosure(terms_of(metrics_named("auroc"), level=None), (50, 60, 70)) is first


def test_example_sizes_are_possible() -> None:
    for policy in (
        Policy(),
        Policy.exact(minimum_samples=9000),
        Policy.exact(minimum_samples_per_owner=4000),
    ):
        terms = terms_of(metrics_named("auroc"), policy)
        assert terms.problem_with(example_sizes(terms, 3)) == ""
    assert example_sizes(terms_of(metrics_named("auroc")), 3) == (1000, 1000, 1000)


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    out, err = capsys.readouterr()
    return int(ended.value.code or 0), out, err


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plan = tmp_path / "study.toml"
    plan.write_text(SAMPLE.replace('organisation = "Second University"', 'organisation = "first university"'))
    code, out, _ = run(capsys, "disclosure", str(plan), "--samples", "500,500,500")
    assert code == 0
    assert "each has 500 samples" in out
    assert "publication (the plan)  private, epsilon 2" in out
    assert "--all says more" in out
    assert "simulated studies of these sizes" not in out
    assert "warning: proxy 0 and proxy 1 are run by one organisation" in out
    code, more, _ = run(capsys, "disclosure", str(plan), "--samples", "500,500,500", "--all")
    assert code == 0
    assert "simulated studies of these sizes" in more
    code, out, _ = run(capsys, "disclosure", str(plan), "--samples", "5000,50,50")
    assert code == 0
    assert "publication: there will be no result: one owner has more than" in out
    for bad in ("500,500", "a,b,c", "0,5,5"):
        code, _, err = run(capsys, "disclosure", str(plan), "--samples", bad)
        assert code == 2
        assert "--samples" in err
