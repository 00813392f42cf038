"""Chromium as the system has it: found, started, and kept from every other machine."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager

from playwright.sync_api import Browser, expect, sync_playwright

NAMES = ("chromium", "chromium-browser", "google-chrome")
REBOUND = "rebound.test"  # a name that somebody else's server resolves to this machine
PATIENCE = 180_000.0  # milliseconds: whatever is awaited is to come, however busy the machine is
MISSING = f"no browser here: install one, for instance with: apt-get install {NAMES[0]}"


def find_chromium() -> str | None:
    """Return the path of Chromium, if there is one."""
    return next((path for name in NAMES if (path := shutil.which(name))), None)


@contextmanager
def chromium(path: str) -> Iterator[Browser]:
    """It resolves no name but that one: nothing is loaded from elsewhere even if a page asks for it."""
    rules = f"MAP {REBOUND} 127.0.0.1, MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost"
    options = [f"--host-resolver-rules={rules}"]
    if os.geteuid() == 0:
        options.append("--no-sandbox")  # Chromium refuses to be root in its sandbox
    with sync_playwright() as playwright:
        expect.set_options(timeout=PATIENCE)
        browser = playwright.chromium.launch(executable_path=path, args=options, timeout=PATIENCE)
        try:
            yield browser
        finally:
            browser.close()
