"""Three made-up hospitals, for a consortium that has no data yet."""

from __future__ import annotations

from pathlib import Path

import numpy as np

# How many patients each has, and how well the model does there.
HOSPITALS = {"north": (340, 1.6), "harbour": (260, 1.2), "valley": (180, 0.9)}


def write_hospitals(folder: Path) -> dict[str, Path]:
    """Write one CSV file each: risks in per cent, so that many are equal, and who fell ill."""
    random = np.random.default_rng(2026)
    paths = {}
    for name, (patients, slope) in HOSPITALS.items():
        features = random.normal(size=patients)
        labels = random.random(patients) < 1 / (1 + np.exp(1 - slope * features))
        scores = np.round(1 / (1 + np.exp(1 - features)), 2)
        rows = [
            f"{name}-{number:03d},{score!r},{int(label)}"
            for number, (score, label) in enumerate(zip(scores.tolist(), labels, strict=True), start=1)
        ]
        paths[name] = folder / f"{name}.csv"
        paths[name].write_text("\n".join(["patient,score,label", *rows]) + "\n")
    return paths
