"""Sentences for a paper on several models, comparisons, subgroups, sites and rows left out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ppaurora.data.design import Design
from ppaurora.evaluation.designed import CLUSTERED
from ppaurora.io.text import listed
from ppaurora.pages.report.designs import (
    ComparisonFacts,
    DesignFacts,
    SitesFacts,
    SliceFacts,
    SubgroupFacts,
    main_metric,
)
from ppaurora.pages.report.numbers import Number, capitalised, place_of, title_of
from ppaurora.pages.report.sentences import counted, instead_of, results_sentence
from ppaurora.policy.rules import Policy
from ppaurora.policy.sentences import nearness, shown_count
from ppaurora.statistics.random_effects import Scale

_MOST_LEVELS_NAMED = 6
_MOST_PLACES_NAMED = 3


def where_of(samples: int, positives: int | None, design: DesignFacts, policy: Policy) -> str:
    """Return samples and events, as far as the policy tells; of several outcomes, samples alone."""
    if len(design.outcomes) > 1:
        return f"n = {samples:,}"
    if positives is None or not design.is_weighted:
        return counted(samples, positives, policy)
    negatives = design.slices[0].negatives or 0
    weights = " and ".join(
        shown_count(count, policy, what) for count, what in ((positives, "positive"), (negatives, "negative"))
    )
    return f"n = {samples:,}; by weight {weights}"


def design_results(
    numbers: Sequence[Number],
    design: DesignFacts,
    where: str,
    subject: str,
    policy: Policy,
    *,
    suppressed: bool,
) -> str:
    """Return the sentences for the results section; of a plain study, the one about its numbers.

    Models, comparisons, subgroups, sites and rows left out are paragraphs, with an empty line between them.
    """
    if suppressed or not design.slices:
        return results_sentence(numbers, where, subject, suppressed=suppressed)
    models = (
        f"In the pooled test samples of {where}: {_all_models(design, policy)}"
        if design.has_several
        else results_sentence(numbers, where, subject, suppressed=False)
    )
    paragraphs = [
        [models],
        [one for found in design.comparisons for one in _compared(found)],
        [one for found in design.subgroups if (one := _by_level(found))],
        [one for found in design.sites for one in _between_sites(found)],
        _left_out(design, policy),
    ]
    return "\n\n".join(" ".join(sentences) for sentences in paragraphs if sentences)


def _all_models(design: DesignFacts, policy: Policy) -> str:
    """Return what every model attained, and for which outcome."""
    positive = ""
    if len(design.outcomes) > 1:
        positive = "positive by weight" if design.is_weighted else "positive"
    return "; ".join(_attained(one, policy, positive) for one in design.slices) + "."


def _attained(one: SliceFacts, policy: Policy, positive: str) -> str:
    """Return the single numbers of a model and an outcome; what is withheld or undefined is said, too.

    `positive` is what the number of positives is of; without it, they were counted for all models before.
    """
    of = listed(
        list(
            filter(
                None,
                (f"for {one.model}" if one.model else "", f"outcome {one.outcome}" if one.outcome else ""),
            )
        ),
        ", ",
    )
    events = ""
    if positive and one.positives is not None:
        events = f" ({shown_count(one.positives, policy, positive)})"
    if one.suppressed:
        return f"{of}{events}, no value was released, as a rule of the release policy was not met"
    if one.undefined:
        return f"{of}{events}, all numbers are undefined: {one.undefined}"
    values = [f"{number.title} {_is(number)}" for number in one.single]
    return f"{of}{events}, {listed(values)}" if values else f"{of}{events}, values are in the table"


def _is(number: Number) -> str:
    return instead_of(number) if number.value is None else f"was {number.text}"


def _lacks(number: Number) -> str:
    """Return why a number has no value."""
    return "withheld" if number.suppressed else "undefined"


def _compared(found: ComparisonFacts) -> Iterator[str]:
    """Give a sentence for every number in which two models were compared; of a table, the first rows."""
    at_places = [number for number in found.numbers if number.at]
    for number in found.numbers:
        if number in at_places[_MOST_PLACES_NAMED:]:
            continue
        at = f" at {', '.join(number.at)} {place_of(number.at)}" if number.at else ""
        outcome = f" for {found.outcome}" if found.outcome else ""
        subject = f"The difference in {number.title}{at} of {found.a} minus {found.b}{outcome}"
        if number.value is None:
            yield f"{subject} {_is(number)}."
            continue
        said = (number.shown_interval, number.method, number.test, number.bound, number.caveat)
        details = "; ".join(filter(None, said))
        yield f"{subject} was {number.shown}" + (f" ({details})." if details else ".")


def _by_level(found: SubgroupFacts) -> str:
    """Return the main number of every level; of many levels, of how far they are apart."""
    main = main_metric(found.levels)
    if not main:
        return ""
    opening = f"By {found.variable}, {title_of(main)}" + (f" of {found.name}" if found.name else "")
    numbers = {level.level: number for level in found.levels if (number := level.get(main)) is not None}
    lacking = [one for one in numbers.values() if one.value is None]
    if len(lacking) == len(numbers):
        return f"{opening} {_is(lacking[0])}."
    if len(numbers) > _MOST_LEVELS_NAMED:
        shown = {one.value: one.shown for one in numbers.values() if one.value is not None}
        said = f"; {len(lacking)} were {_lacks(lacking[0])}" if lacking else ""
        span = f"from {shown[min(shown)]} to {shown[max(shown)]}"
        return f"{opening} was {span} in {len(numbers) - len(lacking)} levels{said}."
    parts = [
        f"{_lacks(one) if one.value is None else one.text} for {level}" for level, one in numbers.items()
    ]
    differences = [
        "; ".join(filter(None, (f"{one.level} minus {one.reference}: {number.tested}", number.caveat)))
        for one in found.differences
        for number in one.numbers
        if number.metric == main and number.value is not None
    ]
    said = f" (differences: {'; '.join(differences)})" if differences else ""
    return f"{opening} was {listed(parts)}{said}."


def _between_sites(found: SitesFacts) -> Iterator[str]:
    """Give the heterogeneity in words, and AUROC within sites."""
    of = f" ({found.name})" if found.name else ""
    for effect in found.effects:
        if effect.pooled.value is None:
            yield effect.words
        else:
            yield f"{capitalised(effect.pooled.title)}{of} was {effect.pooled.text}. {effect.words}"
    if found.within is not None:
        yield f"{capitalised(found.within.title)}{of} {_is(found.within)}."


def _left_out(design: DesignFacts, policy: Policy) -> list[str]:
    if not design.left_out:
        return []
    if any(one.value is None for one in design.left_out):
        return ["How many rows the institutions had left out was withheld under the release policy."]
    parts = [f"{round(one.value or 0):,} {one.title}" for one in design.left_out]
    near = nearness(policy)
    return [f"The institutions had left out {listed(parts)}{f' (each {near})' if near else ''}."]


def design_methods(design: DesignFacts, agreed: Design | None) -> list[str]:
    """Return what the methods section says of them; `agreed` is what the manifest says, if there is one."""
    return [
        *_comparing(design),
        *_clusters(design),
        *_dividing(design, with_manifest=agreed is not None),
        *_heterogeneity(design),
        *(
            ["Every institution stated how many rows it had left out and why; only the sums were released."]
            if design.left_out and agreed is not None
            else []
        ),
    ]


def _comparing(design: DesignFacts) -> list[str]:
    pairs = list(dict.fromkeys((one.a, one.b) for one in design.comparisons))
    if not pairs:
        return []
    numbers = [number for one in design.comparisons for number in one.numbers if number.method]
    by_method: dict[str, list[str]] = {}
    for number in numbers:
        titles = by_method.setdefault(number.method, [])
        titles += [] if number.title in titles else [number.title]
    how = listed([f"{listed(titles)} ({method})" for method, titles in by_method.items()])
    compared = listed([f"{a} with {b}" for a, b in pairs])
    intervals = f" Intervals and tests of differences: {how}." if how else ""
    return [f"Models were compared on the same samples: {compared}.{intervals}"]


def _clusters(design: DesignFacts) -> list[str]:
    """Return that rows have weights, and that intervals allow for patients with several."""
    sentences = ["Every row counted as often as its weight says."] if design.is_weighted else []
    if design.has_patients and any(one.method == CLUSTERED for one in design.numbers):
        sentences.append(
            "Intervals of AUROC allow for patients with several rows, by Obuchowski's variance over clusters."
        )
    return sentences


def _dividing(design: DesignFacts, *, with_manifest: bool) -> list[str]:
    """Return the subgroups; only a manifest fixes them, and only then institutions have secrets."""
    if not design.subgroups:
        return []
    variables = {one.variable: [level.level for level in one.levels] for one in design.subgroups}
    said = listed([f"{name} ({', '.join(levels)})" for name, levels in variables.items()])
    fixed = ", fixed beforehand; which sample is in which of them was a secret of its institution"
    return [
        f"Subgroups were by {said}{fixed if with_manifest else ''}. Differences between subgroups are "
        "between different samples (unpaired)."
    ]


def _heterogeneity(design: DesignFacts) -> list[str]:
    effects = {effect.title: effect for one in design.sites for effect in one.effects}
    if not effects:
        return []
    names = listed([Scale(effect.scale).name_of(title) for title, effect in effects.items()])
    return [
        f"Heterogeneity between institutions in {names} was assessed by random-effects meta-analysis "
        "(DerSimonian-Laird, intervals by Hartung and Knapp, prediction intervals by Higgins, Thompson and "
        "Spiegelhalter), inside the computation; no institution's own value was released."
    ]
