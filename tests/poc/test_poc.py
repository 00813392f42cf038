"""`ppaurora poc`: a consortium of real nodes on this machine, through to the result."""

from __future__ import annotations

import csv
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from sklearn.metrics import auc, precision_recall_curve, roc_auc_score

from ppaurora.poc.background import Background, only_one
from ppaurora.study.kit import NodeKit
from ppaurora.study.names import split_address
from tests.poc.conftest import FOLDER, Place
from tests.support.deployment import NODES, cleaned_environment
from tests.support.releases import to_multiple_of_five

COLUMNS = ("--score", "risk at 48h", "--label", "outcome", "--pos-label", "died")
Data = dict[str, tuple[np.ndarray, np.ndarray]]


def printed_commands(text: str) -> list[str]:
    return [line.strip() for line in text.splitlines() if line.startswith("  ")]


def written_hospitals(place: Place) -> Data:
    """The data that a consortium without data was given."""
    hospitals = {}
    for name in ("north", "harbour", "valley"):
        with (place.poc / "data" / f"{name}.csv").open() as file:
            rows = list(csv.DictReader(file))
        hospitals[name] = (
            np.array([int(row["label"]) for row in rows]),
            np.array([float(row["score"]) for row in rows]),
        )
    return hospitals


def pooled(data: Data) -> tuple[float, float]:
    labels, scores = (np.concatenate(column) for column in zip(*data.values(), strict=True))
    precision, recall, _ = precision_recall_curve(labels, scores)
    return roc_auc_score(labels, scores), auc(recall, precision)


def result_of(place: Place, owner: str) -> tuple[float, float]:
    filed = json.loads((place.poc / "kits" / owner / "results/poc.json").read_text())
    return filed["metrics"]["auroc"]["value"], filed["metrics"]["aupr"]["value"]


@pytest.mark.usefixtures("ordinary_starts")
def test_what_is_printed_leads_to_the_pooled_result(place: Place, hospitals: Data) -> None:
    started = place("poc", "start", *hospitals, *COLUMNS)
    assert started.returncode == 0, started.stderr
    assert re.search(
        r"^ready in \d+\.\d s; they keep running until: .* poc stop$", started.stdout, re.MULTILINE
    )
    for node in NODES:
        said = f"{node.replace('-', ' ')}: runs, process {place.process(node)}; log {FOLDER}/logs/{node}.log"
        assert said in started.stdout
    commands = printed_commands(started.stdout)
    assert [command.split(" ppaurora ")[1].split()[0] for command in commands] == [
        *("preflight", "submit", "submit", "status", "result", "verify")
    ]
    assert commands[1].endswith(
        f"submit {FOLDER}/kits/north-hospital 'North Hospital.csv' --yes "
        "--score 'risk at 48h' --label outcome --pos-label died"
    )
    *others, result, verify = commands
    for command in others:
        done = place.shell(command)
        assert done.returncode == 0, done.stderr
    while (done := place.shell(result)).returncode == 4:
        time.sleep(0.2)
    assert done.returncode == 0, done.stderr
    assert f"{FOLDER}/kits/north-hospital/results/poc.json" in done.stdout
    assert result_of(place, "north-hospital") == pytest.approx(pooled(hospitals), abs=1e-9)
    assert place.shell(verify).stdout.startswith("verified: poc, manifest ")

    status = place("poc", "status")
    assert status.returncode == 0
    assert "study poc: released\n" in status.stdout
    assert [line.split(" ppaurora ")[1] for line in printed_commands(status.stdout)] == [
        *(f"result {FOLDER}/kits/{owner}" for owner in ("north-hospital", "harbour")),
        f"verify {FOLDER}/kits/north-hospital/results/poc.json",
    ]


def processor_seconds(process: int) -> float:
    """That it has used so far."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@pytest.mark.usefixtures("ordinary_starts")
def test_it_is_ready_within_ten_seconds(place: Place) -> None:
    """By the time that the processor works for it: other tests may run beside this one."""
    before = os.times()
    assert place("poc", "start").returncode == 0
    after = os.times()
    command = after.children_user + after.children_system - before.children_user - before.children_system
    nodes = [processor_seconds(place.process(node)) for node in NODES]
    assert min(command, *nodes) > 0
    assert command + sum(nodes) < 10


def test_one_command_does_all_of_it(place: Place) -> None:
    done = place("poc", "start", "--submit")
    assert done.returncode == 0, done.stderr
    hospitals = written_hospitals(place)
    assert result_of(place, "valley") == pytest.approx(pooled(hospitals), abs=1e-9)
    assert f"{pooled(hospitals)[0]:.10f}" in done.stdout
    again = place("poc", "start", "--submit")
    assert again.returncode == 0
    assert "all of them were running already" in again.stdout
    assert f"{pooled(hospitals)[0]:.10f}" in again.stdout


def test_a_web_proxy_is_not_asked_for_this_machine(place: Place) -> None:
    """One that is not there: whoever asked it would fail."""
    behind = cleaned_environment(HTTPS_PROXY="http://127.0.0.1:9", HTTP_PROXY="http://127.0.0.1:9")
    started = place("poc", "start", env=behind)
    assert started.returncode == 0, started.stderr
    bypass, preflight, *_ = printed_commands(started.stdout)
    assert bypass == 'export no_proxy="127.0.0.1,${no_proxy-}"'
    assert place.shell(preflight, env=behind).returncode == 2  # the positive control
    assert place.shell(f"{bypass}; {preflight}", env=behind).returncode == 0
    assert place("poc", "start", "--submit", env=behind).returncode == 0


def test_a_studys_own_rules_can_be_tried(place: Place) -> None:
    done = place("poc", "start", "--policy", "publication", "--metrics", "auroc, brier", "--submit")
    assert done.returncode == 0, done.stderr
    filed = json.loads((place.poc / "kits/valley/results/poc.json").read_text())
    hospitals = written_hospitals(place)
    assert filed["metrics"]["auroc"]["digits"] == 3
    assert filed["metrics"]["auroc"]["value"] == round(pooled(hospitals)[0], 3)
    positives = sum(int(labels.sum()) for labels, _ in hospitals.values())
    assert filed["positives"] == to_multiple_of_five(positives)


def test_what_was_killed_is_shown_and_started_again(place: Place) -> None:
    assert place("poc", "start").returncode == 0
    before = {node: place.process(node) for node in NODES}
    os.kill(before["helper"], signal.SIGKILL)
    while place(*("poc", "status", "--format", "json")).returncode == 0:
        time.sleep(0.1)
    shown = place("poc", "status")
    assert shown.returncode == 3
    assert "helper: is not running; log ppaurora-poc/logs/helper.log" in shown.stdout
    assert "study poc: collecting; waiting for north, harbour, valley" in shown.stdout
    assert re.fullmatch(
        r"ppaurora: not running: helper; start what is missing with: \S+ -m ppaurora poc start\n",
        shown.stderr,
    )
    told = json.loads(place("poc", "status", "--format", "json").stdout)
    assert [node["process"] for node in told["nodes"]] == [before["proxy-0"], before["proxy-1"], None]
    assert (told["state"], told["missing"]) == ("collecting", ["north", "harbour", "valley"])

    assert place("poc", "start").returncode == 0
    after = {node: place.process(node) for node in NODES}
    assert {node for node in NODES if after[node] != before[node]} == {"helper"}
    assert place("poc", "status").returncode == 0


def test_stopping_is_clean_and_everything_is_removed_on_request(place: Place) -> None:
    assert place("poc", "start").returncode == 0
    assert len(place.running()) == 3
    stopped = place("poc", "stop")
    assert stopped.returncode == 0
    assert stopped.stdout.startswith("stopped: proxy 0, proxy 1, helper\n")
    assert place.running() == []
    for node in NODES:
        last = json.loads((place.poc / f"logs/{node}.log").read_text().splitlines()[-1])
        assert last["event"] == "node stopped"
    assert place("poc", "stop").stdout.startswith("nothing was running\n")
    assert place("poc", "status").returncode == 3

    kept = place("poc", "clean", input="n\n")
    assert (kept.returncode, kept.stderr) == (
        2,
        "Remove ppaurora-poc, with all keys, submissions and results in it? [y/N]: "
        "ppaurora: not removed; nothing was changed\n",
    )
    assert place("poc", "start").returncode == 0
    removed = place("poc", "clean", input="y\n")
    assert removed.returncode == 0
    assert removed.stdout.endswith(f"removed {FOLDER}\n")
    assert place.files() == []
    assert place.running() == []


def test_a_process_number_that_belongs_to_another_is_left_alone(place: Place) -> None:
    assert place("poc", "start").returncode == 0
    place("poc", "stop")
    other = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    try:
        for node in NODES:
            (place.poc / f"processes/{node}.pid").write_text(str(other.pid))
        assert "proxy 0: is not running" in place("poc", "status").stdout
        assert place("poc", "stop").stdout.startswith("nothing was running\n")
        assert place("poc", "clean", "--yes").returncode == 0
        assert other.poll() is None
    finally:
        other.kill()
        other.wait()


def test_the_lock_is_what_tells_ones_own_process(tmp_path: Path) -> None:
    """The positive control: a process that does hold it is found, and ended."""

    def found() -> int | None:
        return Background(tmp_path / "one.pid", tmp_path / "one.log").process_id

    process = Background(tmp_path / "one.pid", tmp_path / "one.log")
    assert found() is None
    process.start([sys.executable, "-c", "import time; time.sleep(600)"])
    assert found() == int((tmp_path / "one.pid").read_text())
    assert process.stop()
    assert found() is None
    assert not process.stop()


def test_a_number_in_a_file_that_nobody_holds_is_of_no_process(tmp_path: Path) -> None:
    """Not even if there is a process of that number."""
    (tmp_path / "one.pid").write_text(str(os.getpid()))
    assert Background(tmp_path / "one.pid", tmp_path / "one.log").process_id is None


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize("moment", ["before", "first", "last"])
def test_an_interrupted_start_leaves_nothing_running(place: Place, number: int, moment: str) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "ppaurora", "poc", "start"],
        cwd=place.folder,
        env=cleaned_environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    awaited = {
        "before": lambda: any(place.folder.iterdir()),  # the folder is being made
        "first": lambda: (place.poc / "processes/proxy-0.pid").exists(),
        "last": lambda: (place.poc / "processes/helper.pid").exists(),
    }
    while not awaited[moment]():
        assert process.poll() is None
        time.sleep(0.005)
    process.send_signal(number)
    out, err = process.communicate(timeout=300)
    assert (process.returncode, out, err.strip()) == (130, "", "ppaurora: interrupted")
    assert place.running() == []
    assert place.files() == []


def test_a_port_that_is_taken_is_named_and_nothing_runs_on(place: Place) -> None:
    assert place("poc", "start").returncode == 0
    place("poc", "stop")
    address = NodeKit.read(place.poc / "kits/helper").settings.listen_nodes
    with socket.create_server(split_address(address)):
        clash = place("poc", "start")
    assert clash.returncode == 3
    assert re.fullmatch(
        rf"ppaurora: helper did not start: cannot listen at {address}: .* \(log {FOLDER}/logs/helper\.log\); "
        r"if it stays, begin anew after 'ppaurora poc clean'\n",
        clash.stderr,
    )
    assert place.running() == []
    assert place("poc", "start").returncode == 0


def test_two_commands_at_once_do_not_meet(place: Place) -> None:
    assert place("poc", "start").returncode == 0
    with only_one(place.poc / "processes/lock", ""):
        for words in (("start",), ("stop",), ("clean", "--yes")):
            refused = place("poc", *words)
            assert (refused.returncode, refused.stderr) == (
                2,
                f"ppaurora: {FOLDER}: another 'ppaurora poc' is at work there; try again when it is done\n",
            )
    assert len(place.running()) == 3


def test_what_is_there_keeps_its_plan(place: Place, hospitals: Data) -> None:
    assert place("poc", "start", *hospitals, *COLUMNS).returncode == 0
    assert place("poc", "start", *hospitals, *COLUMNS).returncode == 0
    for others in (
        ("harbour.csv",),
        ("--metrics", "ap"),
        ("--policy", "publication"),
        (*hospitals, "--score", "x"),
    ):
        refused = place("poc", "start", *others)
        assert refused.returncode == 2
        assert re.fullmatch(
            rf"ppaurora: {FOLDER}: is there already, with its own files and plan; to begin anew, first run: "
            r"\S+ -m ppaurora poc clean; to keep it, name another folder with --folder\n",
            refused.stderr,
        )
    assert len(place.running()) == 3
