"""Tables and figures in documents that are made from saved measurements, and from the table of metrics.

A document marks the place; what stands between the marks is generated:

    <!-- generated: scale -->
    ...
    <!-- end of generated -->
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import click

from benchmarks import (
    accuracy,
    against,
    alone,
    app,
    audit,
    correctness,
    designs,
    grids,
    growth,
    policies,
    releases,
    scale,
    study,
    workers,
)
from benchmarks.attacks import command as attacks
from benchmarks.coverage import command as coverage
from benchmarks.drawing import shows
from benchmarks.paper import figures
from benchmarks.paper.experiments import Measured
from benchmarks.paper.printed import METRICS as PRINTED_METRICS
from benchmarks.paper.tables import Measurements, cost_table, headline_table, party_table
from benchmarks.peers import comparison
from benchmarks.primitives import limits, timing
from benchmarks.saving import Row, load_rows
from benchmarks.tables import Table
from ppaurora.errors import InputError
from ppaurora.metrics import METRICS
from ppaurora.metrics.roc import Auroc

DOCUMENTS = (
    "README.md",
    "docs/metrics.md",
    "docs/performance.md",
    "docs/measurements.md",
    "docs/disclosure.md",
    "docs/privacy.md",
)
FIGURES = "docs/figures"
RESULTS = "benchmarks/results"

_MARKED = re.compile(r"(<!-- generated: (\S+) -->\n)(.*?)(<!-- end of generated -->)", re.DOTALL)


class Saved:
    """The measurements that benchmarks/results holds."""

    def __init__(self, root: Path) -> None:
        self._folder = root / RESULTS
        self._read: dict[str, list[Row]] = {}

    def rows(self, name: str) -> list[Row]:
        """Read once, however many blocks are made of them."""
        path = self._folder / f"{name}.json"
        if not path.exists():
            raise InputError(
                f"{path} is missing; measure it with 'python -m benchmarks', see docs/performance.md"
            )
        if name not in self._read:
            self._read[name] = load_rows(path)
        return self._read[name]

    @property
    def paper(self) -> Measurements:
        return Measurements(Measured.of_row(row) for row in self.rows("paper"))


def _paper_block(metric: str, saved: Saved) -> str:
    return cost_table(saved.paper, metric).markdown()


def _attack_block(attack: str, saved: Saved) -> str:
    return attacks.saved_table(saved.rows("attacks"), attack).markdown()


def _metrics_block(_saved: Saved) -> str:
    headings = ("metric", "parameters", "what it is", "unit", "what it equals on pooled data")
    rows = [
        (
            f"`{one.name}`",
            ", ".join(f"`{name}`" for name in one.Parameters.__struct_fields__),
            one.description,
            one.unit,
            one.definition,
        )
        for one in METRICS.values()
    ]
    return Table(headings, rows, words=headings).markdown()


BLOCKS: Mapping[str, Callable[[Saved], str]] = {
    "metrics": _metrics_block,
    "noise": lambda saved: accuracy.noise_table().markdown(),
    "audit": lambda saved: audit.saved_table(saved.rows("audit")).markdown(),
    "cost": lambda saved: scale.cost_table(saved.rows("scale")).markdown(),
    "designs": lambda saved: designs.saved_table(saved.rows("designs")).markdown(),
    "grids": lambda saved: grids.saved_table(saved.rows("grids")).markdown(),
    "scale": lambda saved: scale.saved_table(saved.rows("scale")).markdown(),
    "steps": lambda saved: scale.steps_table(saved.rows("scale"), 1_000_000, 8).markdown(),
    "headline": lambda saved: headline_table(saved.paper).markdown(),
    **{f"paper-{metric}": partial(_paper_block, metric) for metric in PRINTED_METRICS},
    "paper-parties": lambda saved: party_table(saved.paper, Auroc.name).markdown(),
    "correctness": lambda saved: correctness.correctness_table(saved.rows("correctness")).markdown(),
    "coverage": lambda saved: "\n\n".join(
        table.markdown() for table in coverage.saved_tables(saved.rows("coverage"))
    ),
    "exponents": lambda saved: growth.exponents_table(saved.rows("paper"), saved.rows("scale")).markdown(),
    "memory": lambda saved: growth.memory_sentence(saved.rows("scale")),
    "projection": lambda saved: growth.projection_table(saved.rows("scale")).markdown(),
    "primitives": lambda saved: timing.saved_table(saved.rows("primitives")).markdown(),
    "limits": lambda saved: limits.saved_table(saved.rows("primitives")).markdown(),
    "peers": lambda saved: "\n\n".join(
        table.markdown() for table in comparison.saved_tables(saved.rows("peers"))
    ),
    "against": lambda saved: against.saved_table(saved.rows("against")).markdown(),
    "release": lambda saved: releases.saved_table(saved.rows("release")).markdown(),
    **{f"attack-{name}": partial(_attack_block, name) for name in attacks.ATTACKS},
    "policies": lambda saved: policies.saved_table(saved.rows("policies")).markdown(),
    "app": lambda saved: app.saved_table(saved.rows("app")).markdown(),
    "study": lambda saved: study.saved_table(saved.rows("study")).markdown(),
    "alone": lambda saved: alone.saved_table(saved.rows("alone")).markdown(),
    "workers": lambda saved: workers.saved_tables(saved.rows("workers")),
}


def regenerated(text: str, saved: Saved) -> str:
    """The document with every marked block written anew."""

    def block(match: re.Match[str]) -> str:
        if match[2] not in BLOCKS:
            raise InputError(f"unknown block '{match[2]}' in a document; there are: {', '.join(BLOCKS)}")
        return f"{match[1]}{BLOCKS[match[2]](saved)}\n{match[4]}"

    return _MARKED.sub(block, text)


def stale_documents(root: Path) -> dict[Path, str]:
    """What each document that is not what the results say should be instead."""
    saved = Saved(root)
    if not all((root / name).exists() for name in DOCUMENTS):
        raise InputError(f"{root}: is no checkout of ppaurora; name it with --root")
    texts = {root / name: (root / name).read_text() for name in DOCUMENTS}
    fresh = {path: regenerated(text, saved) for path, text in texts.items()}
    return {path: fresh[path] for path in texts if fresh[path] != texts[path]}


def stale_figures(root: Path) -> list[Path]:
    """Figures that were drawn from other data than the results."""
    return [path for path, shown in _shown(root).items() if not shows(path, shown)]


def draw_figures(root: Path) -> None:
    saved = Saved(root)
    figures.draw_all(saved.paper, root / FIGURES)
    correctness.draw_stability(saved.rows("stability"), root / FIGURES / "stability.svg")


def _shown(root: Path) -> dict[Path, Any]:
    """The data behind every figure."""
    saved = Saved(root)
    folder = root / FIGURES
    return {
        **{folder / one.file: figures.shown(one, saved.paper) for one in figures.FIGURES},
        folder / "stability.svg": saved.rows("stability"),
    }


@click.command("docs")
@click.option("--check", is_flag=True, help="Write nothing; fail if a document is not what the results say.")
@click.option(
    "--root",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    default=".",
    help="The checkout; by default the folder at hand.",
)
def docs_command(check: bool, root: Path) -> None:
    """Write the tables and draw the figures of README.md and docs from benchmarks/results."""
    documents, drawn = stale_documents(root), stale_figures(root)
    stale = [str(path.relative_to(root)) for path in (*documents, *drawn)]
    if check and stale:
        raise InputError(
            f"not what benchmarks/results and the code say: {', '.join(stale)}; "
            "run 'python -m benchmarks docs'"
        )
    for path, text in documents.items():
        path.write_text(text)
    if drawn:
        draw_figures(root)
    for name in stale:
        click.echo(f"made anew: {name}")
