"""Charts as SVG: pure functions of numbers, each with a caption and its numbers as a table."""

from ppaurora.pages.charts.decision_curve import BenefitPoint, decision_curve, net_benefit_of_all
from ppaurora.pages.charts.drawing import Chart, Shown
from ppaurora.pages.charts.intervals import IntervalRow, intervals
from ppaurora.pages.charts.precision_recall import precision_recall_curve
from ppaurora.pages.charts.reliability import ReliabilityBin, reliability_diagram
from ppaurora.pages.charts.roc import roc_curve
from ppaurora.pages.charts.scores import scores_by_class
from ppaurora.pages.charts.thinning import thinned

__all__ = [
    "BenefitPoint",
    "Chart",
    "IntervalRow",
    "ReliabilityBin",
    "Shown",
    "decision_curve",
    "intervals",
    "net_benefit_of_all",
    "precision_recall_curve",
    "reliability_diagram",
    "roc_curve",
    "scores_by_class",
    "thinned",
]
