"""Results of a study with a design, read back from the JSON that a report was saved as."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, TypeVar

import msgspec

from ppaurora.data.further import LEFT_OUT_REASONS
from ppaurora.data.slices import Slice
from ppaurora.errors import InputError
from ppaurora.evaluation.designed import (
    Comparison,
    DesignedResults,
    SitesResult,
    SliceResult,
    SubgroupResult,
    numbers_of,
)
from ppaurora.metrics import find_metric
from ppaurora.metrics.calibration import Brier
from ppaurora.metrics.roc import Auroc
from ppaurora.metrics.thresholds import NetBenefit
from ppaurora.statistics.differences import Difference
from ppaurora.statistics.estimates import Estimate, Row, Table
from ppaurora.statistics.random_effects import RandomEffects, Scale

KEYS = ("slices", "comparisons", "subgroups", "sites", "left_out", "weighted", "patients")

_Kind = TypeVar("_Kind", bound=Estimate)


def read_metrics(content: Mapping[str, Any]) -> dict[str, Estimate | Table]:
    """Read metrics by name; raises an error for a metric that does not exist."""
    return {find_metric(name).name: _number(found, Estimate) for name, found in content.items()}


def read_results(content: Mapping[str, Any]) -> DesignedResults:
    """Read what `DesignedResults.to_dict` returned, of which a plain study has nothing.

    It may raise whatever such a reader raises on what is not such a dictionary: whoever calls it compares
    `to_dict` of what it returns with what there was.
    """
    if not any(key in content for key in KEYS):
        return DesignedResults()
    slices, comparisons, subgroups, sites, left_out, weighted, patients = (content[key] for key in KEYS)
    wholes = tuple(_slice(one) for one in slices)
    levels = {
        variable: [_slice(one, variable, one["level"]) for one in found["levels"]]
        for variable, found in subgroups.items()
    }
    if set(left_out) - set(LEFT_OUT_REASONS) or not all(
        _has_levels(some, wholes) for some in levels.values()
    ):
        raise InputError("are not results as reports have them: of every model, all levels of a variable")
    every = [*wholes, *(one for some in levels.values() for one in some)]
    confidence = next(_confidence_levels(every), None)
    return DesignedResults(
        wholes,
        {variable: SubgroupResult(variable, some, confidence) for variable, some in levels.items()},
        tuple(_comparison(one) for one in comparisons),
        tuple(_sites(one) for one in sites),
        {reason: Estimate.from_dict(one) for reason, one in left_out.items()},
        msgspec.convert(weighted, bool),
        msgspec.convert(patients, bool),
    )


def _has_levels(levels: list[SliceResult], wholes: tuple[SliceResult, ...]) -> bool:
    """Return whether all models and outcomes have the same levels, two at least."""
    by_whole = {
        tuple(one.slice.level for one in levels if one.slice.whole == whole.slice) for whole in wholes
    }
    return len(by_whole) == 1 and all(len(names) > 1 for names in by_whole)


def _slice(content: Mapping[str, Any], variable: str = "", level: str = "") -> SliceResult:
    return SliceResult(
        Slice(content["model"], content["outcome"], variable, level),
        read_metrics(content["metrics"]),
        msgspec.convert(content["positives"], int | None),
        msgspec.convert(content["negatives"], int | None),
        msgspec.convert(content["suppressed"], bool),
    )


def _number(content: Any, kind: type[_Kind]) -> _Kind | Table:
    """Read a number, or a table of numbers of this kind."""
    if "rows" not in content:
        return kind.from_dict(content)
    rows = (
        Row(row["at"], {name: kind.from_dict(one) for name, one in row["values"].items()})
        for row in content["rows"]
    )
    return Table(tuple(rows))


def _confidence_levels(slices: list[SliceResult]) -> Iterator[float]:
    """Give the level of every interval; differences between subgroups have the same."""
    numbers = (number for one in slices for number in numbers_of(one.metrics))
    yield from (number.confidence_level for number in numbers if number.confidence_level is not None)


def _comparison(content: Mapping[str, Any]) -> Comparison:
    found = {name: _number(one, Difference) for name, one in content["differences"].items()}
    differences: list[Any] = [found.get(one.name) for one in (Auroc, Brier, NetBenefit)]
    return Comparison(content["a"], content["b"], content["outcome"], *differences)


def _sites(content: Mapping[str, Any]) -> SitesResult:
    within = content["within_sites"]
    return SitesResult(
        Slice(content["model"], content["outcome"]),
        {name: _effects(one) for name, one in content["effects"].items()},
        None if within is None else Estimate.from_dict(within),
    )


def _effects(content: Mapping[str, Any]) -> RandomEffects:
    pooled, tau2, tau, i2 = (Estimate.from_dict(content[name]) for name in ("pooled", "tau2", "tau", "i2"))
    return RandomEffects(
        content["quantity"],
        content["title"],
        Scale(content["scale"]).value,
        pooled,
        tau2,
        tau,
        i2,
        msgspec.convert(content["prediction_interval"], tuple[float, float] | None),
        msgspec.convert(content["sites"], int | None),
    )
