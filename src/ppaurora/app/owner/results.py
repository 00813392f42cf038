"""A result as the page shows it, and the files that a person saves."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from ppaurora.app.owner.controller import OwnerController
from ppaurora.app.owner.own_values import OwnView
from ppaurora.owner.report import receipt_path
from ppaurora.pages.charts import Chart
from ppaurora.pages.report import make_report
from ppaurora.pages.report.facts import Facts
from ppaurora.pages.report.figures import pooled_charts, section_charts
from ppaurora.pages.report.numbers import Number
from ppaurora.pages.report.sources import source_of
from ppaurora.pages.report.texts import amendment_pairs
from ppaurora.pages.report.writing import facts_of


@dataclass(frozen=True)
class ResultView:
    """A result as its page shows it: the report's facts, its charts, and where it is filed."""

    facts: Facts
    charts: tuple[Chart, ...]
    section_charts: dict[str, list[Chart]]
    file: Path
    own: OwnView | None  # beside the released values, on this page only

    @property
    def owners(self) -> list[tuple[str, str]]:
        """Who took part, with how many samples."""
        return [(one.name, one.detail) for one in self.facts.owners]

    @property
    def amendments(self) -> list[tuple[str, str]]:
        """How the study was amended before anything was computed."""
        return [(f"Amendment {number}", words) for number, words in amendment_pairs(self.facts)]

    @property
    def cards(self) -> list[tuple[str, Number]]:
        """All single numbers; of several models and outcomes, the first one of each."""
        if self.facts.is_of_one_model:
            return [(number.title, number) for number in self.facts.single]
        return [
            (f"{number.title}, {one.name}", number)
            for one in self.facts.design.slices
            for number in one.single[:1]
        ]

    @classmethod
    def of(cls, controller: OwnerController) -> ResultView:
        """Verified anew each time; raises if the result is undefined, or not what its receipt says."""
        controller.result()
        facts, kept = facts_of(source_of(controller.study.results)), controller.own_beside()
        return cls(
            facts,
            tuple(pooled_charts(facts)),
            section_charts(facts),
            controller.study.results,
            None if kept is None else OwnView.of(kept, facts, controller.manifest),
        )


@dataclass(frozen=True)
class Kind:
    """A file that a person can save of a result."""

    title: str
    suffix: str
    content_type: str
    make: Callable[[Path], str]


def _report(path: Path, *, format: str) -> str:
    return make_report(source_of(path), format)


# By what stands in the address.
KINDS = {
    "report.html": Kind(
        "Report as a page, to keep or print", "html", "text/html", partial(_report, format="html")
    ),
    "report.md": Kind("Report as Markdown", "md", "text/markdown", partial(_report, format="markdown")),
    "table.tex": Kind("Table for LaTeX", "tex", "text/plain", partial(_report, format="latex")),
    "report.json": Kind("Report as JSON", "report.json", "application/json", partial(_report, format="json")),
    "result.json": Kind("Result with its receipt", "json", "application/json", Path.read_text),
    "receipt.json": Kind(
        "Receipt only, without values, to share",
        "receipt.json",
        "application/json",
        lambda path: receipt_path(path).read_text("utf-8"),
    ),
}


def saved(controller: OwnerController, kind: Kind) -> bytes:
    """Return the content of a file that is filed in the kit."""
    controller.result()
    return kind.make(controller.study.results).encode()
