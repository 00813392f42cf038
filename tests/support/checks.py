"""An owner's kit, and files to look at before they are sent."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

import numpy as np

from ppaurora.study.plan import SAMPLE
from ppaurora.study.provision import provision

SAMPLES = 300


def owners_kit(folder: Path, change: Callable[[str], str] = str, **evaluation: str) -> Path:
    """That of hospital-a, in the sample plan's study with other words in [evaluation], or changed."""
    plan = folder / "study.toml"
    lines = change(SAMPLE).splitlines()
    for name, value in evaluation.items():
        (at,) = (number for number, line in enumerate(lines) if line.startswith(f"{name} = "))
        lines[at] = f'{name} = "{value}"'
    plan.write_text("\n".join(lines) + "\n")
    provision(plan, folder / "kits")
    return folder / "kits" / "hospital-a"


def designed_kit(folder: Path, settings: str, tables: str, *, rows_per_person: int | None = None) -> Path:
    """That of hospital-a, in the sample plan's study with further settings and tables of a design.

    With so many rows of a person, its policy is private, and AUROC all that it computes.
    """
    plan = folder / "study.toml"
    sample = SAMPLE
    if rows_per_person is not None:
        policy = f'kind = "private"\nrows_per_person = {rows_per_person}'
        sample = sample.replace('kind = "publication"', policy).replace('["auroc", "aupr"]', '["auroc"]')
    elif "patient" in settings:
        sample = sample.replace("# rows_per_person = 1", "rows_per_person = 5")
    before, first, rest = sample.partition("\n[")
    plan.write_text(f"{before}\n{settings}\n{first}{rest}\n{tables}\n")
    provision(plan, folder / "kits")
    return folder / "kits" / "hospital-a"


def outcomes(seed: int = 5, decimals: int = 3) -> tuple[list[bool], list[float]]:
    """Who died, and a good model's probabilities of it."""
    random = np.random.default_rng(seed)
    logits = 2 * random.normal(size=SAMPLES)
    died = random.random(SAMPLES) < 1 / (1 + np.exp(-logits))
    return died.tolist(), np.round(1 / (1 + np.exp(-logits)), decimals).tolist()


def named(died: Iterable[bool], positive: str = "died", negative: str = "survived") -> list[str]:
    return [positive if one else negative for one in died]


def write_table(path: Path, labels: Iterable[object], scores: Iterable[float]) -> Path:
    """With a column of ids, of which none is there twice."""
    rows = [
        f"p{number},{score!r},{label}"
        for number, (label, score) in enumerate(zip(labels, scores, strict=True))
    ]
    path.write_text("\n".join(["patient,score,label", *rows]) + "\n")
    return path
