"""The result of a study, as an owner gets it in the app."""

from __future__ import annotations

from playwright.sync_api import Page, expect


def read_result(page: Page, study: str) -> None:
    """From the study's page to the result's. What takes more than a moment to fetch is read by a link."""
    with page.expect_navigation():
        page.get_by_role("button", name="Fetch the result").click()
    if not page.url.endswith("/result"):
        page.get_by_role("link", name="View the result").click()
    expect(page.get_by_role("heading", name=f"Result of {study}")).to_be_visible()
