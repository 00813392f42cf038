"""A person at a browser whose every complaint fails the test, and who looks at pages with several eyes."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any
from urllib.parse import urlsplit

from axe_playwright_python.base import AXE_SCRIPT  # type: ignore[import-untyped]
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, Request, Response, WebError

from tools.browser.chromium import PATIENCE

AXE_TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
COLOUR_RULES = ["color-contrast", "link-in-text-block"]
DESKTOP, PHONE, NARROWEST = (1280, 900), (390, 844), 320
_REFUSED = "Failed to load resource: the server responded with a status of"


class Visitor:
    """One browser profile. `refusals` are the statuses of 400 and above that pages were answered with.

    What the browser tells comes a moment behind what is seen in a page, and may come late.
    """

    def __init__(self, browser: Browser, *, known: Sequence[str] = (), **options: Any) -> None:
        self._hosts = {"127.0.0.1", "localhost", *known}
        width, height = DESKTOP
        options = {"reduced_motion": "reduce", **options}  # nobody waits for what moves
        self.context: BrowserContext = browser.new_context(
            viewport={"width": width, "height": height}, **options
        )
        self.context.set_default_timeout(PATIENCE)
        self.complaints: list[str] = []
        self.refusals: list[int] = []
        self._foreseen: list[str] = []
        self._parts_of_foreseen: tuple[str, ...] = ()
        self._foreseen_refusals: frozenset[int] = frozenset()
        self.requests: list[str] = []
        self.context.on("console", self._heard)
        self.context.on("weberror", self._failed)
        self.context.on("request", self._asked)
        self.context.on("response", self._answered)
        self.context.on("requestfailed", self._lost)
        self.page: Page = self.context.new_page()

    def enter(self, link: str, page: Page | None = None) -> Page:
        """Open a link of the app's, and see its first page."""
        page = page or self.page
        page.goto(link)
        page.wait_for_load_state("load")
        assert "token" not in page.url
        return page

    def take_refusals(self, count: int = 1) -> list[int]:
        """Statuses seen since the last call, once there are so many; a test that expects them takes them."""
        self._wait(lambda: len(self.refusals) >= count)
        taken, self.refusals = self.refusals, []
        return taken

    def take_complaints(self) -> list[str]:
        """What looks at pages have found since the last call."""
        taken, self.complaints = self.complaints, []
        return taken

    def foresee(self, *parts: str, refusals: Sequence[int] = ()) -> None:
        """From now on, complaints with one of these parts and refusals of these statuses are expected.

        Whenever they come: of some there are more than one, and the last may come at any time.
        """
        self._parts_of_foreseen += parts
        self._foreseen_refusals |= frozenset(refusals)

    def wait_for_foreseen(self, part: str) -> None:
        """Until something with this part was complained of, as was expected."""
        assert self._wait(lambda: any(part in one for one in self._foreseen)), self._foreseen

    def look(self, name: str) -> None:
        """The page as it stands, for axe at desktop and phone width, light and dark, and at the narrowest.

        What is found is complained of in the end, so that one run shows all of it.
        """
        self.page.wait_for_load_state()
        page, before = self.page, self.page.viewport_size
        assert before is not None
        for width, height in (DESKTOP, PHONE):
            page.set_viewport_size({"width": width, "height": height})
            self.complaints += [f"{name}, {width} px: {one}" for one in violations(page)]
            page.emulate_media(color_scheme="dark")
            found = violations(page, only_colours=True)
            self.complaints += [f"{name}, {width} px, dark: {one}" for one in found]
            page.emulate_media(color_scheme="light")
        self.complaints += [f"{name}: {one}" for one in too_wide(page)]
        page.set_viewport_size(before)

    def close(self) -> None:
        """Nothing may have been complained of that the test has not taken."""
        self.context.close()
        assert (self.complaints, self.refusals) == ([], [])

    def _wait(self, condition: Callable[[], bool]) -> bool:
        """Meanwhile, what the browser tells is heard."""
        deadline = time.monotonic() + PATIENCE / 1000
        while not (is_so := condition()) and time.monotonic() < deadline:
            self.page.wait_for_timeout(20)
        return is_so

    def _complain(self, complaint: str) -> None:
        is_foreseen = any(part in complaint for part in self._parts_of_foreseen)
        (self._foreseen if is_foreseen else self.complaints).append(complaint)

    def _heard(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning") and not message.text.startswith(_REFUSED):
            self._complain(f"console: {message.text}")

    def _failed(self, error: WebError) -> None:
        self._complain(f"script: {error.error}")

    def _asked(self, request: Request) -> None:
        self.requests.append(request.url)
        found = urlsplit(request.url)
        if found.scheme in ("http", "https", "ws", "wss") and found.hostname not in self._hosts:
            self._complain(f"a request to another machine: {request.url}")

    def _answered(self, response: Response) -> None:
        if response.status >= 400 and response.status not in self._foreseen_refusals:
            self.refusals.append(response.status)

    def _lost(self, request: Request) -> None:
        # A page that is left gives up what it was asking for; a download is not a page.
        if request.failure != "net::ERR_ABORTED":
            self._complain(f"{request.url}: {request.failure}")


def violations(page: Page, *, only_colours: bool = False) -> list[str]:
    """What axe finds: rule, what it says, and the first elements."""
    if not page.evaluate("'axe' in window"):
        page.evaluate(AXE_SCRIPT)
    chosen = {"type": "rule", "values": COLOUR_RULES} if only_colours else {"type": "tag", "values": AXE_TAGS}
    found = page.evaluate(
        "chosen => axe.run({runOnly: chosen, resultTypes: ['violations'], preload: false})", chosen
    )
    return [
        f"{rule['id']}: {rule['help']}: " + "; ".join(_where(node) for node in rule["nodes"][:3])
        for rule in found["violations"]
    ]


def _where(node: dict[str, Any]) -> str:
    said = " ".join(check["message"] for check in (*node["any"], *node["all"], *node["none"])[:1])
    return f"{node['html'][:160]} ({said})"


def too_wide(page: Page) -> list[str]:
    """What makes the page scroll sideways at the narrowest width that WCAG asks for."""
    page.set_viewport_size({"width": NARROWEST, "height": 800})
    width = page.evaluate("document.documentElement.scrollWidth")
    if width <= NARROWEST:
        return []
    widest = page.evaluate(
        """width => [...document.body.querySelectorAll("*")]
            .filter(one => one.getBoundingClientRect().right > width + 1)
            .filter(one => !one.closest(".table-scroll, svg"))
            .slice(0, 3).map(one => one.outerHTML.slice(0, 120))""",
        NARROWEST,
    )
    return [f"scrolls sideways at {NARROWEST} px: {width} px wide: {widest}"]
