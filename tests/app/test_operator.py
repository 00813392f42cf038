"""An operator's pages over real HTTP, beside real nodes that run or do not."""

from __future__ import annotations

import contextlib
import json
import re
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from ppaurora.app.operator.proposals import MOST_BYTES
from ppaurora.messages.owners import StudyState
from ppaurora.node.admin_client import find_running
from ppaurora.node.audit import check_log
from ppaurora.owner.study import Study
from ppaurora.study.kit import NodeKit
from ppaurora.study.manifest import Manifest
from ppaurora.study.names import split_address
from ppaurora.study.provision import provision
from tests.support.deployment import OWNERS, Deployment, command, samples
from tests.support.local_app import AppProcess, Browser, entered, served
from tests.support.sending import send

NODE = "proxy-0"


class Operator:
    """A deployment, and a browser at the operator's app of one of its nodes."""

    def __init__(self, nodes: Deployment, browser: Browser) -> None:
        self.nodes = nodes
        self.browser = browser

    def new_study(self, name: str, *, accepted: bool = True) -> Manifest:
        manifest = self.nodes.provision(name, self.nodes.folder / name, self.nodes.folder / "kits")
        if accepted:
            self.nodes.accept(manifest)
        return manifest

    def propose(self, name: str, content: bytes) -> str:
        """The sentence of a refusal, or where the review is."""
        answer = self.browser.upload("/proposals", name, content, csrf_token=self.browser.csrf_token())
        return answer.location if answer.status == 303 else refusal(answer.text)

    def act(self, study: str, action: str) -> tuple[int, str]:
        answer = self.browser.post(f"/studies/{study}/{action}", csrf_token=self.browser.csrf_token())
        return answer.status, answer.location if answer.status == 303 else refusal(answer.text)

    def state(self, study: str) -> StudyState:
        with self.nodes.store(NODE) as store:
            return next(one.state for one in store.studies() if one.manifest.study == study)

    def log(self) -> list[str]:
        with self.nodes.store(NODE) as store:
            found = check_log(*store.audit_log())
        assert found.problem == ""
        return [entry.text for entry in found.entries]


def refusal(page: str) -> str:
    found = re.search(r'<p class="notice__title">(.*?)</p>', page, re.DOTALL)
    assert found is not None, page
    return found[1]


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Operator]:
    """Three nodes that run."""
    nodes = Deployment(tmp_path_factory.mktemp("running"))
    nodes.accept()
    nodes.start()
    try:
        with served(nodes.kit(NODE)) as (sessions, _):
            yield Operator(nodes, entered(sessions))
    finally:
        nodes.stop()


@pytest.fixture
def resting(tmp_path: Path) -> Iterator[Operator]:
    """None of the nodes runs."""
    nodes = Deployment(tmp_path)
    nodes.accept()
    with served(nodes.kit(NODE)) as (sessions, _):
        yield Operator(nodes, entered(sessions))


def test_a_manifest_is_read_agreed_to_and_worked_on(running: Operator) -> None:
    """From the file to the released result, watched in the page; what it cost is in the node's log."""
    manifest = running.new_study("agreed", accepted=False)
    running.nodes.accept(manifest, ("proxy-1", "helper"))
    for owner in OWNERS:
        (running.nodes.kit(owner) / "studies/agreed.json").write_text(manifest.text())
    path = running.propose("agreed.json", manifest.text().encode())
    assert path == f"/proposals/{manifest.hash}"
    review = running.browser.get(path).text
    for said in (
        manifest.hash,
        "learnt by each proxy",
        "full precision; numbers of positives and negatives",
        "nobody can tell",
    ):
        assert said in review
    csrf_token = running.browser.csrf_token(path)
    assert "confirm that you have" in refusal(
        running.browser.post(f"{path}/accept", csrf_token=csrf_token).text
    )
    wrong = running.browser.post(
        f"{path}/accept", {"agree": "on", "expect-hash": "0" * 12}, csrf_token=csrf_token
    )
    assert "is not the expected one; nothing was done" in refusal(wrong.text)
    assert "agreed" not in " ".join(running.log())
    agreed = {"agree": "on", "expect-hash": manifest.hash[:12]}
    first = running.browser.post(f"{path}/accept", agreed, csrf_token=csrf_token)
    again = running.browser.post(f"{path}/accept", agreed, csrf_token=csrf_token)
    assert first.location == "/studies/agreed?done=accepted"
    assert again.location == "/studies/agreed?done=accepted-before"
    assert running.log().count(f"agreed: the operator accepted the manifest {manifest.hash}") == 1
    assert "Waiting for north, harbour, valley." in running.browser.get("/live").text

    for number, owner in enumerate(OWNERS):
        send(Study(running.nodes.kit(owner), "agreed"), samples(60, number))
    page = running.browser.until("/studies/agreed/live", "the owners can fetch the result").text
    assert 'badge--good">released</span>' in page
    assert page.count('badge--good">submitted</span>') == 3
    computed = [one for one in running.nodes.events(NODE) if one["event"] == "attempt computed"]
    assert computed[-1]["openings"] == 0
    assert computed[-1]["rounds"] > 50
    assert computed[-1]["bytes"] > 10_000
    assert json.loads(running.nodes.get(NODE, "/attempts")) == {}


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("notes.json", b'{"x": 1}', "notes.json: x: there is no such setting"),
        ("a.csv", b"score,label\n0.1,1\n", "a.csv: is not a manifest (not JSON)"),
        ("picture.png", b"\x89PNG\xff\xfe", "picture.png: is not a manifest (not a text file)"),
        ("empty.json", b"", "empty.json: is not a manifest (not JSON)"),
        ("<b>.json", b"[]", "<b>.json:"),
        ("", b"", "no file was chosen"),
        (
            "large.json",
            b" " * (MOST_BYTES + 1),
            "large.json: is not a manifest. No manifest is larger than 1 MB",
        ),
    ],
)
def test_what_is_no_manifest_is_refused_by_its_name(
    running: Operator, name: str, content: bytes, said: str
) -> None:
    before = running.log()
    assert running.propose(name, content).startswith(said)
    assert running.log() == before


def test_manifests_that_were_changed_or_mean_another_node_are_refused(
    running: Operator, tmp_path: Path
) -> None:
    manifest = running.new_study("changed", accepted=False)
    changed = manifest.text().replace('"attempts": 100', '"attempts": 101')
    assert running.propose("changed.json", changed.encode()).startswith("/proposals/")  # another study
    assert "was changed" in running.propose("changed.json", changed.encode() + b"\n")
    other = Deployment(tmp_path).manifest
    assert "the manifest names another key for proxy 0" in running.propose("o.json", other.text().encode())
    assert running.browser.get(f"/proposals/{other.hash}").status == 404


def test_two_nodes_of_one_organisation_have_to_be_wanted(running: Operator) -> None:
    nodes = running.nodes
    plan = nodes.plan("shared", 100)
    for node in ("proxy-0", "proxy-1"):
        plan = plan.replace(f"[nodes.{node}]", f'[nodes.{node}]\norganisation = "Alpha"')
    (nodes.folder / "shared.toml").write_text(plan)
    manifest = provision(
        nodes.folder / "shared.toml", nodes.folder / "shared", nodes.folder / "kits", force=True
    )
    path = running.propose("shared.json", manifest.text().encode())
    csrf_token = running.browser.csrf_token(path)
    answer = running.browser.post(f"{path}/accept", {"agree": "on"}, csrf_token=csrf_token)
    assert "proxy 0 and proxy 1 are run by one organisation, 'Alpha'" in refusal(answer.text)
    answer = running.browser.post(f"{path}/accept", {"agree": "on", "force": "on"}, csrf_token=csrf_token)
    assert answer.location == "/studies/shared?done=accepted"


def test_two_tabs_stop_at_once_and_it_stops_once(running: Operator) -> None:
    running.new_study("halted")
    csrf_token = running.browser.csrf_token()
    answers: list[int] = []

    def stop() -> None:
        answers.append(running.browser.post("/studies/halted/stop", csrf_token=csrf_token).status)

    tabs = [threading.Thread(target=stop) for _ in range(2)]
    for tab in tabs:
        tab.start()
    for tab in tabs:
        tab.join()
    assert sorted(answers) == [303, 409]
    assert running.state("halted") is StudyState.STOPPED
    assert running.log().count("halted: the operator stopped it") == 1
    page = running.browser.get("/studies/halted?done=stopped").text
    assert "Stopped at this node until you resume it." in page
    assert "this node's operator stopped the study" in page
    assert running.act("halted", "abort") == (
        409,
        "no attempt at this study is under way here; there is nothing to abort",
    )
    assert running.act("halted", "retry") == (303, "/studies/halted?done=retried")
    assert running.state("halted") is StudyState.COLLECTING
    status, said = running.act("halted", "retry")
    assert (status, said) == (409, "this study has not stopped; there is nothing to retry")


def test_delete_asks_first_and_deletes_once(running: Operator) -> None:
    running.new_study("deleted")
    assert "This cannot" in running.browser.get("/studies/deleted/delete").text
    assert running.state("deleted") is StudyState.COLLECTING
    assert running.act("deleted", "delete") == (303, "/studies/deleted?done=deleted")
    assert running.state("deleted") is StudyState.DELETED
    status, said = running.act("deleted", "delete")
    assert (status, said) == (409, "the study 'deleted' is deleted here; there is nothing to delete")
    assert running.browser.get("/studies/deleted/delete").status == 422


def test_what_is_not_there_gets_a_sentence(running: Operator) -> None:
    assert "has not accepted a study 'none'" in refusal(running.browser.get("/studies/none").text)
    assert running.act("none", "stop")[0] == 409
    assert running.browser.get("/proposals/" + "0" * 64).status == 404
    assert (
        running.browser.post("/studies/trial/launch", csrf_token=running.browser.csrf_token()).status == 404
    )
    assert running.browser.get("/studies/trial/stop").status == 405
    assert running.browser.post("/studies/trial/stop", csrf_token="another").status == 403  # noqa: S106
    assert running.state("trial") is StudyState.COLLECTING


def test_a_node_that_does_not_run_is_shown_from_its_disk(resting: Operator) -> None:
    page = resting.browser.get("/").text
    assert "not running" in page
    assert f"ppaurora serve {resting.nodes.kit(NODE)}" in page
    assert "Waiting for north, harbour, valley." in page
    assert find_running(NodeKit.read(resting.nodes.kit(NODE))) is None
    resting.nodes.start(NODE)
    try:
        page = resting.browser.until("/live", "running ppaurora").text
        assert "not running" not in page
        helper = NodeKit.read(resting.nodes.kit("helper"))
        settings = resting.nodes.kit("helper") / "node.toml"
        settings.write_text(
            settings.read_text().replace(
                helper.settings.listen_admin, f"127.0.0.1:{resting.nodes.admin[NODE]}"
            )
        )
        assert find_running(NodeKit.read(resting.nodes.kit("helper"))) is None  # another node answers there
    finally:
        resting.nodes.stop()


def test_an_attempt_under_way_is_aborted_and_retried(resting: Operator) -> None:
    with resting.nodes.store(NODE) as store:
        (study,) = store.studies()
        store.begin_attempt(study.hash, 1, has_shares=False)
    page = resting.browser.get("/studies/trial").text
    assert "Abort this attempt" in page
    assert "The node is not running" in page
    assert resting.act("trial", "abort") == (303, "/studies/trial?done=aborted")
    page = resting.browser.get("/studies/trial/live").text
    assert 'badge--warn">failed</span>' in page
    assert "this node's operator aborted the attempt" in page
    assert resting.act("trial", "retry") == (303, "/studies/trial?done=retried")
    assert resting.state("trial") is StudyState.RUNNING
    assert resting.log()[-1] == "trial: the operator let it go on"


def test_the_audit_log_is_shown_and_verified(resting: Operator) -> None:
    hash_ = resting.nodes.manifest.hash
    page = resting.browser.get("/audit").text
    assert "Verified: 1 entry, unchanged since" in page
    assert f"trial: the operator accepted the manifest {hash_}" in page
    with resting.nodes.store(NODE) as store:
        for number in range(250):
            store.record(f"<script>{number}</script>")
        file = store.audit_file
    latest = resting.browser.get("/audit")
    assert "Verified: 251 entries" in latest.text
    assert b"&lt;script&gt;249" in latest.body
    assert b"<script>249" not in latest.body
    assert '/audit?before=52"' in latest.text
    earlier = resting.browser.get("/audit?before=52").text
    assert hash_ in earlier
    assert "before=" not in earlier
    for strange in ("x", "-1", "9" * 40, "0", "%00"):
        assert resting.browser.get(f"/audit?before={strange}").status == 200
    file.write_text(file.read_text().replace("accepted", "declined"))
    page = resting.browser.get("/audit").text
    assert "Verification failed: line 1 is not as this node wrote it" in page
    assert "declined" not in page


def test_a_damaged_database_is_told_and_nothing_is_hidden(resting: Operator) -> None:
    database = resting.nodes.database(NODE)
    database.write_bytes(b"no database" * 1000)
    answer = resting.browser.get("/")
    assert answer.status == 200
    assert "the database is damaged" in answer.text
    assert "valid for" in answer.text
    for path in ("/studies/trial", "/audit"):
        assert resting.browser.get(path).status == 422
    assert "Traceback" not in resting.browser.get("/audit").text


def test_a_damaged_manifest_in_the_kit_hides_nothing_else(resting: Operator) -> None:
    (resting.nodes.kit(NODE) / "studies/damaged.json").write_text("{")
    answer = resting.browser.get("/")
    assert answer.status == 200
    assert "damaged.json: is not a manifest (not JSON)" in answer.text
    assert "Waiting for north, harbour, valley." in answer.text


def test_a_damaged_manifest_in_the_kit_keeps_nobody_from_another_study(resting: Operator) -> None:
    manifest = resting.new_study("sound", accepted=False)
    (resting.nodes.kit(NODE) / "studies/damaged.json").write_text("{")
    review = resting.propose("sound.json", manifest.text().encode())
    assert review == f"/proposals/{manifest.hash}"
    assert "What you agree to" in resting.browser.get(review).text


@pytest.mark.parametrize("status", [200, 503])
@pytest.mark.parametrize(
    "said", [b"[" * 200_000, b"<script>", b"[1]", b'{"role": NaN}', b"\xff"], ids=lambda said: repr(said[:9])
)
def test_whatever_somebody_says_at_the_nodes_local_port_it_does_not_run(
    resting: Operator, status: int, said: bytes
) -> None:
    with nonsense_at(NodeKit.read(resting.nodes.kit(NODE)).settings.listen_admin, status, said):
        answer = resting.browser.get("/")
    assert answer.status == 200
    assert "not running" in answer.text


@contextlib.contextmanager
def nonsense_at(address: str, status: int, said: bytes) -> Iterator[None]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(status)
            self.send_header("Content-Length", str(len(said)))
            self.end_headers()
            self.wfile.write(said)

        def log_message(self, format: str, *args: object) -> None:
            return

    with ThreadingHTTPServer(split_address(address), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield
        finally:
            server.shutdown()


@pytest.mark.parametrize("damage", ["settings", "role", "folder"])
def test_a_damaged_kit_is_refused_at_the_start(tmp_path: Path, damage: str) -> None:
    kit = tmp_path / "kit"
    if damage != "folder":
        kit.mkdir()
        (kit / "node.toml").write_text("role = \n" if damage == "settings" else 'role = "x"\n')
    done = command("app", kit, "--no-browser")
    assert done.returncode == 2, done.stderr
    assert str(kit) in done.stderr
    assert "Traceback" not in done.stderr


def test_the_app_leaves_the_node_and_its_kit_as_they_were(resting: Operator) -> None:
    kit = resting.nodes.kit(NODE)
    before = sorted(path.name for path in kit.iterdir())
    with AppProcess(kit) as app:
        assert app.enter().get("/").status == 200
        assert app.end()[0] == 0
    assert sorted(path.name for path in kit.iterdir()) == before
