"""The ROC curve of an owner's own data. There is none of pooled data: it would give samples away."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ppaurora.pages.charts.axes import Plane
from ppaurora.pages.charts.drawing import Chart
from ppaurora.pages.charts.thinning import thinned

_LISTED = (0.05, 0.1, 0.2, 0.3, 0.5)


def roc_curve(
    false_positive_rate: Sequence[float] | NDArray[np.float64],
    true_positive_rate: Sequence[float] | NDArray[np.float64],
    *,
    title: str = "ROC curve of your own data",
    area: str = "",
) -> Chart:
    """Draw the curve of points from (0, 0) to (1, 1); `area` is the AUROC as a text."""
    caption = (
        "Sensitivity against 1 − specificity at every threshold"
        + (f"; the area under the curve is {area}" if area else "")
        + ". The dashed line is random guessing."
    )
    plane = Plane(title, caption, x_title="1 − specificity", y_title="sensitivity (recall)")
    plane.path("guide", [plane.at(0, 0), plane.at(1, 1)])
    plane.path(
        "own solid",
        [plane.at(x, y) for x, y in zip(*thinned(false_positive_rate, true_positive_rate), strict=True)],
    )
    rows = []
    for rate in _LISTED:
        reached = np.asarray(true_positive_rate)[np.asarray(false_positive_rate) <= rate + 1e-12].max()
        rows.append((f"{1 - rate:.2f}", f"{reached:.3f}"))
    columns = ("specificity of at least", "highest sensitivity")
    return Chart(title, caption, plane.svg(), columns, tuple(rows))
