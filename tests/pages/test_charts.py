"""Charts: everything lies where its number belongs, inside of the axes, and can be read without seeing it."""

from __future__ import annotations

import re
import time
from itertools import pairwise
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ppaurora.pages.charts import (
    Chart,
    IntervalRow,
    Point,
    Shown,
    decision_curve,
    intervals,
    own_precision_recall_curve,
    own_roc_curve,
    precision_recall_at_thresholds,
    reliability_diagram,
    roc_at_thresholds,
    scores_by_class,
    smooth_calibration_curve,
    thinned,
)
from ppaurora.pages.charts.axes import Scale, around, tick_labels, ticks
from ppaurora.statistics.curves import net_benefit_of_all, precision_recall_points, roc_points
from tests.support.oracles import defined, exact_auroc, exact_average_precision

RANDOM = np.random.default_rng(5)
SCORES = np.round(RANDOM.normal(size=200), 1)  # with ties
LABELS = (RANDOM.random(200) < 1 / (1 + np.exp(-SCORES))).astype(int)
HOSTILE = '<script>alert(1)</script>" onload="x'


def shown(value: float | None) -> Shown:
    return Shown(value, "withheld" if value is None else f"{value:.2f}")


BINS = [Point(f"{n / 10:g} to {n / 10 + 0.1:g}", shown(n / 10 + 0.04), shown(n / 10)) for n in range(9)]
OWN_BINS = [Point("0 to 0.1", shown(0.05), shown(0.5), own=True)]
NO_BIN = Point("0.9 to 1", shown(None), shown(None))
POINTS = [
    Point("0.2", Shown(0.5, "0.50", (0.4, 0.6)), Shown(0.9, "0.90", (0.8, 0.95))),
    Point("0.5", Shown(0.8, "0.80", (0.7, 0.9)), Shown(0.6, "0.60", (0.5, 0.7))),
]
ROWS = [
    IntervalRow("AUROC, pooled", 0.87, (0.84, 0.9), "0.87 (0.84 to 0.90)"),
    IntervalRow("AUROC, own data", 0.81, (0.7, 0.92), "0.81 (0.70 to 0.92)", own=True),
    IntervalRow("a very long name of a number, pooled", 0.5, None, "0.50"),
]


def benefit(threshold: float, value: float, interval: tuple[float, float] | None = None) -> Point:
    return Point(f"{threshold:g}", shown(threshold), Shown(value, f"{value:.2f}", interval))


BENEFITS = [benefit(t / 20, 0.3 - t / 40, (0.25 - t / 40, 0.35 - t / 40)) for t in range(1, 12)]
CHARTS = {
    "intervals": intervals(ROWS, title="Values", caption="Values with intervals"),
    "one value": intervals([IntervalRow("x", 1.0, (1.0, 1.0), "1 (1 to 1)")], title="Values", caption="One"),
    "roc": own_roc_curve(*roc_points(LABELS, SCORES), area="0.7"),
    "precision and recall": own_precision_recall_curve(
        *precision_recall_points(LABELS, SCORES), prevalence=float(LABELS.mean())
    ),
    "reliability": reliability_diagram([*BINS, NO_BIN, *OWN_BINS]),
    "roc at thresholds": roc_at_thresholds([*POINTS, NO_BIN, *OWN_BINS], area="0.8"),
    "precision and recall at thresholds": precision_recall_at_thresholds(POINTS, prevalence=0.3),
    "smooth calibration": smooth_calibration_curve([*POINTS, NO_BIN, *POINTS[:1], *OWN_BINS], level="95% CI"),
    "decision curve": decision_curve(BENEFITS, prevalence=0.31),
    "one threshold": decision_curve([benefit(0.5, -0.2)], prevalence=None),
    "scores": scores_by_class([0.0, 0.5, 1.0], [3, 5], [40, 10]),
    "one score": scores_by_class([0.5, 0.5], [3], [4]),
    "large scores": scores_by_class([-1.7e308, 0.0, 1.7e308], [3, 1], [4, 2]),
    "one class": scores_by_class([0.0, 1.0], [3], [0]),
}


def drawn(chart: Chart) -> ElementTree.Element:
    return ElementTree.fromstring(str(chart.svg))  # noqa: S314 (our own)


def parts(chart: Chart, kind: str) -> list[ElementTree.Element]:
    """Shapes of a class of the style sheet."""
    return [one for one in drawn(chart).iter() if f"chart__{kind}" in one.get("class", "").split()]


def points(shape: ElementTree.Element) -> list[tuple[float, float]]:
    return [(float(x), float(y)) for x, y in (pair.split(",") for pair in shape.get("points", "").split())]


def coordinates(chart: Chart) -> list[tuple[float, float]]:
    """Of all shapes but texts."""
    found = []
    for one in drawn(chart).iter():
        number = {name: float(value) for name, value in one.items() if re.fullmatch(r"-?[\d.]+", value)}
        match one.tag.rsplit("}")[-1]:
            case "line":
                found += [(number["x1"], number["y1"]), (number["x2"], number["y2"])]
            case "rect":
                found.append((number["x"], number["y"]))
                found.append((number["x"] + number["width"], number["y"] + number["height"]))
            case "circle":
                found.append((number["cx"], number["cy"]))
            case "polyline" | "polygon":
                found += points(one)
    return found


@pytest.mark.parametrize("name", CHARTS)
def test_everything_is_inside_of_the_picture(name: str) -> None:
    chart = CHARTS[name]
    _, _, width, height = map(float, drawn(chart).get("viewBox", "").split())
    found = coordinates(chart)
    assert len(found) > 2
    assert all(0 <= x <= width and 0 <= y <= height for x, y in found)


@pytest.mark.parametrize("name", CHARTS)
def test_a_chart_can_be_read_without_seeing_it(name: str) -> None:
    """A name, a description, a table; and no colour or style of its own, which dark mode could not change."""
    chart, svg = CHARTS[name], drawn(CHARTS[name])
    assert svg.get("role") == "img"
    named = {one.tag.rsplit("}")[-1]: one.text for one in svg}
    assert named["title"] == chart.title
    assert named["desc"]
    assert chart.caption
    assert chart.rows
    assert {len(row) for row in chart.rows} == {len(chart.columns)}
    names = {name for one in svg.iter() for name in one.keys()}  # noqa: SIM118 (of an element)
    assert not names & {"style", "fill", "stroke", "href", "id", "onload"}
    assert not re.search(r"\b(nan|inf)\b", str(chart.svg))


@pytest.mark.parametrize("name", CHARTS)
def test_every_class_has_a_style(name: str) -> None:
    from ppaurora.pages.environment import style_sheet

    classes = {one for part in drawn(CHARTS[name]).iter() for one in part.get("class", "").split()}
    assert [one for one in classes if f".{one}" not in style_sheet()] == []


@pytest.mark.parametrize(
    "chart",
    [
        intervals([IntervalRow(HOSTILE, 0.5, None, HOSTILE)], title=HOSTILE, caption=HOSTILE),
        reliability_diagram([Point(HOSTILE, Shown(0.5, HOSTILE), Shown(0.5, HOSTILE))], title=HOSTILE),
        own_roc_curve([0, 1], [0, 1], title=HOSTILE, area=HOSTILE),
    ],
    ids=("intervals", "reliability", "roc"),
)
def test_texts_are_escaped(chart: Chart) -> None:
    assert "<script" not in str(chart.svg)
    assert "onload" not in {name for one in drawn(chart).iter() for name in one.keys()}  # noqa: SIM118
    assert HOSTILE in {one.text for one in drawn(chart).iter()}


def test_values_lie_at_their_ticks() -> None:
    """Read back from the picture by its own axis."""
    chart = CHARTS["intervals"]
    labels = {
        float(one.text or ""): float(one.get("x", ""))
        for one in parts(chart, "soft")
        if one.get("text-anchor") == "middle"
    }
    (low, at_low), (high, at_high) = min(labels.items()), max(labels.items())
    scale = Scale(low, high, at_low, at_high)
    (pooled, other), (own,) = parts(chart, "pooled-mark"), parts(chart, "own-mark")
    for mark, row in ((pooled, ROWS[0]), (other, ROWS[2])):
        assert row.value is not None
        middle = np.mean([x for x, _ in points(mark)])
        assert middle == pytest.approx(scale(row.value), abs=0.11)
    assert ROWS[1].value is not None
    assert float(own.get("cx", "")) == pytest.approx(scale(ROWS[1].value), abs=0.11)
    assert ROWS[0].interval is not None
    ends = [(float(one.get("x1", "")), float(one.get("x2", ""))) for one in parts(chart, "pooled")]
    assert ends[0] == pytest.approx(tuple(map(scale, ROWS[0].interval)), abs=0.11)


def test_the_curve_is_that_of_the_definition() -> None:
    """At every threshold, by counting; and its area is AUROC, by pairs."""
    fpr, tpr = roc_points(LABELS, SCORES)
    thresholds = sorted(set(SCORES.tolist()), reverse=True)
    counted = [
        (float(np.mean(SCORES[LABELS == 0] >= at)), float(np.mean(SCORES[LABELS == 1] >= at)))
        for at in thresholds
    ]
    np.testing.assert_allclose(np.transpose([fpr, tpr]), [(0.0, 0.0), *counted])
    pooled = list(zip(SCORES.tolist(), LABELS.tolist(), strict=True))
    assert np.trapezoid(tpr, fpr) == pytest.approx(float(defined(exact_auroc(pooled))))
    recall, precision = precision_recall_points(LABELS, SCORES)
    area = float(np.sum(np.diff(recall, prepend=0) * precision))
    assert area == pytest.approx(float(defined(exact_average_precision(pooled))))


def test_the_drawn_curve_climbs_from_corner_to_corner() -> None:
    (curve,) = parts(CHARTS["roc"], "own")
    (guide,) = parts(CHARTS["roc"], "guide")
    places = points(curve)
    assert (places[0], places[-1]) == (points(guide)[0], points(guide)[-1])
    assert all(x <= to_x and y >= to_y for (x, y), (to_x, to_y) in pairwise(places))


def test_a_million_points_are_thinned_without_a_visible_change() -> None:
    """Wherever the whole curve is, the thin one is within a step; and it takes no time."""
    random = np.random.default_rng(2)
    scores = random.normal(size=1_000_000)
    labels = random.random(1_000_000) < 1 / (1 + np.exp(-scores))
    begun = time.process_time()  # whatever else the machine is busy with
    for whole in (roc_points(labels, scores), precision_recall_points(labels, scores)):
        x, y = thinned(*whole)
        assert len(x) <= 4 * 401
        assert (x[0], y[0], x[-1], y[-1]) == (whole[0][0], whole[1][0], whole[0][-1], whole[1][-1])
        late = whole[0] > 0.01  # before, precision jumps within one place
        assert np.abs(np.interp(whole[0][late], x, y) - whole[1][late]).max() < 0.006
    chart = own_roc_curve(*roc_points(labels, scores))
    assert len(str(chart.svg)) < 60_000
    assert time.process_time() - begun < 10


def test_few_points_stay_as_they_are() -> None:
    x, y = [0.0, 0.0, 0.5, 1.0], [0.0, 0.5, 0.5, 1.0]
    assert [list(part) for part in thinned(x, y)] == [x, y]


def test_what_is_withheld_is_not_drawn_but_listed() -> None:
    chart = CHARTS["reliability"]
    assert len(parts(chart, "pooled-mark")) == len(BINS) + 1  # one in the legend
    assert ("0.9 to 1, pooled", "withheld", "withheld") in chart.rows
    assert "withheld" in chart.caption
    assert "withheld" not in reliability_diagram(BINS).caption


def test_treating_all_is_drawn_where_the_prevalence_is_known() -> None:
    """At a threshold equal to the prevalence, treating all is worth as much as treating none."""
    assert net_benefit_of_all(0.31, 0.31) == pytest.approx(0)
    assert net_benefit_of_all(0.31, 0.0) == 0.31
    known, unknown = CHARTS["decision curve"], decision_curve(BENEFITS, prevalence=None)
    assert [len(parts(chart, "guide")) for chart in (known, unknown)] == [2, 1]
    assert "Treating all is not drawn" in unknown.caption
    none, everybody = parts(known, "guide")
    level = points(none)[0][1]
    left, right = points(none)[0][0], points(none)[-1][0]
    at = left + (right - left) * 0.31 / 0.6  # the axis ends at 0.6
    crossing = [x for x, y in points(everybody) if abs(y - level) < 6]
    assert min(crossing) - 8 < at < max(crossing) + 8


def test_bars_are_as_high_as_their_fraction_of_the_class() -> None:
    chart = CHARTS["scores"]
    heights = [
        [float(one.get("height", "")) for one in parts(chart, f"bar-{kind}")]
        for kind in ("positive", "negative")
    ]
    assert heights[0][0] / heights[0][1] == pytest.approx(3 / 5, abs=0.01)
    assert heights[1][0] / heights[1][1] == pytest.approx(4, abs=0.1)
    assert heights[0][0] / heights[1][0] == pytest.approx((3 / 8) / (40 / 50), abs=0.01)


@given(st.floats(-1e9, 1e9), st.floats(1e-6, 1e9))
@example(999992.0, 10.0)
def test_ticks_are_few_round_and_inside(low: float, width: float) -> None:
    high = low + width
    if high - low < 1e-6 * max(abs(low), 1):
        return  # floats are too coarse
    found = ticks(low, high)
    assert 1 <= len(found) <= 6
    assert all(low - width * 1e-6 <= tick <= high + width * 1e-6 for tick in found)
    steps = [b - a for a, b in pairwise(found)]
    assert steps == pytest.approx([steps[0]] * len(steps)) if steps else True
    assert len(set(tick_labels(found))) == len(found)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=5))
@example([1.0, 0.9999999999999999])
@example([0.0, 5e-324])
def test_an_axis_shows_all_and_not_what_cannot_be(numbers: list[float]) -> None:
    low, high = around(numbers, within=(0.0, 1.0))
    assert 0 <= low < high <= 1
    assert low <= min(numbers)
    assert high >= max(numbers)


def test_labels_have_the_decimals_of_their_steps() -> None:
    assert tick_labels(ticks(0, 1)) == ["0.0", "0.2", "0.4", "0.6", "0.8", "1.0"]
    assert tick_labels(ticks(-0.1, 0.4)) == ["-0.1", "0.0", "0.1", "0.2", "0.3", "0.4"]
    assert tick_labels(ticks(0.76, 0.84)) == ["0.76", "0.78", "0.80", "0.82", "0.84"]
    assert tick_labels([0.5]) == ["0.5"]
