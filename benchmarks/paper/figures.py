"""The paper's three scalability figures, with both protocols in them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.drawing import COLOURS, new_figure, save_figure
from benchmarks.paper.experiments import NETWORKS, PROTOCOLS
from benchmarks.paper.printed import DELTAS, METRICS, OWNERS, PRINTED, SAMPLES, Setting
from benchmarks.paper.tables import Measurements


@dataclass(frozen=True)
class Figure:
    """Seconds over one quantity that the settings differ in."""

    name: str
    settings: Sequence[Setting]
    label: str
    position: Callable[[Setting], int]

    @property
    def file(self) -> str:
        return f"paper-{self.name}.svg"


FIGURES = (
    Figure("samples", SAMPLES, "samples of each of 3 owners", lambda setting: setting.sizes[0]),
    Figure("owners", OWNERS, "owners of 1,000 samples", lambda setting: len(setting.sizes)),
    Figure("delta", DELTAS, "delta (8 owners of 1,000 samples)", lambda setting: setting.delta),
)


def draw_all(measurements: Measurements, folder: Path) -> list[Path]:
    return [draw(figure, measurements, folder / figure.file) for figure in FIGURES]


def shown(figure: Figure, measurements: Measurements) -> dict[str, dict[str, list[tuple[int, float]]]]:
    """What the figure shows: curves by metric."""
    return {metric: curves(figure, measurements, metric) for metric in METRICS}


def curves(figure: Figure, measurements: Measurements, metric: str) -> dict[str, list[tuple[int, float]]]:
    """By name, the points (quantity, seconds) of what is printed and of what was measured."""
    found = {
        "printed": [(figure.position(one), PRINTED[metric, one].seconds) for one in figure.settings],
    }
    for protocol in PROTOCOLS:
        for network in NETWORKS:
            pairs = [(one, measurements.get(one, metric, network, protocol)) for one in figure.settings]
            found[f"{protocol}, {network}"] = [
                (figure.position(one), run.seconds) for one, run in pairs if run is not None
            ]
    return found


def draw(figure: Figure, measurements: Measurements, path: Path) -> Path:
    """One panel per metric, both axes logarithmic."""
    drawn = shown(figure, measurements)
    canvas = new_figure(width=10.0, height=3.6)
    panels = canvas.subplots(1, len(METRICS), sharey=True)
    for panel, (metric, title) in zip(panels, METRICS.items(), strict=True):
        for name, points in drawn[metric].items():
            _draw_curve(panel, name, points)
        positions = [figure.position(setting) for setting in figure.settings]
        panel.set(xscale="log", yscale="log", title=title, xlabel=figure.label, xticks=positions)
        panel.set_xticklabels([str(position) for position in positions])
        panel.minorticks_off()
        panel.grid(alpha=0.3)
    panels[0].set_ylabel("seconds")
    handles, labels = panels[0].get_legend_handles_labels()
    canvas.legend(handles, labels, loc="outside lower center", ncols=len(labels), frameon=False)
    return save_figure(canvas, path, drawn)


def _draw_curve(panel: Any, name: str, points: list[tuple[int, float]]) -> None:
    if not points:
        return
    source = name.split(",")[0]
    panel.plot(
        [x for x, _ in points],
        [y for _, y in points],
        label=name,
        color=COLOURS[source],
        linestyle="--" if name.endswith("LAN") else "-",
        marker={"printed": "x", "paper": "o", "fast": "s"}[source],
        markersize=4,
    )
