"""Files for the app, by the form that takes them."""

from __future__ import annotations

from playwright.sync_api import Locator, Page


def upload_form(page: Page) -> Locator:
    """The page's form for a file, once its script listens: what comes earlier waits for the form's button."""
    return page.locator("form[data-upload][data-ready]")
