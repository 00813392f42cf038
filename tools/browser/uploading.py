"""Files for the app, by the form that takes them."""

from __future__ import annotations

from pathlib import Path

from playwright.sync_api import Locator, Page


def upload_form(page: Page) -> Locator:
    """The page's form for a file, once its script listens: what comes earlier waits for the form's button."""
    return page.locator("form[data-upload][data-ready]")


def choose_addition(page: Page, path: Path) -> None:
    """A kit or a manifest, on the list of studies; until it was read and the app asks about it."""
    upload_form(page).get_by_label("Kit or manifest of a study").set_input_files(path)
    page.wait_for_url("**/add/*")
    page.wait_for_load_state()
