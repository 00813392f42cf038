"""What is loaded when the link is printed and when the first page is there: the less, the sooner they are."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from ppaurora.testing.consortium import Consortium
from tests.support.local_app import PATIENCE

# Behind the first page nothing begins here, so that what is seen is what it took.
PROGRAM = """
import json, os, signal, sys, threading, urllib.request
from http.cookiejar import CookieJar
from pathlib import Path

import ppaurora.cli.main, ppaurora.cli.app
from ppaurora.app import lazy, server

lazy._SECONDS_TO_PAINT = 3600.0
seen = {}

def look(link):
    opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(CookieJar()))
    with opener.open(link) as answer:
        seen["page"] = answer.read().decode()
    seen["served"] = sorted(sys.modules)
    os.kill(os.getpid(), signal.SIGTERM)

def say(line):
    if "printed" not in seen:
        seen["printed"] = sorted(sys.modules)
        threading.Thread(target=look, args=[line.split()[-1]]).start()

server.run(Path(sys.argv[1]) if sys.argv[1:] else None, port=0, browser=False, say=say)
print(json.dumps(seen))
"""
WEB = {"aiohttp", "jinja2"}
COMPUTES = {"numpy", "ppaurora.metrics", "ppaurora.protocols"}
# Neither the list of an owner's studies nor the story's first page has anything to do with these.
NODES = {"ppaurora.owner.study", "ppaurora.node.store", "ppaurora.poc.consortium", "sqlite3"}
PICTURES = {"ppaurora.pages.report", "ppaurora.pages.charts"}


def loaded(*arguments: Path) -> tuple[set[str], set[str], str]:
    """Modules when the link is printed, modules when the first page is served, and that page."""
    words = [sys.executable, "-c", PROGRAM, *map(str, arguments)]
    done = subprocess.run(words, capture_output=True, text=True, check=True, timeout=PATIENCE)
    seen = json.loads(done.stdout)
    return set(seen["printed"]), set(seen["served"]), seen["page"]


def test_the_example(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    printed, served, page = loaded()
    assert "Step 1 of 5" in page
    assert "AUROC of each hospital alone" in page
    assert not printed & (WEB | COMPUTES | NODES | PICTURES)
    unwanted = {"cryptography", "ppaurora.study.kit", "ppaurora.metrics", "ppaurora.protocols"}
    assert not served & (NODES | unwanted)
    assert served >= WEB | {"numpy", "ppaurora.pages.charts"}  # so names like these are found
    assert list(tmp_path.iterdir()) == []


@pytest.fixture
def consortium(tmp_path: Path) -> Consortium:
    return Consortium(tmp_path, ("north", "harbour", "valley"))


def test_an_owners_kit(consortium: Consortium) -> None:
    printed, served, page = loaded(consortium.kit("north"))
    assert "Studies of" in page
    assert not printed & (WEB | NODES | PICTURES)
    assert not served & (NODES | PICTURES | {"ppaurora.app.owner.pages"})
    assert served >= WEB | COMPUTES  # a manifest names metrics and a protocol


def test_a_nodes_kit(consortium: Consortium) -> None:
    printed, _, page = loaded(consortium.kit("proxy-0"))
    assert "operator of" in page
    assert not printed & (WEB | NODES | PICTURES)
