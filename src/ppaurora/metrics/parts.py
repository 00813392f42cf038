"""The queries of all slices of a study with a design, and how they divide a private study's epsilon."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import msgspec

from ppaurora.data.design import Design
from ppaurora.data.layout import Layout
from ppaurora.data.slices import Slice
from ppaurora.errors import MisuseError
from ppaurora.metrics.query import Query
from ppaurora.policy.rules import Policy

_LEFT_OUT_WEIGHT = Fraction(1, 10)  # of a private study's epsilon, beside 1 for every slice


def layout_of(query: Query) -> Layout:
    """Return which counts owners submit to a study with a design."""
    return Layout(designed(query), query.grid, query.tabulated, query.policy.is_private)


def designed(query: Query) -> Design:
    """Return the design of a study that has one."""
    if query.design is None:
        raise MisuseError("the study has no design")
    return query.design


def parts_of(query: Query) -> tuple[Query, ...]:
    """Return the query of every slice: wholes first, then levels; of a plain study, itself."""
    if query.design is None:
        return (query,)
    layout = layout_of(query)
    return tuple(_part(query, layout, slice_) for slice_ in query.design.slices)


def _part(query: Query, layout: Layout, slice_: Slice) -> Query:
    design = layout.design
    metrics = query.metrics
    if slice_.is_level:
        metrics = tuple(metric for metric in metrics if metric.by_level)
    with_errors = query.policy.is_private or not design.is_clustered
    most_weight = 1 if design.weight is None else design.weight.most
    return replace(
        query,
        sizes=tuple(size * most_weight for size in query.sizes),
        metrics=metrics,
        policy=_policy(query.policy, design, slice_),
        confidence_level=query.confidence_level if with_errors else None,
        grid=layout.grid_of(slice_.model) if layout.has_tables else None,
        tabulated=query.tabulated or slice_.is_level,
        slice=slice_,
        sizes_are_secret=slice_.is_level or design.weight is not None,
        most_weight=most_weight,
        rows_per_patient=query.policy.rows_per_person if design.patient else 1,
        design=None,
    )


def epsilon_of(policy: Policy, design: Design, slice_: Slice | None) -> float:
    """Return the part of epsilon that a slice has, or the numbers of rows left out.

    Every whole has one, and every variable for all its levels together: replacing a person changes one level,
    or two, by as much as `Mechanism.sensitivity_of_levels` says.
    """
    slices = len(design.wholes) * (1 + len(design.variables))
    weight = Fraction(1) if slice_ is not None else _LEFT_OUT_WEIGHT
    left_out = _LEFT_OUT_WEIGHT if design.left_out else 0
    return math.nextafter(float(Fraction(policy.epsilon or 0) * weight / (slices + left_out)), 0.0)


def _policy(policy: Policy, design: Design, slice_: Slice) -> Policy:
    if not policy.is_private:
        return policy
    return msgspec.structs.replace(policy, epsilon=epsilon_of(policy, design, slice_))
