"""Which designs go with which protocols, policies and metrics; anything else is refused with what to do."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ppaurora.data.count_table import CountTable
from ppaurora.data.samples import Samples
from ppaurora.errors import InputError
from ppaurora.metrics.calibration import Brier, CalibrationInTheLarge, ObservedToExpected
from ppaurora.metrics.precision_recall import Aupr, AveragePrecision
from ppaurora.metrics.recalibration import CalibrationIntercept, CalibrationSlope
from ppaurora.metrics.roc import Auroc
from ppaurora.metrics.sites import MOST_SITES, SiteQuantity
from ppaurora.metrics.thresholds import NetBenefit
from ppaurora.policy.rules import Policy

if TYPE_CHECKING:
    from ppaurora.agreement.terms import Terms

_MOST_OWNERS = 256  # for which sums of what each may state do not wrap
_COMPARED = (Auroc, Brier, NetBenefit)
_WEIGHTED = (
    Auroc,
    AveragePrecision,
    Aupr,
    Brier,
    ObservedToExpected,
    CalibrationInTheLarge,
    CalibrationIntercept,
    CalibrationSlope,
)


def check_design_of(terms: Terms) -> None:
    """Refuse a design that the protocol, the policy or the metrics do not allow."""
    if not terms.protocol.rounds_inside:
        raise InputError(
            f"the protocol '{terms.protocol.name}' evaluates one score and one label; for models, outcomes, "
            "subgroups, patients, weights, sites and rows left out use 'fast' or 'grid'"
        )
    _check_weights(terms)
    _check_sites(terms)
    if terms.comparisons and not any(isinstance(metric, _COMPARED) for metric in terms.metrics):
        names = ", ".join(metric.name for metric in _COMPARED)
        raise InputError(f"comparisons: differences are of {names}; ask for one of these metrics")
    if terms.subgroups and not any(metric.by_level for metric in terms.metrics):
        raise InputError(
            f"subgroups: none of the metrics is computed for levels; add '{Auroc.name}', for instance"
        )


def _check_weights(terms: Terms) -> None:
    if terms.weight is None:
        return
    if not terms.protocol.tabulated:
        raise InputError("weight: rows are counted with their weights by the protocol 'grid' alone; use that")
    if terms.policy.is_private:
        raise InputError(
            "weight: no noise is known that protects a person whose row counts several times; use "
            "kind = 'publication', or leave the weights out"
        )
    if terms.subgroups:
        raise InputError("weight: levels of subgroups are of rows that count once; leave out one of the two")
    others = [metric.name for metric in terms.metrics if not isinstance(metric, _WEIGHTED)]
    if others:
        possible = ", ".join(metric.name for metric in _WEIGHTED)
        raise InputError(f"weight: the metric '{others[0]}' takes no weights; those that do: {possible}")


def _check_sites(terms: Terms) -> None:
    if not terms.sites:
        return
    if terms.policy.is_private:
        raise InputError(
            "sites: one person may move its site's value by any amount, so that no noise protects it; use "
            "kind = 'publication', or leave the sites out"
        )
    if terms.is_clustered:
        other = "patient" if terms.patient else "weight"
        raise InputError(
            "sites: owners' own standard errors are of independent rows that count once; leave out either "
            f"sites or {other}"
        )
    if not any(isinstance(metric, quantity.metric) for metric in terms.metrics for quantity in SiteQuantity):
        names = ", ".join(quantity.metric.name for quantity in SiteQuantity)
        raise InputError(f"sites: heterogeneity is that of {names}; ask for one of these metrics")


def check_limits_of(terms: Terms) -> None:
    """Refuse tables that are too large, and scores that would be counted without a grid."""
    for model in terms.model_names if terms.layout.needs_grids else ():
        grid = terms.layout.grid_of(model)
        for metric in terms.metrics:
            if metric.of_probabilities and (grid.low < 0 or grid.high > 1):
                where = f"models.{model}.grid" if model else "protocol"
                raise InputError(
                    f"{where}: the metric '{metric.name}' takes probabilities, but the grid goes beyond 0 "
                    "and 1"
                )


def problem_with_owners(terms: Terms, owners: int) -> str:
    """Return why there are too many owners for a design, or nothing."""
    if terms.sites and owners > MOST_SITES:
        return f"sites: at most {MOST_SITES} owners are possible"
    if not terms.is_plain and owners > _MOST_OWNERS:
        return f"with models, subgroups, patients or weights at most {_MOST_OWNERS} owners are possible"
    return ""


def check_patients_of(terms: Terms) -> None:
    """Refuse a plan with patients whose rules on cells would count each of their rows as a person."""
    if terms.patient and terms.policy.withholds_cells and terms.policy.rows_per_person == 1:
        raise InputError(
            "patient: patients have several rows; say in [policy] how many one has at most, such as "
            "rows_per_person = 5: numbers of tables then need so many times as many rows, which no fewer "
            "people can have"
        )


def check_rows_per_person(samples: Samples | CountTable, policy: Policy) -> None:
    """Raise if a patient has more rows than noise protects, or than rules on cells count as one person."""
    further = None if isinstance(samples, CountTable) else samples.further
    matters = policy.is_private or policy.withholds_cells
    if matters and further is not None and further.most_rows > policy.rows_per_person:
        raise InputError(
            f"{samples.source}: a patient has more rows than the study's policy protects "
            f"(rows_per_person = {policy.rows_per_person:,}); leave some of them out, or agree on a plan "
            "that allows more"
        )
