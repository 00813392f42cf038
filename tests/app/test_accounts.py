"""A session is of use to one account only: browsers send its cookie to every port of this machine."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from ppaurora.app import accounts
from ppaurora.app import sessions as app_sessions
from ppaurora.app.sessions import Sessions
from tests.app.test_security import SECRET, Notes
from tests.support.local_app import PATIENCE, Browser, entered, served


@pytest.fixture(scope="module")
def sessions() -> Iterator[Sessions]:
    with served(Notes()) as (sessions, _):
        yield sessions


@pytest.fixture
def browser(sessions: Sessions) -> Browser:
    return entered(sessions)


# What another account's program does with a cookie that the browser has sent to its port.
STOLEN = """
import http.client, os, socket, sys
port, cookie, family = sys.argv[1:]
os.seteuid(65534)  # a connection belongs to whoever has made it
mapped = family == "mapped"
made = socket.socket(socket.AF_INET6 if mapped else socket.AF_INET)
os.seteuid(0)
made.connect(("::ffff:127.0.0.1" if mapped else "127.0.0.1", int(port)))
connection = http.client.HTTPConnection("127.0.0.1", int(port))
connection.sock = made
connection.request("GET", "/", headers={"Cookie": cookie, "Sec-Fetch-Site": "same-origin"})
answer = connection.getresponse()
print(answer.status, answer.read().decode())
"""


def stolen(browser: Browser, family: str) -> str:
    command = [sys.executable, "-c", STOLEN, str(browser.port), browser.cookie, family]
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=PATIENCE).stdout


@pytest.mark.skipif(os.getuid() != 0, reason="only root starts programs of other accounts")
@pytest.mark.skipif(
    sys.platform != "linux", reason="elsewhere the system does not tell whose a connection is"
)
@pytest.mark.parametrize("family", ["plain", "mapped"])
def test_a_cookie_is_of_no_use_to_another_account(
    browser: Browser, monkeypatch: pytest.MonkeyPatch, family: str
) -> None:
    said = stolen(browser, family)
    assert said.startswith("403 ")
    assert SECRET not in said
    assert SECRET in browser.get("/").text

    monkeypatch.setattr(app_sessions, "account_of", lambda _: 0)  # the positive control: nobody asks
    assert SECRET in stolen(browser, family)


@pytest.mark.skipif(
    sys.platform != "linux", reason="elsewhere the system does not tell whose a connection is"
)
def test_a_session_knows_the_account_of_its_browser(sessions: Sessions) -> None:
    browser = entered(sessions)
    assert sessions._sessions[-1].account == os.getuid()
    assert SECRET in browser.get("/").text


def test_where_the_system_does_not_tell_accounts_a_session_is_good(
    sessions: Sessions, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(accounts, "_TABLES", {Path("/none"): ""})
    browser = entered(sessions)
    assert sessions._sessions[-1].account is None
    assert SECRET in browser.get("/").text
