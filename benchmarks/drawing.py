"""Figures as SVG files that carry a digest of what they show, so that a stale one is noticed."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from benchmarks.environment import not_installed

COLOURS = {"printed": "#777777", "paper": "#c1440e", "fast": "#1b6ca8", "band": "#9ec5e0"}


def new_figure(width: float, height: float) -> Any:
    """An empty figure, inches wide and high; needs no display."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise not_installed("figures are drawn with matplotlib") from None
    return Figure(figsize=(width, height), layout="constrained")


def save_figure(figure: Any, path: Path, shown: Any) -> Path:
    import matplotlib

    path.parent.mkdir(parents=True, exist_ok=True)
    with matplotlib.rc_context({"svg.hashsalt": "ppaurora"}):
        figure.savefig(path, metadata={"Date": None, "Description": digest(shown)})
    return path


def digest(shown: Any) -> str:
    """Return the digest of the data behind a figure."""
    return hashlib.sha256(json.dumps(shown, sort_keys=True).encode()).hexdigest()


def shows(path: Path, shown: Any) -> bool:
    """Whether the figure in this file was drawn from this data."""
    return path.exists() and digest(shown) in path.read_text(encoding="utf-8")
