"""A sentence for the results section of a paper, and some for its methods."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ppaurora.agreement.evaluation_spec import EvaluationSpec
from ppaurora.agreement.terms import Terms
from ppaurora.data.grid import Grid
from ppaurora.evaluation.designed import ONE_CLASS
from ppaurora.io.text import listed
from ppaurora.pages.report.numbers import Number, capitalised, title_of
from ppaurora.policy.rules import COUNT_STEP, ROUNDED, Policy, guesses
from ppaurora.policy.sentences import shown_count
from ppaurora.protocols import Protocol


def counted(samples: int, positives: int | None, policy: Policy) -> str:
    """Samples and events, as far as the policy tells."""
    if positives is None:
        return f"n = {samples:,}; the number of positives was not disclosed"
    return f"n = {samples:,}, of which {shown_count(positives, policy, 'positive')}"


def results_sentence(numbers: Sequence[Number], where: str, subject: str, *, suppressed: bool) -> str:
    """`where` is of which samples, `subject` of which model, as `subject_of` returns it."""
    if suppressed:
        return (
            f"In the pooled test samples of {where}, no performance estimate{subject} was released: a rule "
            "of the agreed release policy on the numbers of positives and negatives was not met."
        )
    single = [number for number in numbers if not number.at]
    released = [number for number in single if number.value is not None]
    parts = []
    for place, number in enumerate(released):
        of = subject if place == 0 else ""
        read = "" if number.grid_bound is None else f", where {number.remark}"
        parts.append(f"{'the ' if of else ''}{number.title}{of} was {number.text}{read}")
    places = len({tuple(number.at.items()) for number in numbers if number.at})
    if not parts:
        parts = [f"the performance{subject} is given at {places} thresholds or bins in the table"]
    sentence = f"In the pooled test samples of {where}, {'; '.join(parts)}."
    for number in single:
        if number.value is None:
            sentence += f" {capitalised(number.title)} {instead_of(number)}."
    return sentence


def instead_of(number: Number) -> str:
    """Return why a number has no value, as the end of a sentence."""
    if number.suppressed:
        return "was withheld under the release policy"
    return f"is undefined: {ONE_CLASS}" if number.note == ONE_CLASS else "is undefined"


def caption_of(numbers: Sequence[Number], where: str, subject: str) -> str:
    """Return the caption of a table of the results."""
    read = [f" {capitalised(one.title)}: {one.remark}." for one in numbers if one.grid_bound is not None]
    return f"Performance{subject} in the pooled test samples of {where}." + "".join(read)


def reading_of(protocol: Protocol, grids: Mapping[str, Grid] | None = None) -> str:
    """Return how scores were read, in a sentence; nothing if they were taken as they are.

    `grids` are those of models, by name, which take the place of the protocol's own.
    """
    if grids and any(grid != protocol.grid for grid in grids.values()):
        read = "; ".join(f"those of {model} {_read_on(grid)}" for model, grid in grids.items())
        read = f"read by model: {read}"
    elif protocol.grid is None:
        return ""
    else:
        read = f"read {_read_on(protocol.grid)}"
    if protocol.tabulated:
        return f"Scores were {read}."
    return f"For measures that are made of a table of counts, scores were {read}."


def grids_of(terms: Terms) -> dict[str, Grid]:
    """Return by model the grid on which its scores are read, where they are."""
    grids = {name: terms.models[name].grid or terms.protocol.grid for name in sorted(terms.models)}
    return {name: grid for name, grid in grids.items() if grid is not None}


def _read_on(grid: Grid) -> str:
    return f"{grid.reading}, as the nearest of {grid.cells:,} values from {grid.low:g} to {grid.high:g}"


def subject_of(
    evaluated: EvaluationSpec | None, models: Sequence[str] = (), outcomes: Sequence[str] = ()
) -> str:
    """Return of which models and for which outcomes; what has no names is what all agreed to evaluate."""
    model = outcome = ""
    if evaluated is not None:
        version = f" (version {evaluated.version})" if evaluated.version else ""
        model = f"{evaluated.model}{version}" if evaluated.model else ""
        outcome = evaluated.outcome or ""
    model = listed(models) if models else model
    several = "s" if len(outcomes) > 1 else ""
    outcome = listed(outcomes) if outcomes else outcome
    return (f" of {model}" if model else "") + (f" for the outcome{several} {outcome}" if outcome else "")


def methods_sentences(
    numbers: Sequence[Number],
    *,
    metrics: Sequence[str],
    institutions: int,
    how: str,
    protocol: Protocol,
    read: str,
    policy: Policy,
    agreed: str,
    released: bool,
    of_patients: bool = False,
    more: Sequence[str] = (),
) -> str:
    """`how` says who computed with what, and `read` how scores were read; `agreed` where it was written down
    before; `of_patients` that floors count patients; `more` goes between."""
    counts = "its numbers of positives and negatives at every score"
    split = counts if protocol.tabulated else "its scores and labels"
    titles = list(dict.fromkeys(title_of(metric) for metric in metrics))
    verb = "was" if len(titles) == 1 else "were"
    sentences = [
        f"{capitalised(listed(titles))} {verb} computed over the test samples of {institutions} institutions "
        f"as if these had been pooled, without pooling them: each institution split {split} into secret "
        f"shares, and {how}.",
        *([read] if read else []),
        *more,
        *([_values(numbers, policy, unseen=bool(agreed))] if released else []),
        *_intervals(numbers, policy),
        *_floors(policy, of_patients=of_patients),
        *([agreed] if agreed else []),
    ]
    return " ".join(sentences)


def _values(numbers: Sequence[Number], policy: Policy, *, unseen: bool) -> str:
    """Tell what was done to the values before they left; `unseen` if nobody held all data until then."""
    if policy.is_private:
        return _noise(policy)
    digits = sorted({one.digits for one in numbers if one.digits})
    few = listed([str(number) for number in digits], " or ")
    done = [f"rounded to {few} {'decimal' if digits == [1] else 'decimals'}"] if digits else []
    if policy.counts == ROUNDED:
        done.append(f"numbers of samples to the nearest {COUNT_STEP}")
    if not done:
        return "The values are those of the pooled samples; nothing was held back."
    before = ", before anybody saw them" if unseen else ""
    return (
        f"The values are those of the pooled samples, {', and '.join(done)}, inside the computation{before}, "
        "as the release policy requires."
    )


def _noise(policy: Policy) -> str:
    epsilon, rows = f"{policy.epsilon:g}", policy.rows_per_person
    each = "" if rows == 1 else f" with at most {rows:,} rows"
    return (
        "The values are those of the pooled samples with noise, drawn inside the computation and known to no "
        f"server, by which the release as a whole is differentially private with epsilon = {epsilon} for the "
        f"data of every person{each}: {guesses(policy.spent)}."
    )


_METHODS = {
    "DeLong": "DeLong's method",
    "Obuchowski": "Obuchowski's method for clustered data",
    "Wilson": "Wilson's score method",
    "Newcombe": "Newcombe's score method",
    "Fieller": "Fieller's method",
    "normal": "the normal approximation",
    "normal, conservative": "a conservative normal approximation",
    "log": "the delta method on the logarithmic scale",
    "logit (Boyd, Eng, Page 2013)": "the logit method of Boyd, Eng and Page (2013)",
}


def _intervals(numbers: Sequence[Number], policy: Policy) -> list[str]:
    """Tell by which method intervals are computed, and that what was done to the values is inside them."""
    with_one = [one for one in numbers if one.method and one.shown_interval]
    if not with_one:
        return []
    methods: dict[str, list[str]] = {}
    for one in with_one:
        method = one.method.removesuffix(", with noise")
        titles = methods.setdefault(_METHODS.get(method, method), [])
        titles += [] if one.title in titles else [one.title]
    said = listed([f"by {method} for {listed(titles)}" for method, titles in methods.items()], ", and ")
    level = with_one[0].shown_interval.split(" CI")[0]
    how = ""
    if policy.is_private:
        how = "; they include the noise"
    elif any(one.digits is not None for one in with_one):
        how = "; they contain the intervals that the values would give before rounding"
    return [f"Confidence intervals ({level}) are {said}{how}."]


def _floors(policy: Policy, *, of_patients: bool) -> list[str]:
    if not policy.has_floors:
        return []
    positives, negatives = (
        ("patients with positive samples", "patients with negative ones")
        if of_patients
        else ("positives", "negatives")
    )
    least = policy.minimum_per_cell
    people = "patients" if of_patients else "samples"
    cells = f", and no number about fewer than {least:,} {people}, likewise" if least > 1 else ""
    return [
        f"Nothing would have been released with fewer than {policy.minimum_positives:,} {positives} or "
        f"{policy.minimum_negatives:,} {negatives}, overall or with any one institution left out{cells}."
    ]
