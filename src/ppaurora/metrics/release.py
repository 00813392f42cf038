"""From the merged list or the table to what leaves: secret ratios, rounded and withheld inside.

What leaves is a list of columns (mantissa, exponent); `reading` has the owner's side:

    1 if there is a result, else 0
    every output, or 0 if it is withheld
    for every output that may be withheld by itself, 1 if it is there, else 0
    where submissions are checked, for every owner 1 if its list was sorted and all else fits it, else 0

A number that is rounded is its mantissa, in units of the last digit that it may have; else it is
mantissa / 2^exponent. Outputs of a private study are integers with noise, and no secret withholds them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise

from ppaurora.algorithms.crossing import areas_up_to, find_crossings
from ppaurora.algorithms.curve import Curve, ListCurve
from ppaurora.algorithms.redistribution import with_next
from ppaurora.algorithms.table_curve import TableCurve
from ppaurora.metrics.base import Metric
from ppaurora.metrics.evidence import CalledByOwner, EvaluatedPart, Evidence, Found, Inputs
from ppaurora.metrics.numbers import numbers
from ppaurora.metrics.operating_points import OperatingPoint
from ppaurora.metrics.outputs import Ratio
from ppaurora.metrics.private.release import noisy_integers
from ppaurora.metrics.query import NEGATIVES, POSITIVES, Query
from ppaurora.metrics.small_levels import Overlap
from ppaurora.metrics.sums import FalsePositives, OwnerSum, TruePositives
from ppaurora.metrics.withholding import decide, withhold
from ppaurora.sharing.shares import RingShare, concat, stack
from ppaurora.suites.base import Records, Secrets, Suite


def release(suite: Suite, query: Query, merged: list[Records], inputs: Inputs) -> RingShare:
    """Rows of mantissas and exponents. Takes the merged list, if there is one: `merged` is empty afterwards.

    There is no result if the owners' lists were not all sorted or their sums did not fit; nor, unless the
    study is private, if one class is missing or a rule on secret counts fails. Where a party has several
    workers, all go along the curve, and the first one does the rest; the others have no columns.
    """
    part = evaluate_part(suite, query, merged, inputs)
    if part is None:
        return suite.blank(2, 0)
    return release_parts(suite, [part])


def evaluate_part(
    suite: Suite, query: Query, merged: list[Records], inputs: Inputs, *, widened: bool = False
) -> EvaluatedPart | None:
    """Compute the secret numbers of one slice; at the first worker only.

    With `widened`, there are wide integers even if no number of the slice itself needs them.
    """
    with suite.step("curve"):
        found = _along_the_curve(suite, query, merged, inputs)
    if found is None:
        return None
    if query.needs_table:
        with suite.step("table"):
            found = replace(found, secrets={**found.secrets, **_from_the_table(suite, query, inputs)})
    if not (query.needs_wide or widened):
        return EvaluatedPart(query, inputs, found)
    with suite.step("division"):
        evidence = _evidence(suite, query, inputs, found)
        return EvaluatedPart(query, inputs, found, evidence, tuple(_ratios(query, evidence)))


def release_parts(
    suite: Suite,
    parts: Sequence[EvaluatedPart],
    further_checks: Sequence[RingShare] = (),
    overlaps: Sequence[Overlap] = (),
) -> RingShare:
    """Return the columns of all parts, one after the other, and then whose submissions fit.

    Further checks are numbers by owner that are above 0 where its submission fits. Overlaps say which levels
    of two variables may not be subtracted from each other.
    """
    with suite.step("release"):
        decided = decide(suite, parts, further_checks, overlaps)
    with suite.step("division"):
        values = [noisy_integers(suite, part) for part in parts if part.query.policy.is_private]
        values = values or numbers(suite, parts)
    with suite.step("release"):
        return withhold(suite, parts, decided, values)


def _along_the_curve(suite: Suite, query: Query, merged: list[Records], inputs: Inputs) -> Found | None:
    """Return every metric's secrets; at the first worker only.

    What is begun is finished in the same order; all products are in one round.
    """
    leads = suite.team.leads
    samples = _samples(query, inputs)
    if not query.needs_curve:
        if not leads:
            return None
        positives = inputs.list_counts.positives.sum()
        return Found(samples, positives, suite.mul(positives, samples - positives), {})
    chosen = [metric for metric in query.metrics if metric.needs_curve]
    curve: Curve
    if query.tabulated:
        curve = TableCurve(suite, inputs.owner_tables.pooled, query.quantities, query.samples)
    else:
        curve = _list_curve(suite, query, merged, with_ends=any(metric.uses_ends for metric in chosen))
    parts = {metric: metric.begin(curve, query)() for metric in chosen if not metric.at_ends}
    at_ends = [metric for metric in chosen if metric.at_ends]
    if at_ends:
        curve.keep_ends()
    points = [metric for metric in at_ends if isinstance(metric, OperatingPoint)]
    secrets = _at_crossings(curve, points) if points else {}
    product = suite.begin_mul(curve.positives, samples - curve.positives) if leads else None
    begun = {metric: metric.begin(curve, query) for metric in at_ends if metric not in points}
    class_product = product() if product else None
    parts |= {metric: finish() for metric, finish in begun.items()}
    secrets |= parts if query.tabulated else _added_up(suite, parts)
    return None if class_product is None else Found(samples, curve.positives, class_product, secrets)


def _samples(query: Query, inputs: Inputs) -> RingShare | int:
    """Return how many samples there are, in secret where that is secret."""
    return inputs.list_counts.secret_sizes.sum() if query.sizes_are_secret else query.samples


def _from_the_table(suite: Suite, query: Query, inputs: Inputs) -> dict[Metric, list[RingShare]]:
    """Return the secrets of metrics that take the pooled table itself."""
    table = inputs.owner_tables.pooled
    return {metric: metric.from_table(suite, table, query) for metric in query.metrics if metric.needs_table}


def _list_curve(suite: Suite, query: Query, merged: list[Records], *, with_ends: bool) -> ListCurve:
    """Takes the merged list."""
    records = merged.pop()
    labels = records.labels.copy()
    ends = _ends_of_groups(suite, records, query.samples) if with_ends else None
    del records  # nobody needs the keys any more
    return ListCurve(suite, labels, ends, query.quantities, query.samples)


def _ends_of_groups(suite: Suite, records: Records, size: int) -> Secrets:
    """Return where groups of ties end; a worker's last record is compared with the next one's first."""
    with suite.step("ties"):
        (followed,) = with_next(suite.team, [records], [size])
        ends: Secrets = suite.ends_of_groups(followed.keys)
        return ends[: len(records)]


def _added_up(suite: Suite, parts: Mapping[Metric, list[RingShare]]) -> dict[Metric, list[RingShare]]:
    """Add up all workers' parts of every secret."""
    if not parts:
        return {}
    total = suite.team.total(concat([part for own in parts.values() for part in own]))
    places = iter(range(len(total)))
    return {metric: [total[next(places)] for _ in own] for metric, own in parts.items()}


def _evidence(suite: Suite, query: Query, inputs: Inputs, found: Found) -> Evidence:
    """Return all secrets in wide integers, as formulas take them."""
    by_owner = inputs.by_owner(query)
    called = _called(query, inputs, by_owner)
    secrets = [secret for metric in query.metrics for secret in found.secrets.get(metric, [])]
    totals = [by_owner[total].sum() for total in query.sums]
    sizes = [] if isinstance(found.samples, int) else [found.samples]
    wide = suite.widen(concat([found.positives, found.class_product, *totals, *secrets, *sizes]))
    parts = iter([wide[place] for place in range(len(wide))])
    positives, class_product = next(parts), next(parts)
    of_sums = {total: next(parts) for total in query.sums}
    of_metrics = {metric: [next(parts) for _ in found.secrets.get(metric, [])] for metric in query.metrics}
    return Evidence(
        suite,
        query,
        inputs,
        found,
        found.samples if isinstance(found.samples, int) else next(parts),
        positives,
        class_product,
        of_sums,
        by_owner,
        called,
        _between_cuts(suite, query, called, by_owner),
        of_metrics,
    )


def _ratios(query: Query, evidence: Evidence) -> Iterator[Ratio]:
    """Compute the secret ratio of every output."""
    by_class = {POSITIVES: evidence.positives, NEGATIVES: evidence.negatives}
    yield from (Ratio(by_class[output]) for output in query.class_counts)
    for metric in query.metrics:
        yield from metric.formula(evidence.secrets[metric], evidence)


def _called(
    query: Query, inputs: Inputs, by_owner: Mapping[OwnerSum, RingShare]
) -> dict[float, CalledByOwner]:
    """Return, for every threshold, how many samples of every owner are on either side."""
    if not query.thresholds:
        return {}
    sizes = inputs.list_counts.sizes
    called = {one: by_owner[TruePositives(one)] + by_owner[FalsePositives(one)] for one in query.thresholds}
    return {one: CalledByOwner(positive, sizes - positive) for one, positive in called.items()}


def _between_cuts(
    suite: Suite, query: Query, called: Mapping[float, CalledByOwner], by_owner: Mapping[OwnerSum, RingShare]
) -> dict[float, tuple[RingShare, ...]]:
    """Return, by threshold, numbers that are above 0 if rows of tables may be subtracted from each other.

    Let d be samples that lie between two cuts, without an owner, and m the fewest that a cell may have.

    1. Between a threshold and the one before, |d| >= m: d² - m² + 1 > 0. Whether scores call from below or
       from above, and so the sign of d, is not known here.
    2. Between a threshold and the edge of a bin beside it, d >= m or d = 0: d·(d - m) + 1 > 0. An edge beyond
       which the very same samples lie tells nothing new.
    """
    if not query.withholds_cells:
        return {}
    m, thresholds = query.least_per_cell, list(called)
    gaps = [after.positive - before.positive for before, after in pairwise(called.values())]
    gaps = [gap.sum() - gap for gap in gaps]
    parts = [(one, by_owner[part]) for one, own in query.beside_thresholds.items() for part in own]
    places = thresholds[1:] + [threshold for threshold, _ in parts]
    if not places:
        return {}
    inside = [part.sum() - part for _, part in parts]
    products = suite.mul(stack(gaps + inside), stack(gaps + [part - m for part in inside])).rows()
    found: dict[float, list[RingShare]] = {}
    for number, (threshold, product) in enumerate(zip(places, products, strict=True)):
        found.setdefault(threshold, []).append(product - (m * m - 1 if number < len(gaps) else -1))
    return {threshold: tuple(numbers) for threshold, numbers in found.items()}


def _at_crossings(curve: Curve, metrics: Sequence[OperatingPoint]) -> dict[Metric, list[RingShare]]:
    """Find all limits in the same rounds."""
    limits = {metric: metric.limit(curve) for metric in metrics}
    crossings = dict(zip(metrics, find_crossings(curve, list(limits.values())), strict=False))
    areas: dict[OperatingPoint, RingShare] = {}
    if any(metric.needs_area for metric in metrics):
        wanting = [metric for metric in crossings if metric.needs_area]
        found = areas_up_to(curve, [crossings[metric] for metric in wanting])
        areas = dict(zip(wanting, found, strict=True))
    return {
        metric: metric.secrets(limits[metric], crossing, areas.get(metric))
        for metric, crossing in crossings.items()
    }
