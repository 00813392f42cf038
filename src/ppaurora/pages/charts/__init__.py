"""Charts as SVG: pure functions of numbers, each with a caption and its numbers as a table."""

from ppaurora.pages.charts.decision_curve import decision_curve
from ppaurora.pages.charts.drawing import Chart, Shown
from ppaurora.pages.charts.forest import ForestRow, forest
from ppaurora.pages.charts.intervals import IntervalRow, intervals
from ppaurora.pages.charts.points import Point
from ppaurora.pages.charts.precision_recall import own_precision_recall_curve, precision_recall_at_thresholds
from ppaurora.pages.charts.reliability import reliability_diagram, smooth_calibration_curve
from ppaurora.pages.charts.roc import own_roc_curve, roc_at_thresholds
from ppaurora.pages.charts.scores import scores_by_class
from ppaurora.pages.charts.thinning import thinned

__all__ = [
    "Chart",
    "ForestRow",
    "IntervalRow",
    "Point",
    "Shown",
    "decision_curve",
    "forest",
    "intervals",
    "own_precision_recall_curve",
    "own_roc_curve",
    "precision_recall_at_thresholds",
    "reliability_diagram",
    "roc_at_thresholds",
    "scores_by_class",
    "smooth_calibration_curve",
    "thinned",
]
