"""One Chromium for all tests of this room, and a fresh profile of it for each."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser

from ppaurora.app.private_folder import FOLDER
from tests.support.browsing import Visitor
from tests.support.trials import Trials
from tools.browser.chromium import MISSING, chromium, find_chromium
from tools.browser.running import RunningApp

NewVisitor = Callable[..., Visitor]


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    """Ended with this room: what runs in its thread would be in the way of other tests."""
    path = find_chromium()
    if path is None:
        pytest.skip(MISSING)
    with chromium(path) as started:
        yield started


@pytest.fixture
def new_visitor(browser: Browser) -> Iterator[NewVisitor]:
    """Profiles of their own; none may have had anything to complain of."""
    visitors: list[Visitor] = []

    def begin(**options: Any) -> Visitor:
        visitors.append(Visitor(browser, **options))
        return visitors[-1]

    yield begin
    for visitor in visitors:
        visitor.close()


@pytest.fixture
def visitor(new_visitor: NewVisitor) -> Visitor:
    return new_visitor()


@pytest.fixture(scope="package")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Trials]:
    """Three nodes for all tests of this room."""
    trials = Trials(tmp_path_factory.mktemp("consortium"))
    trials.accept()
    trials.start()
    yield trials
    codes = trials.stop()
    assert set(codes.values()) == {0}, codes
    trials.check_secrecy()


@pytest.fixture
def nodes(browser: Browser, running: Trials) -> Iterator[Trials]:
    """The running nodes, which must not have suffered from the test."""
    yield running
    running.check_serving()


@pytest.fixture(scope="package")
def north(browser: Browser, running: Trials) -> Iterator[RunningApp]:
    """The app of one owner's. In the end it leaves cleanly, and leaves nothing behind."""
    with RunningApp(running.kit("north")) as app:
        yield app
        assert app.stop() == 0, app.said
    assert not [path for path in running.kit("north").iterdir() if path.name == FOLDER]
