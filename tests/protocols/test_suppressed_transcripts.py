"""A study whose result is suppressed looks to servers like one whose result is released."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from ppaurora.agreement.terms import Terms
from ppaurora.errors import UnsortedListError
from ppaurora.metrics import METRICS, Metric, release
from ppaurora.metrics.withholding import withhold
from ppaurora.policy.rules import Policy
from ppaurora.protocols import Fast, Prepared
from ppaurora.sharing.stages import OwnerShare
from ppaurora.statistics.estimates import Estimate, Table
from ppaurora.testing.world import WorldRun
from tests.support.cases import Owner, transcript
from tests.support.runs import Submission, combined, samples_of, watched_run, whole_result

SIZES = (40, 30, 70)
CURVES: tuple[Metric, ...] = tuple(METRICS[name]() for name in ("auroc", "aupr", "ap"))
TABLES: tuple[Metric, ...] = (
    METRICS["brier"](),
    METRICS["observed_expected"](),
    METRICS["calibration_in_the_large"](),
    METRICS["ppv"](thresholds=[0.25, 0.5]),
    METRICS["reliability"](bins=[0.0, 0.25, 0.5, 1.0]),
)
HISTOGRAM = METRICS["histogram"](bins=[0.0, 0.25, 0.5, 1.0])


def terms_for(metrics: Sequence[Metric], level: float | None = None, **rules: Any) -> Terms:
    """Under the rules on secrets that a publication has, or those given."""
    floors = {"minimum_positives": 10, "minimum_negatives": 10, "minimum_per_cell": 10}
    policy = Policy.exact(**{**floors, "digits": 2, "counts": "hidden", **rules})
    return Terms(metrics=tuple(metrics), confidence_level=level, policy=policy)


TERMS = {
    "areas": terms_for(CURVES),
    "areas, exact": terms_for(CURVES, digits="exact"),
    "for publication": Terms(metrics=CURVES, confidence_level=0.95),
    "tables": terms_for(TABLES),
    "whole tables": terms_for(TABLES, whole_tables=True),
    "tables with counts": terms_for((*TABLES, HISTOGRAM), 0.95, counts="rounded"),
    "everything": terms_for(
        (*CURVES, *TABLES, METRICS["youden_j"](), METRICS["partial_auroc"](max_fpr=0.2)), 0.9, digits=3
    ),
}


def study(
    *positives: int,
    scores: Sequence[float] = (0.125, 0.375, 0.5, 0.75),
    sizes: Sequence[int] = SIZES,
) -> list[Owner]:
    """So many positives at every owner, the first ones."""
    return [
        [(scores[k * 7 % len(scores)], int(k < own)) for k in range(size)]
        for size, own in zip(sizes, positives, strict=True)
    ]


RELEASED = {
    "half of all": study(20, 15, 35),
    "exactly enough without the third": study(5, 5, 5),
    "nearly all": study(35, 25, 60),
    "one score": study(20, 15, 35, scores=(0.5,)),
}
SUPPRESSED = {
    "too few positives in all": study(3, 3, 3),
    "too few positives without the third": study(5, 4, 40),
    "too few positives without the first": study(30, 4, 5),
    "too few negatives without the third": study(35, 26, 20),
    "positives at one owner only": study(0, 30, 0),
    "no positives": study(0, 0, 0),
    "no negatives": study(*SIZES),
    "one score, too few positives": study(1, 1, 1, scores=(0.5,)),
}


def submitted(terms: Terms, owners: Sequence[Owner]) -> list[Submission]:
    return [terms.share(samples_of(owner)) for owner in owners]


def run_of(terms: Terms, owners: Sequence[Owner]) -> WorldRun:
    return watched_run(terms, submitted(terms, owners))


@functools.cache
def suppressed_run(name: str, what: str) -> WorldRun:
    return run_of(TERMS[name], SUPPRESSED[what])


@pytest.mark.parametrize("name", TERMS)
def test_the_conversation_does_not_tell_whether_there_is_a_result(name: str) -> None:
    terms = TERMS[name]
    released = {what: run_of(terms, owners) for what, owners in RELEASED.items()}
    suppressed = {what: suppressed_run(name, what) for what in SUPPRESSED}
    shapes = []
    for what, run in {**released, **suppressed}.items():
        assert combined(terms, run, SIZES).suppressed == (what in suppressed), what
        assert not run.openings
        shapes.append(transcript(run))
    assert all(shape == shapes[0] for shape in shapes)


# Numbers that are withheld by themselves, each by a condition of its own.

SINGLE: tuple[Metric, ...] = (
    METRICS["auroc"](),
    METRICS["observed_expected"](),
    METRICS["partial_auroc"](max_fpr=0.25),
    METRICS["sensitivity_at_specificity"](specificity=0.75),
    METRICS["specificity_at_sensitivity"](sensitivity=0.75),
    METRICS["net_benefit"](thresholds=[0.25, 0.5]),
    METRICS["accuracy"](thresholds=[0.25, 0.5]),
    METRICS["npv"](thresholds=[0.5]),
)
WITHHELD: dict[str, tuple[list[Owner], set[str]]] = {
    "nothing": (study(40, 30, 60, sizes=(80, 80, 120)), set()),
    "both sides of thresholds": (
        study(40, 30, 60, sizes=(80, 80, 120), scores=(0.75,)),
        {"net_benefit", "accuracy", "npv"},
    ),
    "the second threshold": (
        study(40, 30, 60, sizes=(80, 80, 120), scores=(0.125, 0.75)),
        {"net_benefit", "accuracy", "npv"},
    ),
    "tails of positives": (study(12, 12, 12, sizes=(80, 80, 120)), {"specificity_at_sensitivity"}),
    "tails of negatives": (
        study(68, 68, 108, sizes=(80, 80, 120)),
        {"partial_auroc", "sensitivity_at_specificity"},
    ),
    "expected events": (
        study(40, 30, 60, sizes=(80, 80, 120), scores=(1 / 64, 1 / 32)),
        {"observed_expected", "net_benefit", "accuracy", "npv"},
    ),
}


@pytest.mark.parametrize("whole_tables", [False, True])
def test_a_number_that_is_withheld_looks_like_one_that_is_there(whole_tables: bool) -> None:
    """At thresholds, in tails, and of expected events; the oracle says that each condition is met once."""
    terms = Terms(metrics=SINGLE, confidence_level=0.95, policy=Policy(whole_tables=whole_tables))
    shapes = []
    for what, (owners, withheld) in WITHHELD.items():
        sizes = [len(owner) for owner in owners]
        run = run_of(terms, owners)
        shapes.append(transcript(run))
        assert not run.openings
        released = combined(terms, run, sizes)
        assert not released.suppressed
        missing = {name for name, found in released.metrics.items() if None in values_in(found)}
        tables = {"net_benefit", "accuracy", "npv"}
        assert missing == (withheld | tables if whole_tables and withheld & tables else withheld), what
    assert all(shape == shapes[0] for shape in shapes)


def values_in(found: Estimate | Table) -> list[float | None]:
    if isinstance(found, Estimate):
        return [found.value]
    return [estimate.value for row in found for estimate in row.values.values()]


def test_the_shape_is_that_of_the_question() -> None:
    """The positive control: what else could differ does."""
    terms = TERMS["areas"]
    shape = transcript(run_of(terms, RELEASED["half of all"]))
    smaller = [*RELEASED["half of all"][:-1], RELEASED["half of all"][-1][:-1]]
    assert transcript(run_of(terms, smaller)) != shape
    for other in (terms_for(CURVES[:2]), terms_for(CURVES, digits=3), terms_for(CURVES, 0.95)):
        assert transcript(run_of(other, RELEASED["half of all"])) != shape


def test_a_server_that_saves_itself_the_work_would_be_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The positive control of the first test: this one knows that there is no result, and stops."""
    terms = TERMS["tables"]
    shape = transcript(run_of(terms, RELEASED["half of all"]))

    def give_up(suite: Any, parts: Any, decided: Any, values: Any) -> Any:
        columns = withhold(suite, parts, decided, values) if there_is_one else None
        return suite.blank(2, 1 + values[0].shape[-1]) if columns is None else columns

    monkeypatch.setattr(release, "withhold", give_up)
    there_is_one = True
    assert transcript(run_of(terms, RELEASED["nearly all"])) == shape
    there_is_one = False
    assert transcript(run_of(terms, SUPPRESSED["no positives"])) != shape


@pytest.mark.parametrize("name", TERMS)
def test_owners_get_the_same_words_whatever_rule_failed(name: str) -> None:
    terms = TERMS[name]
    words = [whole_result(terms, suppressed_run(name, what)) for what in SUPPRESSED]
    expected = np.zeros_like(words[0])
    expected[0, -len(SIZES) :] = 1  # that every owner's submission was fit
    assert all((one == expected).all() for one in words)


def test_parts_of_a_suppressed_result_look_like_any_others() -> None:
    """Neither server's part has a zero, which half of all columns are, nor is it that of another run."""
    terms = TERMS["areas"]
    runs = [run_of(terms, SUPPRESSED["no positives"]) for _ in range(2)]
    parts = [run.results[server][0].words for run in runs for server in terms.protocol.result_servers]
    assert all(part.all() for part in parts)
    assert not any((one == other).any() for number, one in enumerate(parts) for other in parts[:number])


def test_a_cell_that_is_withheld_looks_like_one_that_is_there() -> None:
    """Of samples that are in one bin, or in all three, or by one owner in the second."""
    terms = TERMS["tables"]
    spread = [[(0.1 + 0.4 * (k % 3), k % 2) for k in range(size)] for size in SIZES]
    in_one = [[(0.9, k % 2) for k in range(size)] for size in SIZES]
    by_one = [spread[0], *in_one[1:]]
    shapes, there = [], []
    for owners in (spread, in_one, by_one):
        run = run_of(terms, owners)
        shapes.append(transcript(run))
        released = combined(terms, run, SIZES)
        assert not released.suppressed
        table = released.metrics["reliability"]
        assert not isinstance(table, Estimate)
        there.append([row["observed"].value is not None for row in table])
    assert there == [[True, True, True], [False, False, True], [False, False, True]]
    assert shapes[0] == shapes[1] == shapes[2]


def test_a_submission_that_does_not_fit_has_the_same_shape_too() -> None:
    terms = TERMS["tables"]
    honest = submitted(terms, RELEASED["half of all"])
    shape = transcript(watched_run(terms, honest))
    one, two = honest[1]
    unfit = OwnerShare(one.samples, one.sums + np.uint64(1000)), two
    unsorted_list = unsorted(RELEASED["half of all"][1], one.sums + two.sums)
    for bad in (unfit, unsorted_list):
        run = watched_run(terms, [honest[0], bad, honest[2]])
        with pytest.raises(UnsortedListError, match="owner 2"):
            combined(terms, run, SIZES)
        assert transcript(run) == shape


def unsorted(owner: Owner, sums: np.ndarray) -> Submission:
    fast = Fast()
    prepared = fast.prepare(samples_of(owner))
    lists = fast.split(Prepared(prepared.keys[::-1].copy(), prepared.labels[::-1].copy()))
    return OwnerShare(lists[0], sums), OwnerShare(lists[1], np.zeros_like(sums))
