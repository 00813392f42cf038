"""What an owner does in the app, as a person does it: by what the page says."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from playwright.sync_api import Locator, Page, expect

from tests.support.browsing import Visitor
from tests.support.deployment import samples
from tools.browser.running import RunningApp
from tools.browser.uploading import upload_form

EVALUATION = """
[evaluation]
description = "Does the sepsis alert of the wards hold elsewhere?"
model = "sepsis-alert"
version = "2.1.0"
outcome = "sepsis (Sepsis-3) within 48 hours of the score"
positive_class = "sepsis"
"""


class OwnerAtWork:
    """One owner's browser, at one study."""

    def __init__(self, app: RunningApp, visitor: Visitor, study: str) -> None:
        self.app, self.visitor, self.study = app, visitor, study
        self.page: Page = visitor.page
        self.address = f"{app.origin}/studies/{study}"

    def enter(self) -> None:
        """By a fresh link, and from the list of studies to this one."""
        self.visitor.enter(self.app.link())
        self.page.get_by_role("link", name=self.study, exact=True).click()
        expect(self.page.get_by_role("heading", level=1)).to_have_text(self.study)

    def go_to_data(self) -> None:
        self.page.goto(f"{self.address}/data")

    def choose(self, path: Path) -> None:
        """A file, by the page's own control; until it was looked at."""
        upload_form(self.page).get_by_label("A table with a score and a label").set_input_files(path)
        self.wait_for_look()

    def drop(self, *paths: Path) -> None:
        """Files let go of over the form."""
        form = upload_form(self.page)
        form.wait_for()
        transfer = self.page.evaluate_handle(
            """files => {
                const transfer = new DataTransfer();
                for (const [name, text] of files) transfer.items.add(new File([text], name));
                return transfer;
            }""",
            [[path.name, path.read_text()] for path in paths],
        )
        for event in ("dragover", "drop"):
            form.dispatch_event(event, {"dataTransfer": transfer})

    def wait_for_look(self) -> None:
        """Until what was sent has been read: the file is at hand, or there is a sentence; all of the page."""
        done = self.page.get_by_text("Selected file:").or_(self.page.get_by_role("alert"))
        expect(done.first).to_be_visible()
        self.page.wait_for_load_state()

    def agree(self, *others: str) -> None:
        """Tick what one agrees to."""
        for name in ("I have read what the result will disclose", *others):
            self.page.get_by_label(name).check()

    def submit(self, *others: str) -> None:
        self.agree(*others)
        self.page.get_by_role("button", name="Submit").click()
        self.expect_standing("Your data is submitted")

    def expect_standing(self, title: str | re.Pattern[str]) -> None:
        """Where the study stands, without anybody's loading the page again."""
        place = self.page.get_by_role("region", name="Where the study stands").get_by_role("status")
        expect(place).to_have_text(title)

    def row(self, name: str) -> Locator:
        """Return a row of the table of owners or of servers."""
        return self.page.get_by_role("row").filter(
            has=self.page.get_by_role("rowheader", name=re.compile(f"^{name}"))
        )

    def alerts(self) -> str:
        return " ".join(self.page.get_by_role("alert").all_inner_texts())


def write_table(
    path: Path, seed: int, count: int = 60, labels: Sequence[str] = ("healthy", "sepsis"), bad: str = ""
) -> Path:
    """Columns risk and outcome, the latter in words. `bad` takes the place of the third row's score."""
    y_true, y_score = samples(count, seed)
    scores = [f"{score:.2f}" for score in np.asarray(y_score)]
    if bad:
        scores[2] = bad
    rows = [f"{score},{labels[int(label)]}" for score, label in zip(scores, y_true, strict=True)]
    path.write_text("\n".join(["risk,outcome", *rows]) + "\n")
    return path
