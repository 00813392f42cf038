"""Items of TRIPOD+AI that a study of ppaurora has something to say on, and what it says.

G. S. Collins and others, TRIPOD+AI statement: updated guidance for reporting clinical prediction models that
use regression or machine learning methods, BMJ 2024;385:e078378. Numbers and topics are the checklist's.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ppaurora.agreement.evaluation_spec import EvaluationSpec
from ppaurora.io.text import listed
from ppaurora.metrics import find_metric
from ppaurora.pages.report.designs import DesignFacts
from ppaurora.pages.report.numbers import Number, capitalised, title_of
from ppaurora.pages.report.sentences import grids_of, reading_of
from ppaurora.policy.rules import HIDDEN, Policy
from ppaurora.policy.sentences import shown_count
from ppaurora.study.manifest import Manifest

ANSWERED, PARTLY, WITHHELD, NOT_EXAMINED = "answered", "in part", "withheld", "not examined"
REFERENCE = "Collins GS and others, BMJ 2024;385:e078378"
REFERENCE_URL = "https://doi.org/10.1136/bmj-2023-078378"


@dataclass(frozen=True)
class ReportingItem:
    """One item of the checklist."""

    item: str
    topic: str
    status: str
    words: str


def tripod_items(
    manifest: Manifest,
    samples: dict[str, int],
    numbers: Sequence[Number],
    positives: int | None,
    policy: Policy,
    design: DesignFacts,
    *,
    suppressed: bool,
    ppaurora: str,
) -> tuple[ReportingItem, ...]:
    """What is not here is for the authors alone."""
    return (
        *_setting(manifest),
        *_left_out_methods(design),
        *_methods(manifest, [title_of(metric.name) for metric in manifest.terms.metrics], design),
        ReportingItem(
            "18c",
            "Protocol",
            PARTLY,
            f"What is computed and what may be released were agreed before {_agreed(manifest)}. To add: "
            "where the study's protocol can be accessed.",
        ),
        ReportingItem(
            "18e",
            "Data sharing",
            PARTLY,
            "Samples left their institutions only as secret shares. To add: whether data is available.",
        ),
        ReportingItem(
            "18f", "Code sharing", PARTLY, f"The evaluation: ppaurora {ppaurora}. To add: the model's code."
        ),
        *_participants(samples, positives, policy, design),
        _performance(numbers, design, suppressed),
        _heterogeneity(design, suppressed),
    )


def _agreed(manifest: Manifest) -> str:
    """Tell before what it was agreed on, and where; an amendment may come after data, but before a result."""
    where = f"in the manifest with the SHA-256 {manifest.hash}"
    if not manifest.amendment:
        return f"any data was sent, {where}"
    led = "an amendment" if manifest.amendment == 1 else f"{manifest.amendment} amendments"
    return f"anything was computed, {where}, to which {led} led: see the methods sentences"


def _heterogeneity(design: DesignFacts, suppressed: bool) -> ReportingItem:
    item, topic = "23b", "Model performance: heterogeneity"
    if not design.sites:
        return ReportingItem(
            item,
            topic,
            NOT_EXAMINED,
            "Only values over all institutions together are released, none for a single institution.",
        )
    effects = [effect for one in design.sites for effect in one.effects]
    withheld = [effect for effect in effects if effect.pooled.value is None]
    if suppressed or len(withheld) == len(effects):
        if suppressed or any(effect.pooled.suppressed for effect in withheld):
            return ReportingItem(item, topic, WITHHELD, "Differences between institutions are withheld.")
        words = "Differences between institutions were not computed: fewer than three count."
        return ReportingItem(item, topic, NOT_EXAMINED, words)
    return ReportingItem(
        item,
        topic,
        PARTLY if withheld else ANSWERED,
        "See the section on differences between sites: variance, I² and prediction intervals. No "
        "institution's own value is released.",
    )


def _setting(manifest: Manifest) -> list[ReportingItem]:
    evaluated: EvaluationSpec = manifest.evaluation
    names = [owner.organisation or owner.name for owner in manifest.owners]
    named = [name for name in manifest.terms.outcome_names if name]
    outcome = f"Outcome: {evaluated.outcome}." if evaluated.outcome else "The manifest names no outcome."
    if named:
        outcome = f"Outcome{'s' if len(named) > 1 else ''}: {listed(named)}."
    positive = f" Positive: {evaluated.positive_class}." if evaluated.positive_class else ""
    return [
        ReportingItem(
            "6a",
            "Participants: setting",
            PARTLY,
            f"{len(names)} centres: {listed(names)}. To add: their setting and location.",
        ),
        ReportingItem(
            "8a",
            "Outcome",
            PARTLY,
            f"{outcome}{positive} To add: its definition, time horizon, and how and when it was assessed.",
        ),
    ]


def _left_out_methods(design: DesignFacts) -> list[ReportingItem]:
    if not design.left_out:
        return []
    return [
        ReportingItem(
            "11",
            "Missing data",
            PARTLY,
            "Rows without a score or a label, and those excluded for another reason, were left out; see the "
            "section on rows left out for how many. To add: why they were missing.",
        )
    ]


def _methods(manifest: Manifest, titles: list[str], design: DesignFacts) -> list[ReportingItem]:
    evaluated = manifest.evaluation
    version = f", version {evaluated.version}" if evaluated.version else ""
    model = f"{evaluated.model}{version}" if evaluated.model else "The manifest names no model"
    models = [name for name in manifest.terms.model_names if name]
    if models:
        model = ". ".join([*([model] if evaluated.model else []), f"Models: {listed(models)}"])
    compared = ", and their differences between models" if design.comparisons else ""
    return [
        ReportingItem(
            "12d",
            "Analytical methods: heterogeneity",
            ANSWERED if design.sites else NOT_EXAMINED,
            "Random-effects meta-analysis over institutions; see the methods sentences."
            if design.sites
            else "The samples of all institutions were evaluated as one set.",
        ),
        ReportingItem(
            "12e",
            "Analytical methods: measures",
            ANSWERED,
            f"{listed(list(dict.fromkeys(titles)))}{compared}; see the methods sentences. To add: why these.",
        ),
        ReportingItem(
            "12g",
            "Analytical methods: predictions",
            PARTLY,
            " ".join(
                filter(
                    None,
                    (
                        f"{model}. Each institution calculated its own predictions.",
                        reading_of(manifest.protocol, grids_of(manifest.terms)),
                        "To add: how.",
                    ),
                )
            ),
        ),
    ]


def _participants(
    samples: dict[str, int], positives: int | None, policy: Policy, design: DesignFacts
) -> tuple[ReportingItem, ...]:
    total = sum(samples.values())
    if policy.counts == HIDDEN:
        events = "The numbers with and without the outcome are withheld by the policy."
    elif positives is None:
        events = "The numbers with and without the outcome are not in this report."
    else:
        events = f"{capitalised(shown_count(positives, policy, 'with the outcome'))}."
    if len(design.outcomes) > 1:
        events = "The numbers with every outcome are in the table of results, as far as they are released."
    elif design.is_weighted and positives is not None:
        events = f"{events.removesuffix('.')}, by weight."
    left_out = " Rows that were left out, by reason: see the section on these." if design.left_out else ""
    sizes = listed([f"{owner} {count:,}" for owner, count in samples.items()])
    told = positives is not None
    return (
        ReportingItem(
            "20a",
            "Participants: flow",
            PARTLY if told else WITHHELD,
            f"{events}{left_out} To add: the flow up to that point.",
        ),
        ReportingItem(
            "20b",
            "Participants: characteristics",
            PARTLY,
            f"Samples by institution: {sizes}. Events by institution are never released. "
            "To add: characteristics, which each institution has for its own samples.",
        ),
        ReportingItem(
            "21",
            "Model development: participants and events",
            ANSWERED if told else PARTLY,
            f"{total:,} samples in one analysis. {events}{left_out}",
        ),
    )


def _performance(numbers: Sequence[Number], design: DesignFacts, suppressed: bool) -> ReportingItem:
    topic = "Model performance"
    if suppressed:
        return ReportingItem(
            "23a", topic, WITHHELD, "A rule of the policy was not met; no value is released."
        )
    if not numbers:
        return ReportingItem("23a", topic, NOT_EXAMINED, "This report was made without the result.")
    bare = _bare([number for one in design.slices for number in one.numbers] or numbers)
    numbers = design.numbers or numbers
    withheld = sum(number.suppressed for number in numbers)
    of_levels = [number for one in design.subgroups for level in one.levels for number in level.numbers]
    bare_levels = [title for title in _bare(of_levels) if title not in bare]
    plots = listed(list(dict.fromkeys(_plotted(numbers))))
    words = "See the table of results" + (f", and the plots of {plots}." if plots else ".")
    lacking = [listed(bare)] if bare else []
    lacking += [f"{listed(bare_levels)} in subgroups"] if bare_levels else []
    if lacking:
        words += f" Without an interval: {', and '.join(lacking)}."
    if withheld:
        words += f" Withheld by the policy: {withheld} of {len(numbers)} numbers."
    status = PARTLY if lacking or withheld else ANSWERED
    return ReportingItem("23a", topic, status, f"{words} {_subgroups(design)}")


def _bare(numbers: Sequence[Number]) -> list[str]:
    """Return the titles of single numbers that have no interval."""
    single = [one for one in numbers if one.value is not None and not one.at]
    return list(dict.fromkeys(one.title for one in single if not one.shown_interval))


def _subgroups(design: DesignFacts) -> str:
    variables = list(dict.fromkeys(one.variable for one in design.subgroups))
    if not variables:
        return "Subgroups were not examined."
    return f"Subgroups by {listed(variables)}: see the section on subgroups."


def _plotted(numbers: Sequence[Number]) -> Iterator[str]:
    """Yield the titles of metrics whose numbers a figure joins."""
    for one in numbers:
        if one.at and one.value is not None and find_metric(one.metric).figure is not None:
            yield title_of(one.metric)
