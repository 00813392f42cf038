"""Plots of released numbers with Matplotlib, in the manner of scikit-learn's displays.

    CalibrationDisplay          observed against predicted probabilities, in bins
    SmoothCalibrationDisplay    the same as a smooth curve
    RocCurveDisplay             sensitivity against 1 - specificity, at public points
    PrecisionRecallDisplay      precision against recall, at public points
    DecisionCurveDisplay        net benefit against the risk threshold
    ScoreDistributionDisplay    how scores of positives and of negatives are distributed
    SubgroupDisplay             a number in every level of the subgroups
    ComparisonDisplay           differences between models on the same samples

Each is made by `from_report` of what `ppaurora.evaluate` or `Study.result()` returned, and has the axes and
the figure that it was drawn in as `ax_` and `figure_`. Legends say what the numbers are: rounded, with noise,
or exact; intervals are bands or whiskers. It needs the extra `plot`.

>>> import ppaurora
>>> from ppaurora.plot import CalibrationDisplay
>>> owners = [([1, 0, 1, 0], [0.9, 0.4, 0.7, 0.2]), ([0, 1, 0], [0.3, 0.6, 0.6])]
>>> report = ppaurora.evaluate(owners, metrics=["reliability"], confidence_level=0.95)
>>> display = CalibrationDisplay.from_report(report)
>>> display.ax_.get_xlabel()
'mean predicted probability'
"""

from ppaurora.errors import MissingPackageError

try:
    import matplotlib  # noqa: F401
except ImportError:
    raise MissingPackageError("plots need Matplotlib: pip install 'ppaurora[plot]'") from None

from ppaurora.plot.displays import (
    CalibrationDisplay,
    DecisionCurveDisplay,
    PrecisionRecallDisplay,
    RocCurveDisplay,
    ScoreDistributionDisplay,
    SmoothCalibrationDisplay,
)
from ppaurora.plot.forests import ComparisonDisplay, SubgroupDisplay

__all__ = [
    "CalibrationDisplay",
    "ComparisonDisplay",
    "DecisionCurveDisplay",
    "PrecisionRecallDisplay",
    "RocCurveDisplay",
    "ScoreDistributionDisplay",
    "SmoothCalibrationDisplay",
    "SubgroupDisplay",
]
