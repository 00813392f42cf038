"""Two released results compared, as those of different people; refused where receipts show the same data.

A receipt has no data, and commitments to shares are new in every study. So it shows that data is the same
only by who submitted it, and how many samples: see `warnings_of`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from ppaurora.data.slices import Slice
from ppaurora.errors import InputError
from ppaurora.evaluation.designed import SliceResult
from ppaurora.evaluation.report import Report
from ppaurora.metrics import find_metric
from ppaurora.owner.report import StudyReport
from ppaurora.statistics.differences import ANYWHERE, BETWEEN_FRACTIONS, Difference, unpaired_difference
from ppaurora.statistics.estimates import Estimate, Table
from ppaurora.statistics.intervals import checked_level
from ppaurora.study.manifest import OwnerEntry
from ppaurora.study.organisations import as_compared
from ppaurora.study.receipt import Receipt

Result = StudyReport | Report

_USUAL_LEVEL = 0.95
_IN_ONE_STUDY = (
    "this comparison is of different people. To compare models on the same people, evaluate them in one "
    "study, with [models] in its plan, where the comparison is paired"
)


@dataclass(frozen=True)
class NamedResult:
    """A result that is compared, and the name by which people know it, such as its file's.

    Of a result of several models or outcomes, `model` and `outcome` say which is compared. They need not be
    given where there is one, and do not count where it has no name.
    """

    name: str
    result: Result
    model: str = ""
    outcome: str = ""

    def __post_init__(self) -> None:
        _ = self.whole  # raises where it is not clear which one is meant

    @property
    def whole(self) -> SliceResult | None:
        """Return the model and the outcome that are compared; None of a result that has no names."""
        wholes = self.result.results.wholes
        if not wholes:
            return None
        model = self._chosen("model", self.model, [one.slice.model for one in wholes])
        outcome = self._chosen("outcome", self.outcome, [one.slice.outcome for one in wholes])
        return next(one for one in wholes if one.slice == Slice(model, outcome))

    def _chosen(self, what: str, wanted: str, names: Sequence[str]) -> str:
        there = list(dict.fromkeys(names))
        if wanted in there or there == [""]:
            return wanted if wanted in there else ""
        listed = ", ".join(there)
        if wanted:
            raise InputError(f"{self.name}: has no {what} '{wanted}'; it has: {listed}")
        if len(there) > 1:
            raise InputError(f"{self.name}: has several {what}s, {listed}; name one with --{what}")
        return there[0]

    @property
    def metrics(self) -> dict[str, Estimate | Table]:
        """Return the metrics of what is compared."""
        return self.result.metrics if self.whole is None else self.whole.metrics

    @property
    def suppressed(self) -> bool:
        """Return whether the policy suppresses what is compared."""
        return self.result.suppressed if self.whole is None else self.whole.suppressed

    @property
    def receipt(self) -> Receipt | None:
        return self.result.receipt if isinstance(self.result, StudyReport) else None

    @property
    def owners(self) -> int:
        """Return how many owners' data it is of."""
        result = self.result
        return len(result.receipt.samples) if isinstance(result, StudyReport) else result.owners

    def estimate(self, metric: str) -> Estimate:
        """Return a metric that can be compared; raises `InputError` with the reason why it cannot."""
        found = self.metrics.get(metric)
        if found is None:
            there = ", ".join(self.metrics)
            raise InputError(f"{self.name}: has no '{metric}'; it has: {there}")
        if not isinstance(found, Estimate):
            raise InputError(f"{self.name}: '{metric}' is a table; only single numbers are compared")
        if found.interval is None:
            why = f" ({found.note})" if found.note else ""
            raise InputError(
                f"{self.name}: '{metric}' has no interval{why}; evaluate it with a confidence_level, such as "
                "0.95"
            )
        return found

    def to_dict(self) -> dict[str, Any]:
        receipt, whole = self.receipt, self.whole
        return {
            "file": self.name,
            "model": None if whole is None else whole.slice.model or None,
            "outcome": None if whole is None else whole.slice.outcome or None,
            "study": None if receipt is None else receipt.study,
            "manifest_hash": None if receipt is None else receipt.manifest_hash,
            "owners": self.owners,
            "samples": self.result.samples,
        }


@dataclass(frozen=True)
class ResultComparison:
    """Two results on different people, compared.

    Attributes
    ----------
    a, b
        The results.
    confidence_level
        The level of the intervals.
    differences
        By metric, that of a minus that of b.
    warnings
        What a reader should know about the data of both before using them, in sentences.
    """

    a: NamedResult
    b: NamedResult
    confidence_level: float
    differences: dict[str, Difference]
    warnings: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return what `ppaurora compare --format json` prints."""
        return {
            "a": self.a.to_dict(),
            "b": self.b.to_dict(),
            "confidence_level": self.confidence_level,
            "differences": {
                name: {
                    "a": self.a.estimate(name).to_dict(),
                    "b": self.b.estimate(name).to_dict(),
                    "difference": difference.to_dict(),
                }
                for name, difference in self.differences.items()
            },
            "warnings": list(self.warnings),
        }


def compare_results(
    a: NamedResult, b: NamedResult, metrics: Sequence[str] = (), level: float | None = None
) -> ResultComparison:
    """Compare the metrics of two results, by default all that are a number with an interval in both.

    The level is by default that of the intervals, if all have the same, else 0.95. Results must have been
    verified. Raises `InputError` if there is nothing to compare, or receipts show the same data.
    """
    if level is not None:
        checked_level(level)
    for one in (a, b):
        if one.suppressed:
            raise InputError(f"{one.name}: the policy suppresses the result, so there is nothing to compare")
    warnings = warnings_of(a, b)
    for name in metrics:
        find_metric(name)
    names = list(dict.fromkeys(metrics)) or list(_comparable(a, b))
    if not names:
        raise InputError(
            f"{a.name} and {b.name}: no number has an interval in both, so there is nothing to compare; "
            "evaluate the same metrics, with a confidence_level such as 0.95"
        )
    pairs = {name: (a.estimate(name), b.estimate(name)) for name in names}
    levels = {estimate.confidence_level for pair in pairs.values() for estimate in pair}
    if level is None:
        level = (levels.pop() if len(levels) == 1 else None) or _USUAL_LEVEL
    samples = a.result.samples, b.result.samples
    differences = {
        name: unpaired_difference(
            *pair, level, *samples, within=BETWEEN_FRACTIONS if find_metric(name).is_fraction else ANYWHERE
        )
        for name, pair in pairs.items()
    }
    return ResultComparison(a, b, level, differences, (*warnings, *_other_parameters(a, b, names)))


def warnings_of(a: NamedResult, b: NamedResult) -> list[str]:
    """Return what is known of data that is in both results; raise `InputError` if it is the same.

    It is the same if the study is, or a submission, or if an owner with the same key or of the same
    organisation submitted the same number of samples to both. Owners in common with other numbers may have
    other samples, or some of the same. That is a warning, as is a name that owners have in common.
    """
    if a.receipt is None or b.receipt is None:
        if a.result == b.result:
            raise InputError(f"{a.name} and {b.name} are the same result")
        without = " and ".join(one.name for one in (a, b) if one.receipt is None)
        return [
            f"nothing shows whether both results are of different people's data, as there is no receipt in "
            f"{without}; the comparison assumes that they are"
        ]
    if a.receipt.manifest_hash == b.receipt.manifest_hash:
        raise InputError(f"{a.name} and {b.name}: are of the same study, {a.receipt.study}; {_IN_ONE_STUDY}")
    if _commitments(a.receipt) & _commitments(b.receipt):
        raise InputError(f"{a.name} and {b.name}: have a submission in common; {_IN_ONE_STUDY}")
    return list(_owners_in_common(a, b, a.receipt, b.receipt))


def _owners_in_common(a: NamedResult, b: NamedResult, of_a: Receipt, of_b: Receipt) -> Iterator[str]:
    for one in of_a.manifest.owners:
        for other in of_b.manifest.owners:
            common = _in_common(one, other)
            if not common:
                continue
            sizes = of_a.samples[one.name], of_b.samples[other.name]
            who = one.name if one.name == other.name else f"{one.name} and {other.name}"
            if common != "name" and sizes[0] == sizes[1]:
                raise InputError(
                    f"{a.name} and {b.name}: have the same data, as far as receipts show: {who} (the same "
                    f"{common}) submitted {sizes[0]:,} samples to both; {_IN_ONE_STUDY}"
                )
            yield (
                f"{who} (the same {common}) submitted {sizes[0]:,} samples to A and {sizes[1]:,} to B; the "
                "comparison assumes that nobody is in both, and its interval is wrong if some are"
            )


def _in_common(one: OwnerEntry, other: OwnerEntry) -> str:
    """Return by what two owners are the same; nothing if they are not, as far as manifests say."""
    organisations = as_compared(one.organisation), as_compared(other.organisation)
    if one.pin == other.pin:
        return "key"
    if all(organisations):
        return "organisation" if organisations[0] == organisations[1] else ""
    return "name" if one.name == other.name else ""


def _commitments(receipt: Receipt) -> set[str]:
    return {one for commitments in receipt.commitments.values() for one in commitments}


def _comparable(a: NamedResult, b: NamedResult) -> Iterator[str]:
    """Return the names of all numbers that have an interval in both."""
    for name in a.metrics:
        both = [one.metrics.get(name) for one in (a, b)]
        if all(isinstance(found, Estimate) and found.interval is not None for found in both):
            yield name


def _other_parameters(a: NamedResult, b: NamedResult, names: Sequence[str]) -> Iterator[str]:
    """Warn of metrics that two studies have asked for with other parameters."""
    if a.receipt is None or b.receipt is None:
        return
    of_a, of_b = (
        {str(metric.name): metric for metric in receipt.manifest.terms.metrics}
        for receipt in (a.receipt, b.receipt)
    )
    for name in names:
        if of_a[name] != of_b[name]:
            yield f"{name} has other parameters in B than in A: {of_a[name]}; {of_b[name]}"
