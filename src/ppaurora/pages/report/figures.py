"""Which charts a report has, and what they are made of."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from ppaurora.data import Samples
from ppaurora.metrics import find_metric
from ppaurora.metrics.facts import Figure
from ppaurora.metrics.thresholds import Sensitivity, Specificity
from ppaurora.pages.charts import (
    Chart,
    ForestRow,
    IntervalRow,
    Point,
    Shown,
    decision_curve,
    forest,
    intervals,
    own_precision_recall_curve,
    own_roc_curve,
    precision_recall_at_thresholds,
    reliability_diagram,
    roc_at_thresholds,
    scores_by_class,
    smooth_calibration_curve,
)
from ppaurora.pages.report.designs import DesignFacts, SliceFacts, main_metric
from ppaurora.pages.report.facts import Facts
from ppaurora.pages.report.numbers import Number, capitalised, place_of, title_of
from ppaurora.pages.report.sections import COMPARISONS, SUBGROUPS
from ppaurora.policy.rules import PRIVATE
from ppaurora.statistics.curves import precision_recall_points, roc_points
from ppaurora.statistics.differences import ANYWHERE
from ppaurora.statistics.intervals import UNIT

_STEPS_IN_A_CHART = 10
_LEAST_DIFFERENCE = 0.1  # of the axis of differences
_TINY = 1e-9  # that binary fractions are off by
_CLASSES = ("positives", "negatives")


def all_charts(facts: Facts) -> list[Chart]:
    """Draw everything that is released."""
    return [*pooled_charts(facts), *(chart for some in section_charts(facts).values() for chart in some)]


def section_charts(facts: Facts) -> dict[str, list[Chart]]:
    """Draw comparisons and subgroups, by the key of their section."""
    if not facts.sections:
        return {}
    design = facts.design
    charts = {
        COMPARISONS: [_differences(facts, outcome) for outcome in design.outcomes],
        SUBGROUPS: [_levels(facts, one) for one in design.slices],
    }
    return {key: [chart for chart in some if chart is not None] for key, some in charts.items()}


def pooled_charts(facts: Facts) -> list[Chart]:
    """Draw what is released of every model; beside it the owner's own, where the report has that.

    A chart in which one would see steps of rounding, and little else, is not drawn.
    """
    if facts.is_of_one_model:
        return _charts_of_one(facts)
    charts = []
    for number, one in enumerate(facts.design.slices):
        own = facts.own if number == 0 else None  # own data is evaluated with the first model
        of_one = replace(
            facts, numbers=one.numbers, positives=one.positives, own=own, design=DesignFacts((one,))
        )
        charts += [chart.about(one.name) for chart in _charts_of_one(of_one)]
    return charts


def _charts_of_one(facts: Facts) -> list[Chart]:
    charts = [
        _intervals(facts),
        _roc_points(facts),
        _precision_recall_points(facts),
        _decision_curve(facts),
        _reliability(facts),
        _calibration_curve(facts),
        _scores_by_class(facts),
    ]
    return [chart for chart in charts if chart is not None]


def _unless_coarse(chart: Chart, facts: Facts, numbers: Iterable[Number], step: float = 0.0) -> Chart | None:
    """Return the chart if the steps in which its values were rounded are at most a tenth of what it shows.

    Of a private study nothing is rounded: noise is drawn as it is.
    """
    steps = [10.0**-one.digits for one in numbers if one.digits is not None and one.value is not None]
    is_fine = _STEPS_IN_A_CHART * max([step, *steps]) <= chart.reach + _TINY
    return chart if is_fine or facts.kind == PRIVATE else None


def own_charts(facts: Facts, samples: Samples) -> list[Chart]:
    """Draw the owner's own data alone."""
    own = facts.own
    assert own is not None  # noqa: S101 (whoever has samples has facts of them)
    edges = [own.bins[0][0], *(high for _, high, _, _ in own.bins)]
    charts = [scores_by_class(edges, [bin_[2] for bin_ in own.bins], [bin_[3] for bin_ in own.bins])]
    if not own.positives or not own.negatives:
        return charts
    shown = {find_metric(one.metric).figure: one.text for one in own.numbers if not one.at}
    labels, scores = samples.labels, samples.scores
    roc = own_roc_curve(*roc_points(labels, scores), area=shown.get(Figure.ROC_CURVE, ""))
    curve = own_precision_recall_curve(
        *precision_recall_points(labels, scores),
        prevalence=own.positives / own.samples,
        area=shown.get(Figure.PRECISION_RECALL_CURVE, ""),
    )
    return [roc, curve, *charts]


def _intervals(facts: Facts) -> Chart | None:
    """Numbers from 0 to 1 that have an interval, pooled or of the own data."""
    own = {one.key: one for one in facts.own.numbers} if facts.own else {}
    rows, drawn = [], []
    for number in facts.single:
        pair = (_row(number, own=False), _row(own.get(number.key), own=True))
        if any(row is not None and row.interval for row in pair):
            rows += [row for row in pair if row is not None]
            drawn += [number] if pair[0] is not None else []
    if not rows:
        return None
    levels = sorted({_level(one) for one in (*facts.single, *own.values()) if one.interval})
    caption = f"Values with their intervals ({', '.join(levels)})."
    if own:
        caption += " Diamonds: all institutions together. Circles, dashed: your own data alone."
    chart = intervals(rows, title="Values and their uncertainty", caption=caption)
    return _unless_coarse(chart, facts, drawn)


def _differences(facts: Facts, outcome: str) -> Chart | None:
    """Draw how far models are apart, with a line where they would be alike."""
    pairs = [one for one in facts.design.comparisons if one.outcome == outcome]
    numbers = [(one, number) for one in pairs for number in one.numbers]
    rows = [_forest_row(number, _titled(number), f"{one.a} - {one.b}") for one, number in numbers]
    if not any(row.numbers for row in rows):
        return None
    of = f" for {outcome}" if outcome else ""
    caption = (
        f"The numbers of one model minus those of the other{of}, on the same samples{_with_level(numbers)}."
    )
    chart = forest(
        rows,
        title="Differences between models" + (f": {outcome}" if outcome else ""),
        caption=f"{caption} Dashed: no difference.",
        axis=f"difference{of}",
        reference=0.0,
        within=ANYWHERE,
        least_width=_LEAST_DIFFERENCE,
    )
    return _unless_coarse(chart, facts, [number for _, number in numbers])


def _levels(facts: Facts, whole: SliceFacts) -> Chart | None:
    """Draw the levels of all variables below the number of all samples, at which a line stands."""
    variables = facts.design.levels_of(whole)
    main = main_metric([level for one in variables for level in one.levels])
    everybody = whole.get(main)
    numbers = [
        (one, level, number)
        for one in variables
        for level in one.levels
        if (number := level.get(main)) is not None
    ]
    if not any(number.value is not None for _, _, number in numbers):
        return None
    rows = [_forest_row(number, level.level, one.variable) for one, level, number in numbers]
    reference = None if everybody is None else everybody.value
    if everybody is not None:
        rows.insert(0, _forest_row(everybody, "all samples", ""))
    drawn = [number for _, _, number in numbers]
    title, of = title_of(main), f" of {whole.name}" if whole.name else ""
    caption = f"{capitalised(title)}{of} in every subgroup{_with_level([(None, one) for one in drawn])}."
    chart = forest(
        rows,
        title="Subgroups" + (f": {whole.name}" if whole.name else ""),
        caption=f"{caption} Dashed: all samples." if reference is not None else caption,
        axis=f"{title}{of}",
        reference=reference,
        within=UNIT if find_metric(main).is_fraction else ANYWHERE,
    )
    return _unless_coarse(chart, facts, drawn)


def _with_level(numbers: Sequence[tuple[object, Number]]) -> str:
    """Return the level of intervals in brackets, if there are any."""
    levels = sorted({_level(one) for _, one in numbers if one.interval})
    return f" ({', '.join(levels)})" if levels else ""


def _titled(number: Number) -> str:
    return capitalised(number.title) + (f" at {place_of(number.at)}" if number.at else "")


def _forest_row(number: Number, label: str, group: str) -> ForestRow:
    """Return the row as it is shown."""
    if number.value is None or number.bounds is None:
        return ForestRow(label, number.value, None, number.shown, group=group)
    low, high = number.bounds
    text = f"{number.shown} ({low} to {high})"
    return ForestRow(label, number.value, (float(low), float(high)), text, group=group)


def _row(number: Number | None, *, own: bool) -> IntervalRow | None:
    """Return the row as it is shown, so that nobody reads more digits from the chart than there are."""
    if number is None or number.value is None or not find_metric(number.metric).is_fraction:
        return None
    label = f"{capitalised(number.title)}, {'own data' if own else 'pooled'}"
    if number.bounds is None:
        return IntervalRow(label, number.value, None, number.shown, own=own)
    low, high = number.bounds
    text = f"{number.shown} ({low} to {high})"
    return IntervalRow(label, number.value, (float(low), float(high)), text, own=own)


def _level(number: Number) -> str:
    return f"{number.shown_interval.split(' CI')[0]} CI"


def _shown(number: Number | None) -> Shown:
    """Return the number and its interval with the digits that are shown."""
    if number is None:
        return Shown(None, "not there")
    if number.bounds is None:
        return Shown(number.value, number.shown)
    low, high = number.bounds
    return Shown(number.value, f"{number.shown} ({low} to {high})", (float(low), float(high)))


def _drawn_as(figure: Figure, facts: Facts, *, own: bool) -> list[Number]:
    """Return the numbers of metrics that this chart shows, pooled or of the own data."""
    numbers = facts.numbers if not own else facts.own.numbers if facts.own else ()
    return [one for one in numbers if find_metric(one.metric).figure is figure]


def _points(figure: Figure, facts: Facts, x: str, y: str) -> list[Point]:
    """Return what a chart shows of two columns of a table, place by place: pooled, then the owner's own."""
    points = []
    for own in (False, True):
        by_place: dict[str, dict[str, Number]] = {}
        for one in _drawn_as(figure, facts, own=own):
            by_place.setdefault(place_of(one.at), {})[one.name] = one
        points += [
            Point(place, _shown(found.get(x)), _shown(found.get(y)), own) for place, found in by_place.items()
        ]
    return points


def _of_points(
    figure: Figure, facts: Facts, columns: tuple[str, str], draw: Callable[[list[Point]], Chart]
) -> Chart | None:
    """Draw points of two columns, unless none of the pooled ones is there."""
    points = _points(figure, facts, *columns)
    if all(one.place is None for one in points if not one.own):
        return None
    numbers = [one for one in _drawn_as(figure, facts, own=False) if one.name in columns]
    return _unless_coarse(draw(points), facts, numbers)


def _reliability(facts: Facts) -> Chart | None:
    columns = ("mean_predicted", "observed")
    return _of_points(Figure.RELIABILITY_DIAGRAM, facts, columns, reliability_diagram)


def _calibration_curve(facts: Facts) -> Chart | None:
    def draw(points: list[Point], level: str) -> Chart:
        return smooth_calibration_curve(points, level=level)

    return _along(Figure.CALIBRATION_CURVE, facts, "probability", draw)


def _along(
    figure: Figure, facts: Facts, axis: str, draw: Callable[[list[Point], str], Chart]
) -> Chart | None:
    """Draw the numbers of a metric along where they are, unless none of the pooled ones is there."""
    points = [
        Point(place_of(one.at), Shown(one.at[axis], place_of(one.at)), _shown(one), own)
        for own in (False, True)
        for one in _drawn_as(figure, facts, own=own)
    ]
    if all(one.place is None for one in points if not one.own):
        return None
    drawn = _drawn_as(figure, facts, own=False)
    level = next((_level(one) for one in drawn if one.interval), "")
    return _unless_coarse(draw(points, level), facts, drawn)


def _roc_points(facts: Facts) -> Chart | None:
    def draw(points: list[Point]) -> Chart:
        return roc_at_thresholds(points, area=_area(Figure.ROC_CURVE, facts))

    return _of_points(Figure.ROC_POINTS, facts, (Specificity.name, Sensitivity.name), draw)


def _precision_recall_points(facts: Facts) -> Chart | None:
    def draw(points: list[Point]) -> Chart:
        area = _area(Figure.PRECISION_RECALL_CURVE, facts)
        return precision_recall_at_thresholds(points, prevalence=_prevalence(facts), area=area)

    return _of_points(Figure.PRECISION_RECALL_POINTS, facts, ("recall", "precision"), draw)


def _area(figure: Figure, facts: Facts) -> str:
    """Return the pooled area that a caption names, as a text; nothing if it was not released."""
    return next((one.text for one in _drawn_as(figure, facts, own=False) if one.value is not None), "")


def _prevalence(facts: Facts) -> float | None:
    """Return the fraction of positives, as far as it is released; where rows have weights, by weight."""
    if facts.positives is None:
        return None
    negatives = next((one.negatives for one in facts.design.slices), None)
    total = facts.samples if negatives is None else facts.positives + negatives
    return min(facts.positives / max(total, 1), 1.0)


def _decision_curve(facts: Facts) -> Chart | None:
    def draw(points: list[Point], level: str) -> Chart:
        return decision_curve(points, prevalence=_prevalence(facts), level=level)

    return _along(Figure.DECISION_CURVE, facts, "threshold", draw)


def _scores_by_class(facts: Facts) -> Chart | None:
    by_class: dict[str, list[Number]] = {name: [] for name in _CLASSES}
    for one in _drawn_as(Figure.SCORES_BY_CLASS, facts, own=False):
        by_class[one.name].append(one)
    places = by_class[_CLASSES[0]]
    if all(one.value is None for numbers in by_class.values() for one in numbers):
        return None
    edges = [places[0].at["low"], *(one.at["high"] for one in places)]
    positives, negatives = (
        [None if one.value is None else int(one.value) for one in numbers] for numbers in by_class.values()
    )
    chart = scores_by_class(edges, positives, negatives, title="Scores by class, pooled", own=False)
    return _unless_coarse(chart, facts, (), facts.count_step)
