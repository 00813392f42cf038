"""What an owner should look at before data is sent, in words, each under a code that stays.

No text tells a score or a count: Python's warnings may end up in a log. Labels are quoted as they are spelt.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal

from ppaurora.agreement.evaluation_spec import EvaluationSpec
from ppaurora.check.labels import Spelling, most_frequent
from ppaurora.data import Description, ScoreCounts
from ppaurora.data.single_precision import SinglePrecision
from ppaurora.data.slices import Slice
from ppaurora.errors import Wording
from ppaurora.io.text import printable
from ppaurora.statistics.estimates import Estimate

Code = Literal[
    "auroc-below-half",
    "positive-label",
    "label-spelling",
    "scale",
    "overlap",
    "duplicates",
    "one-class",
    "few-samples",
    "few-scores",
    "empty-level",
    "few-in-level",
    "same-models",
    "single-precision",
]

_TITLES: dict[Code, str] = {
    "auroc-below-half": "the local AUROC is below one half",
    "positive-label": "are the two classes swapped?",
    "label-spelling": "labels do not match the plan",
    "scale": "the scores are on another scale",
    "overlap": "it contains data of another study",
    "duplicates": "duplicate rows",
    "one-class": "only one class",
    "few-samples": "few samples in one class",
    "few-scores": "few distinct scores",
    "empty-level": "a subgroup without samples",
    "few-in-level": "a small subgroup",
    "same-models": "two models with the same scores",
    "single-precision": "scores in single precision",
}
FEW = 10  # of a class: with fewer, an interval misleads
_MEND = "If so, give scores for the positive class: 1 - p for a probability p of the other class"


class DataWarning(UserWarning):
    """The data about to be submitted does not look the way the study's plan says.

    Examples
    --------
    An unattended script can stop at it, before anything is sent:

    >>> import warnings
    >>> import ppaurora
    >>> study = ppaurora.Study("kits/north", "corrected-2026")
    >>> with warnings.catch_warnings():  # doctest: +ELLIPSIS
    ...     warnings.simplefilter("error", ppaurora.DataWarning)
    ...     study.submit(([1, 0, 0], [0.25, 0.65, 0.45]))
    Traceback (most recent call last):
    ...
    ppaurora.check.concerns.DataWarning: the local AUROC is below 0.5, perhaps by chance: are the scores ...
    """


@dataclass(frozen=True)
class Concern:
    """One thing to look at.

    Attributes
    ----------
    code
        Stable, for programs; docs/checks.md explains each.
    text
        In words.
    is_warning
        Whether a submission without a person to ask stops at it. Others are worth knowing, no more.
    """

    code: Code
    text: str
    is_warning: bool = True

    @property
    def title(self) -> str:
        """The concern in a few words."""
        return _TITLES[self.code]


@dataclass(frozen=True)
class Whole:
    """All rows with the scores of one model and the labels of one outcome."""

    slice: Slice
    counts: ScoreCounts = field(repr=False)
    auroc: Estimate = field(repr=False)
    labels: Sequence[Spelling] = field(repr=False)
    single_precision: SinglePrecision | None = None

    @property
    def of_model(self) -> str:
        """Name the model, behind what is told of it; nothing where the study has no names for models."""
        return f" of model {self.slice.model}" if self.slice.model else ""

    @property
    def of_outcome(self) -> str:
        """Name the outcome likewise."""
        return f" for outcome {self.slice.outcome}" if self.slice.outcome else ""


def concerns_of(
    wholes: Sequence[Whole], plan: EvaluationSpec | None, thresholds: Sequence[float]
) -> Iterator[Concern]:
    """Look at the labels of every outcome, the scores of every model, and whether they fit each other.

    Thresholds are those of the plan, in increasing order.
    """
    for one in _first_of_each(wholes, "outcome"):
        yield from label_concerns(one.labels, plan, one.of_outcome)
    yield from auroc_concerns(wholes, plan)
    if plan is not None:
        for one in _first_of_each(wholes, "model"):
            yield from scale_concerns(one.counts, plan, thresholds, one.of_model)


def label_concerns(
    labels: Sequence[Spelling], plan: EvaluationSpec | None, of_outcome: str = ""
) -> Iterator[Concern]:
    """Is the label that counts as positive the plan's positive class?"""
    found, other = (most_frequent(labels, positive=bit) for bit in (True, False))
    wanted = "" if plan is None else plan.positive_class
    if found is None:
        return
    taken = f"{_quoted(found.label)} is taken as the positive label{of_outcome}"
    if found.says_no:
        yield _positive_label(f"{taken}, and reads like a negative one; should it be the other", other, "?")
    elif not wanted or found.names(wanted):
        return
    elif other is not None and other.names(wanted):
        said = f"{taken}, but the plan's positive class is {_quoted(wanted)}, which is the other label here"
        yield _positive_label(said, other)
    elif not found.says_yes:
        yield Concern(
            "label-spelling",
            f"{taken}, and the plan calls the positive class {_quoted(wanted)}: do they mean the same?",
        )


def _positive_label(said: str, other: Spelling | None, end: str = "") -> Concern:
    """Return the concern, with how to name the other label; a page has a choice for that."""
    if other is None:
        return Concern("positive-label", f"{said}{end}")
    label = printable(other.label)
    page = f"{said}: choose {label} as the positive label under 'Columns'{end}"
    return Concern("positive-label", Wording(f"{said}: --pos-label {label}{end}", page))


def auroc_concerns(wholes: Sequence[Whole], plan: EvaluationSpec | None) -> Iterator[Concern]:
    """Below 0.5: whose scores, the likelier cause first, and whether it may be chance.

    Those of which the same is to be said are named together.
    """
    below: dict[tuple[str, str], list[str]] = {}
    for one in wholes:
        if one.auroc.value is not None and one.auroc.value < 0.5:
            whose = below.setdefault((_chance(one), _causes(one, plan)), [])
            whose.append(f"{one.of_model}{one.of_outcome}")
    for (chance, causes), whose in below.items():
        said = f"the local AUROC{' and'.join(whose)} is below 0.5{chance}"
        yield Concern("auroc-below-half", f"{said}: {causes}")


def _causes(one: Whole, plan: EvaluationSpec | None) -> str:
    codes = {concern.code for concern in label_concerns(one.labels, plan)}
    found = most_frequent(one.labels, positive=True)
    inverted = f"are the scores inverted? {_direction(plan)}. {_MEND}"
    if "positive-label" in codes:
        return "most likely because the positive label is wrong, as said above"
    if "label-spelling" in codes and found is not None:
        return f"is {_quoted(found.label)} the right positive label? If it is, {inverted}"
    if plan is not None and found is not None and plan.positive_class and found.names(plan.positive_class):
        return f"{inverted}. The positive label matches the plan, so it is unlikely to be the cause"
    taken = "" if found is None else f": {_quoted(found.label)} counts as positive"
    return f"{inverted}. Or the positive label is wrong{taken}"


def _chance(one: Whole) -> str:
    """Return whether it may be chance; nothing where rows are not independent, which has no interval."""
    if is_beyond_chance(one.auroc, one.counts):
        return ", by more than chance explains"
    is_known = one.auroc.interval is not None or min(one.counts.by_class) < FEW
    return ", perhaps by chance" if is_known else ""


def is_beyond_chance(auroc: Estimate, counts: ScoreCounts) -> bool:
    """Return whether the interval ends below 0.5; never with very few of a class, whose intervals mislead."""
    enough = min(counts.by_class) >= FEW
    return enough and auroc.interval is not None and auroc.interval[1] < 0.5


def _direction(plan: EvaluationSpec | None) -> str:
    if plan is None:
        return "Higher scores must mean more positive"
    meaning = _quoted(plan.positive_class) if plan.positive_class else "more positive"
    return f"The plan says that {plan.score_direction} scores mean {meaning}"


def scale_concerns(
    counts: ScoreCounts, plan: EvaluationSpec, thresholds: Sequence[float], of_model: str = ""
) -> Iterator[Concern]:
    """Are the scores on the plan's scale, and the plan's thresholds among them?"""
    low, high = float(counts.values[0]), float(counts.values[-1])
    if plan.score_scale == "probability" and (low < 0 or high > 1):
        outside = "are outside 0 to 1"
        if low < 0 < high:
            outside = "are below 0: are they logits? If so, give 1 / (1 + exp(-score))"
        elif low >= 0 and high <= 100:
            outside = "are above 1: are they percentages? If so, divide them by 100"
        some = f"some{of_model}"
        yield Concern("scale", f"the plan says that scores are probabilities, and {some} {outside}")
    elif thresholds and (thresholds[-1] < low or thresholds[0] > high):
        scores = f"the scores{of_model}" if of_model else "these scores"
        yield Concern(
            "scale",
            f"the plan's thresholds all lie outside {scores}: are they on the scale that the plan uses?",
        )


def precision_concerns(wholes: Sequence[Whole]) -> Iterator[Concern]:
    """Are scores float32, beside thresholds or other owners' float64?"""
    for one in _first_of_each(wholes, "model"):
        found = one.single_precision
        if found is None or not (found.at_edges or (found.differs and found.takes_float64)):
            continue
        so = f"the scores{one.of_model} are float32, in which 0.7 is 0.699999988"
        if found.at_edges:
            text = f"{so}: some lie at a threshold or an edge of the study, and may count on its other side"
        else:
            text = f"{so}: if other owners have float64, what was equal may differ"
        yield Concern("single-precision", f"{text}; {found.remedy}", is_warning=bool(found.at_edges))


def size_concerns(wholes: Sequence[Whole]) -> Iterator[Concern]:
    """Too few of a class, of every outcome; too few different scores, of every model."""
    for one in _first_of_each(wholes, "outcome"):
        positives, negatives = one.counts.by_class
        if not positives or not negatives:
            none = "negatives" if positives else "positives"
            yield Concern(
                "one-class",
                f"there are no {none}{one.of_outcome}, so nothing tells whether these scores fit these "
                "labels. Are the label column and the positive label correct?",
            )
        elif min(positives, negatives) < FEW:
            yield Concern(
                "few-samples",
                f"there are fewer than {FEW} samples of one class{one.of_outcome}",
                is_warning=False,
            )
    for one in _first_of_each(wholes, "model"):
        if len(one.counts.values) <= 2 < sum(one.counts.by_class):
            yield Concern(
                "few-scores",
                f"there are at most two distinct scores{one.of_model}: are they decisions? Give the model's "
                "scores instead",
                is_warning=False,
            )


def _first_of_each(wholes: Sequence[Whole], name: str) -> list[Whole]:
    """Return the first whole of every model, or of every outcome."""
    found: dict[str, Whole] = {}
    for one in wholes:
        found.setdefault(getattr(one.slice, name), one)
    return list(found.values())


def duplicate_concerns(description: Description | None) -> Iterator[Concern]:
    """Tell duplicates that were found, and where none were looked for."""
    if description is None:
        return
    if description.id_column is not None and description.ids_compared < description.rows:
        yield Concern(
            "duplicates",
            f"duplicates in column '{printable(description.id_column)}' were looked for in the first rows "
            "alone: of a source of this size, no row is kept. Let the database count distinct ids",
            is_warning=False,
        )
    if description.duplicates:
        yield Concern(
            "duplicates",
            f"rows have the same value in column '{printable(description.id_column)}', the first at row "
            f"{description.first_duplicate}: are there duplicate samples?",
        )


def _quoted(text: str) -> str:
    return f"'{printable(text)}'"
