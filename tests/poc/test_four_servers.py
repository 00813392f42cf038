"""A scheme of four servers through kits, nodes and report: nothing there knows how many servers there are."""

from __future__ import annotations

import html
import json
import os
import re
from pathlib import Path

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from tests.poc.conftest import FOLDER, Place
from tests.support import four_servers_known
from tests.support.deployment import write_csv
from tests.support.four_servers import FourServers, Server4
from tests.support.repository import ROOT

TITLES = [server.title for server in Server4]


@pytest.fixture(autouse=True)
def known(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the scheme known to all processes, of nodes and of servers."""
    (registering,) = four_servers_known.__path__
    path = filter(None, [registering, str(ROOT), os.environ.get("PYTHONPATH")])
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(path))


@pytest.mark.usefixtures("ordinary_starts")
def test_four_servers_from_start_to_report(place: Place, tmp_path: Path) -> None:
    random = np.random.default_rng(7)
    data = {}
    for name, size in (("north", 40), ("harbour", 31)):
        scores = random.integers(0, 50, size) / 50
        data[name] = (random.random(size) < scores, scores)
    files = [write_csv(tmp_path / f"{name}.csv", *of_one) for name, of_one in data.items()]
    started = place(
        *("poc", "start", "--protocol", FourServers.name, "--metrics", "auroc", "--submit"),
        *(file.name for file in files),
    )
    assert started.returncode == 0, started.stdout + started.stderr
    for title in TITLES:
        assert re.search(rf"^{title}: runs, process \d+", started.stdout, re.MULTILINE)
    labels, scores = (np.concatenate(column) for column in zip(*data.values(), strict=True))
    filed = json.loads((place.poc / "kits/harbour/results/poc.json").read_text())
    assert filed["metrics"]["auroc"]["value"] == pytest.approx(roc_auc_score(labels, scores), abs=1e-12)

    refused = place("poc", "start", "--protocol", "fast")
    assert refused.returncode == 2
    assert "is there already, with its own files and plan" in refused.stderr

    reported = place("report", f"{FOLDER}/kits/harbour", "--out", "report.html")
    assert reported.returncode == 0, reported.stderr
    page = html.unescape((tmp_path / "report.html").read_text())
    for server in Server4:
        assert f"{server.title}, run by Organisation of {server.file_name}" in page
    assert "4 servers (" in page
    assert "as long as each follows the protocol and no two collude" in page
    for party in ("Each evaluator", "The dealer"):
        row = page[page.index(f"{party}, as long as it follows the protocol") :].partition("</tr>")[0]
        assert "protected" in row
        assert "not protected" not in row
    assert "proxy" not in page.lower()
    assert "helper" not in page.lower()
