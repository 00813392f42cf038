"""The report as a file in a browser: nothing is loaded, it reads well everywhere, and it prints."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Browser, expect

import ppaurora
from ppaurora.owner.study import Study
from tests.browser.conftest import NewVisitor
from tests.support.browsing import Visitor
from tests.support.deployment import samples
from tests.support.owner_at_work import EVALUATION
from tests.support.sending import send
from tests.support.trials import PAIR, Trials

PROBABILITIES = EVALUATION + 'score_scale = "probability"\n'

HEAD = """\
metrics = [
    "auroc", "ap",
    { name = "reliability", bins = [0.0, 0.25, 0.5, 0.75, 1.0] },
    { name = "net_benefit", thresholds = [0.2, 0.4, 0.6] },
]
confidence_level = 0.95
"""
MOST_PAGES = 12


@pytest.fixture(scope="module")
def report(browser: Browser, running: Trials, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of a study with everything that is drawn, beside the owner's own data."""
    running.study("reported", head=HEAD, more=PROBABILITIES)
    data = {}
    for number, owner in enumerate(PAIR):
        labels, scores = samples(400, 900 + number)
        data[owner] = labels, 1 / (1 + np.exp(-scores))
        send(Study(running.kit(owner), "reported"), *data[owner])
    result = Study(running.kit("north"), "reported").wait(timeout=300)
    assert not result.suppressed
    assert result.samples == 800
    path = tmp_path_factory.mktemp("report") / "report.html"
    filed = running.kit("north") / "results" / "reported.json"
    ppaurora.write_report(filed, path, data=data["north"])
    return path


def test_it_reads_well_and_loads_nothing(report: Path, visitor: Visitor) -> None:
    page = visitor.page
    page.goto(report.as_uri())
    assert visitor.requests == [report.as_uri()]
    expect(page.get_by_role("img").first).to_be_visible()
    for summary in page.locator("details > summary").all():
        summary.click()
    visitor.look("report, everything opened")


def test_it_needs_no_script(report: Path, new_visitor: NewVisitor) -> None:
    page = new_visitor(java_script_enabled=False).page
    page.goto(report.as_uri())
    expect(page.get_by_role("heading", name="Results", exact=True)).to_be_visible()


def test_a_figure_is_saved_without_a_script(report: Path, new_visitor: NewVisitor) -> None:
    page = new_visitor(java_script_enabled=False).page
    page.goto(report.as_uri())
    with page.expect_download() as download:
        page.get_by_role("link", name="Save as SVG").first.click()
    assert download.value.suggested_filename == "values-and-their-uncertainty.svg"
    assert "<title>Values and their uncertainty</title>" in Path(download.value.path()).read_text()


def test_it_prints_on_a_few_pages_in_black_on_white(report: Path, visitor: Visitor) -> None:
    page = visitor.page
    page.goto(report.as_uri())
    printed = page.pdf(format="A4")
    assert printed.startswith(b"%PDF")
    assert 1 < printed.count(b"/Type /Page\n") + printed.count(b"/Type /Page/") <= MOST_PAGES
    page.emulate_media(media="print", color_scheme="dark")
    light = "one => getComputedStyle(one).backgroundColor"
    assert page.locator("body").evaluate(light) in ("rgb(255, 255, 255)", "rgba(0, 0, 0, 0)")
    shown = page.locator(".masthead nav")
    assert not shown.is_visible()
