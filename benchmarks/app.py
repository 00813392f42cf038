"""How soon the local web app's first page is there, and how long a large file's check takes in it."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import numpy as np

from benchmarks.options import out_option
from benchmarks.saving import Results
from benchmarks.synthetic import synthetic_owners
from benchmarks.tables import Table, show
from ppaurora.errors import InputError
from ppaurora.testing.consortium import Consortium
from tools.browser.running import RunningApp

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

SEED = 2026
RUNS = 5
HEADINGS = ("what", "seconds", "progress shown")
_LONG = 300_000.0
_SECONDS_TO_SETTLE = 1.0  # after a new tab, in which a browser still starts programs of its own
_PAINT = "performance.getEntriesByName('first-contentful-paint').map(one => one.startTime)[0] ?? null"
# Whatever the page says about its progress, noted as it changes; pages follow each other meanwhile.
_NOTE = """setInterval(() => {
    const bar = document.querySelector("progress:not([hidden])");
    if (bar && bar.hasAttribute("value")) window.noteProgress(Math.floor(100 * bar.value / bar.max));
}, 20)"""


@dataclass(frozen=True)
class Measurement:
    """First views, from the command to the first text on the screen: the slowest of several."""

    what: str
    seconds: float
    steps: int  # of progress that a person saw

    def cells(self) -> list[str]:
        return [self.what, f"{self.seconds:.2f}", f"{self.steps} steps" if self.steps else ""]


def first_view(browser: Browser, kit: Path | None, bytecode: Path) -> float:
    """Seconds from the start of the command, in a browser that is open and idle."""
    context = browser.new_context()
    try:
        page = context.new_page()
        page.wait_for_timeout(_SECONDS_TO_SETTLE * 1000)
        with RunningApp(kit, environment=_installed(bytecode)) as app:
            link = app.link()
            opened = time.perf_counter()
            page.goto(link)
            while (painted := page.evaluate(_PAINT)) is None:
                page.wait_for_timeout(10)
            return opened - app.began + float(painted) / 1000
    finally:
        context.close()


def slowest_view(browser: Browser, kit: Path | None) -> float:
    """Return the slowest of several; one more comes first, which compiles modules as installing does."""
    with tempfile.TemporaryDirectory(prefix="ppaurora-") as bytecode:
        return max([first_view(browser, kit, Path(bytecode)) for _ in range(RUNS + 1)][1:])


def _installed(bytecode: Path) -> dict[str, str]:
    """An environment in which Python finds modules compiled, wherever this package is and whoever says no."""
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return {**kept, "PYTHONPYCACHEPREFIX": str(bytecode)}


def check_in_page(browser: Browser, kit: Path, table: Path) -> tuple[float, int]:
    """Seconds from the choice of a file until its check is there, and the steps of progress seen."""
    context = browser.new_context()
    try:
        page: Page = context.new_page()
        seen: set[int] = set()
        page.expose_function("noteProgress", lambda step: seen.add(step))
        page.add_init_script(_NOTE)
        with RunningApp(kit) as app:
            page.goto(app.link())
            page.goto(f"{app.origin}/studies/trial/data")
            begun = time.perf_counter()
            page.get_by_label("A table with a score and a label").set_input_files(table)
            page.get_by_role("heading", name="What the file contains").wait_for(timeout=_LONG)
            return time.perf_counter() - begun, len(seen)
    finally:
        context.close()


def measure(browser: Browser, rows: int) -> list[Measurement]:
    with tempfile.TemporaryDirectory(prefix="ppaurora-") as folder:
        consortium = Consortium(Path(folder), ("north", "harbour", "valley"))
        kit = consortium.kit("north")
        table = write_table(Path(folder) / "large.csv", rows)
        views = {"first view, of an owner's kit": kit, "first view, of the example": None}
        found = [Measurement(what, slowest_view(browser, shown), 0) for what, shown in views.items()]
        megabytes = table.stat().st_size / 1e6
        seconds, steps = check_in_page(browser, kit, table)
    what = f"check of {rows:,} rows, {megabytes:.1f} MB of CSV"
    return [*found, Measurement(what, seconds, steps)]


def write_table(path: Path, rows: int) -> Path:
    """Scores with six digits and labels 0 and 1."""
    ((labels, scores),) = synthetic_owners([rows], SEED, ties=False)
    np.savetxt(path, np.column_stack([scores, labels]), "%.6f,%d", header="score,label", comments="")
    return path


def table(measurements: Iterable[Measurement]) -> Table:
    return Table(HEADINGS, [one.cells() for one in measurements], ("what", "progress shown"))


def saved_table(rows: Sequence[dict[str, Any]]) -> Table:
    """Return the table of the latest run."""
    latest = {row["what"]: row for row in rows}
    return table(Measurement(**row) for row in latest.values())


@click.command("app")
@click.option("--rows", type=click.IntRange(min=100, max=2_000_000), default=1_000_000, show_default=True)
@out_option("app")
def app_command(rows: int, out: Path) -> None:
    """The local web app in Chromium: its first view, and the check of a large file."""
    # What drives the browser is needed for this benchmark alone.
    from tools.browser.chromium import MISSING, chromium, find_chromium

    path = find_chromium()
    if path is None:
        raise InputError(MISSING)
    results = Results(out / "app.json", SEED)
    with chromium(path) as browser:
        measurements = measure(browser, rows)
    for one in measurements:
        results.add(asdict(one))
    show(table(measurements))
