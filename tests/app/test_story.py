"""The example in the browser: from the first view to the result, over real HTTP and three real nodes."""

from __future__ import annotations

import errno
import json
import math
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import NoReturn

import numpy as np
import pytest
from sklearn.metrics import auc, precision_recall_curve, roc_auc_score

from ppaurora.app import lazy
from ppaurora.app.story import abandoned, pages, seen
from ppaurora.app.story.example import Example
from ppaurora.app.story.hospitals import Hospital, make_hospitals, plain_result
from ppaurora.app.story.mode import StoryMode
from ppaurora.app.story.pictures import alone_chart
from ppaurora.app.story.splitting import SplitRecord, show_record, split_record
from ppaurora.node import operating
from ppaurora.pages.charts import Chart
from ppaurora.poc.machine import NODES, PROTOCOL
from ppaurora.randomness.streams import Stream
from ppaurora.statistics.auroc import delong_variance
from ppaurora.study.kit import NodeKit
from tests.support.deployment import nodes_in
from tests.support.local_app import PATIENCE, AppProcess, entered, served

DIGITS = 3  # of the default policy
SHARES = re.compile(r"<td><code>([0-9a-f ]{19})</code> <code>([01])</code></td>")


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Where all examples of a test are, in this process and in others; a test that fails leaves no node."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    yield tmp_path
    abandoned.remove_abandoned()


@pytest.fixture
def app(temporary: Path) -> Iterator[AppProcess]:
    with AppProcess(TMPDIR=str(temporary)) as app:
        yield app
        if app.process.poll() is None:
            app.end()
    assert nodes_in(temporary) == []


def consortium_in(temporary: Path) -> Path:
    (found,) = temporary.glob("ppaurora-example-*/consortium")
    return found


def pooled(consortium: Path) -> tuple[np.ndarray, np.ndarray]:
    """All files of the example together."""
    files = [
        np.genfromtxt(file, delimiter=",", skip_header=1)[:, 1:] for file in consortium.glob("../data/*.csv")
    ]
    scores, labels = np.concatenate(files).T
    return labels, scores


def test_the_whole_story_ends_with_the_pooled_result(app: AppProcess, temporary: Path) -> None:
    browser = app.enter()
    first = browser.get("/")
    assert "Step 1 of 5" in first.text
    assert "The result will appear here when the servers are done." in first.text
    assert browser.post("/story/run", csrf_token=browser.csrf_token()).location == "/#servers"
    page = browser.until("/", "Is it correct?", "That did not work").text
    labels, scores = pooled(consortium_in(temporary))
    precision, recall, _ = precision_recall_curve(labels, scores)
    auroc, aupr = roc_auc_score(labels, scores), auc(recall, precision)
    values = re.findall(r'<p class="card__value">([0-9.]+)</p>', page)
    assert values == [f"{auroc:.{DIGITS}f}", f"{auroc:.6f}"]
    assert f"curve: {aupr:.{DIGITS}f}<" in page
    assert f"curve: {aupr:.6f}<" in page
    assert page.count("Values opened to it: <strong>none</strong>") == 3
    assert page.count('<span class="badge badge--good">done</span>') == 3
    filed = json.loads((consortium_in(temporary) / "kits/north/results/poc.json").read_text())
    assert filed["metrics"]["auroc"]["value"] == round(auroc, DIGITS)
    error = float(delong_variance(labels, scores)) ** 0.5
    assert filed["metrics"]["auroc"]["standard_error"] == pytest.approx(error, abs=0.5 * 10 ** -(DIGITS + 1))
    low, high = filed["metrics"]["auroc"]["interval"]
    step = 10**DIGITS
    outwards = f"{math.floor(low * step) / step:.{DIGITS}f} to {math.ceil(high * step) / step:.{DIGITS}f}"
    assert page.count(outwards) >= 2  # in the chart and on the card, as `ppaurora result` has it


def test_steps_one_by_one_and_in_two_tabs(app: AppProcess, temporary: Path) -> None:
    """Shares differ every time; a second tab that begins the computation again finds the first one's."""
    browser = app.enter()
    csrf_token = browser.csrf_token()
    assert SHARES.findall(browser.get("/").text) == []
    browser.post("/story/split", csrf_token=csrf_token)
    browser.post("/story/split", csrf_token=csrf_token)
    cells = SHARES.findall(browser.get("/").text)
    rows = [cells[start : start + 3] for start in range(0, len(cells), 3)]
    assert len(rows) == 3
    for zero, one, together in rows:
        digits = [int(cell[0].replace(" ", ""), 16) for cell in (zero, one, together)]
        assert digits[0] ^ digits[1] == digits[2]
        assert int(zero[1]) ^ int(one[1]) == int(together[1])
    assert len({row[0][0] for row in rows}) == len({row[1][0] for row in rows}) == 3
    assert len({row[2] for row in rows}) == 1
    assert [browser.post("/story/compute", csrf_token=csrf_token).status for _ in range(2)] == [303, 303]
    browser.until("/story/computation", 'data-goto="/?try=1#result"')
    assert browser.post("/story/compute", csrf_token=csrf_token).status == 303
    database = (consortium_in(temporary) / "logs/proxy-0.log").read_text()
    assert database.count('"attempt begins"') == 1


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_nothing_is_left_when_the_app_ends(app: AppProcess, temporary: Path, number: int) -> None:
    browser = app.enter()
    browser.post("/story/run", csrf_token=browser.csrf_token())
    deadline = time.monotonic() + PATIENCE
    while len(nodes_in(temporary)) < 3 and time.monotonic() < deadline:
        time.sleep(0.05)
    assert len(nodes_in(temporary)) == 3
    code, _ = app.end(number)
    assert code == 0
    assert nodes_in(temporary) == []
    assert list(temporary.iterdir()) == []


def test_what_a_killed_app_has_left_is_gone_at_the_next_start(temporary: Path) -> None:
    with AppProcess(TMPDIR=str(temporary)) as killed:
        browser = killed.enter()
        browser.post("/story/run", csrf_token=browser.csrf_token())
        browser.until("/", "Is it correct?")
        killed.process.kill()
    assert len(nodes_in(temporary)) == 3
    (left,) = temporary.glob("ppaurora-example-*")
    with AppProcess(TMPDIR=str(temporary)) as app:
        browser = app.enter()
        browser.until("/", "waiting for shares")  # its own nodes have started
        assert not left.exists()
        assert len(nodes_in(temporary)) == 3
        app.end()
    assert nodes_in(temporary) == []


def test_an_example_in_use_and_other_users_folders_are_let_be(
    temporary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    used = abandoned.ExampleFolder()
    (temporary / "ppaurora-example-link").symlink_to("/")
    assert abandoned.remove_abandoned() == 0
    assert used.path.exists()
    used._lock.close()  # as if it had been killed
    monkeypatch.setattr(os, "getuid", lambda: used.path.stat().st_uid + 1)
    assert abandoned.remove_abandoned() == 0
    monkeypatch.undo()
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    assert abandoned.remove_abandoned() == 1
    assert not used.path.exists()


def test_servers_that_do_not_start_are_told_and_tried_again(
    temporary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Somebody else is at work in the folder when they are to be started."""
    example = Example()
    try:
        with monkeypatch.context() as broken:
            broken.setattr("ppaurora.poc.consortium.program", lambda *_: ["/bin/false"])
            example.prepare()
            example.compute()
            assert example.computation.last is not None
            assert example.computation.last.wait(PATIENCE)
            assert (
                "the example's servers did not start: proxy 0 did not start"
                in example.computation.last.problem
            )
        example.compute()
        assert example.computation.last.wait(PATIENCE)
        assert example.computation.last.problem == ""
        assert example.outcome is not None
    finally:
        example.close()
    assert list(temporary.iterdir()) == []


def test_a_study_that_was_stopped_beside_the_example_goes_on_later(temporary: Path) -> None:
    """By another app, with a server's kit of the example."""
    example = Example()
    try:
        example.prepare()
        assert example.preparation.last is not None
        assert example.preparation.last.wait(PATIENCE)
        assert example.kits is not None
        operating.stop(NodeKit.read(example.kits / "proxy-0"), "poc")
        example.compute()
        assert example.computation.last is not None
        assert example.computation.last.wait(PATIENCE)
        assert "stopped" in example.computation.last.problem
        operating.retry(NodeKit.read(example.kits / "proxy-0"), "poc")
        example.compute()
        assert example.computation.last.wait(PATIENCE)
        assert example.computation.last.problem == ""
        assert example.outcome is not None
    finally:
        example.close()


def test_a_result_that_comes_while_the_page_is_drawn_is_on_the_next_one(
    temporary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lazy, "_SECONDS_TO_PAINT", 3600.0)  # nothing else begins
    mode = StoryMode()
    with served(mode) as (sessions, _):
        example = mode._pages.begin().result().example

        def draw(hospitals: Sequence[Hospital]) -> Chart:
            monkeypatch.setattr(example, "outcome", object())
            return alone_chart(hospitals)

        monkeypatch.setattr(pages, "alone_chart", draw)
        answer = entered(sessions).get("/")
    assert answer.status == 200, answer.said
    assert "The result will appear here when the servers are done." in answer.text


def test_a_full_disk_is_told_in_the_page(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(**_: object) -> NoReturn:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(abandoned, "make_held", refuse)
    with served(None) as (sessions, _):
        answer = entered(sessions).get("/")
    assert answer.status == 422
    assert "the folder for temporary files cannot be written to: No space left on device" in answer.text
    assert "TMPDIR=FOLDER ppaurora app" in answer.text


def test_the_plain_result_is_scikit_learns(tmp_path: Path) -> None:
    hospitals = make_hospitals(tmp_path / "data")
    labels = np.concatenate([hospital.samples.labels for hospital in hospitals])
    scores = np.concatenate([hospital.samples.scores for hospital in hospitals])
    precision, recall, _ = precision_recall_curve(labels, scores)
    found = plain_result(hospitals)
    assert found.auroc.value == pytest.approx(roc_auc_score(labels, scores), abs=1e-12)
    assert found.aupr == pytest.approx(auc(recall, precision), abs=1e-12)


def is_even(splits: Sequence[SplitRecord], place: int) -> bool:
    """Whether every bit of one proxy's shares is one about half of the time, whatever the record's is."""
    keys = np.array([split.shares[place].key for split in splits], dtype=np.uint64)
    ones = np.unpackbits(keys.view(np.uint8).reshape(-1, 8), axis=1).mean(axis=0)
    labels = np.mean([split.shares[place].label for split in splits])
    return bool(0.35 < ones.min() <= ones.max() < 0.65 and 0.35 < labels < 0.65)


def test_one_share_of_the_shown_record_is_random(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And is not, where somebody forgets to draw."""
    samples = make_hospitals(tmp_path / "data")[0].samples
    whole = show_record("North", samples, 1).bits
    splits = [split_record(samples, 1) for _ in range(400)]
    assert {split.together for split in splits} == {whole}
    assert [is_even(splits, place) for place in range(2)] == [True, True]
    monkeypatch.setattr(
        Stream, "fresh", lambda: SimpleNamespace(words=lambda shape: np.zeros(shape, dtype=np.uint64))
    )
    splits = [split_record(samples, 1) for _ in range(400)]
    assert {split.together for split in splits} == {whole}
    assert [is_even(splits, place) for place in range(2)] == [False, False]


def test_servers_are_shown_as_the_protocol_has_them_before_it_is_loaded() -> None:
    assert PROTOCOL.input_servers == seen.PROXIES
    assert tuple(server.name for server in seen.not_started()) == NODES


def test_the_app_listens_before_it_loads_what_computes() -> None:
    """So the link is there at once, and the example is loaded while the browser opens."""
    words = "import sys, ppaurora.app.server, ppaurora.app.story.mode; print('numpy' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", words], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"
