"""docs/deploying.md, walked through: every command in it is run, by the party that it is for."""

from __future__ import annotations

import ast
import json
import re
import shutil
import subprocess
import sys
import time
import tomllib
import urllib.request
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

import pytest

from ppaurora import errors
from ppaurora.cli.main import COMMANDS, EXIT_INTERRUPTED
from ppaurora.node.store import StudyState
from ppaurora.study.kit import NodeSettings
from tests.support.deployment import cleaned_environment, free_ports, samples, write_csv
from tests.support.oracles import exact_aupr, exact_auroc
from tests.test_documents import DOCUMENTS, ROOT

GUIDE = (ROOT / "docs/deploying.md").read_text()
NODES = ("proxy-0", "proxy-1", "helper")
OWNERS = ("hospital-a", "hospital-b", "hospital-c")
EVERYBODY = ("coordinator", *NODES, *OWNERS)
TOLERANCE = 1e-9  # of AUPR; AUROC is exact
WHO = {
    "Coordinator": ("coordinator",),
    "Every node": NODES,
    "Every owner": OWNERS,
    "Everybody": ("coordinator",),  # there is one installation here
    "Everybody else": (*NODES, *OWNERS),
    **{name: (name,) for name in (*NODES, *OWNERS)},
}
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
BY_HAND = re.compile(r"^<!-- by hand: (.*) -->$", re.MULTILINE)
SECONDS = 60


class Step(NamedTuple):
    """A block of the guide and who runs it; or, of kind `by hand`, what people do without a command."""

    kind: str
    text: str
    who: tuple[str, ...] = ()


def parties(paragraph: str) -> tuple[str, ...]:
    """'**hospital-a** and **hospital-c**: ...'"""
    named = re.match(r"\*\*([^*]+)\*\*(?: and \*\*([^*]+)\*\*)?", paragraph)
    assert named, f"who runs what follows? {paragraph!r}"
    return tuple(party for name in named.groups() if name for party in WHO[name])


def steps() -> list[Step]:
    found = {}
    for block in FENCE.finditer(GUIDE):
        kind, text = block.groups()
        runs = kind in ("sh", "python")
        who = parties(GUIDE[: block.start()].rstrip().rsplit("\n\n", 1)[-1]) if runs else ()
        found[block.start()] = Step(kind, text, who)
    for mark in BY_HAND.finditer(GUIDE):
        found[mark.start()] = Step("by hand", mark.group(1))
    return [found[at] for at in sorted(found)]


class Walk:
    """Each party has a folder of its own here, in place of a machine."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.done: list[tuple[Step, str]] = []
        self.nodes: dict[str, subprocess.Popen[bytes]] = {}
        ports = free_ports(8)
        self.addresses = {
            "proxy0.example.org:8443": ports[0],
            "proxy0.example.org:8444": ports[1],
            "proxy1.example.net:8443": ports[2],
            "proxy1.example.net:8444": ports[3],
            "helper.example.com:8444": ports[4],
        }
        self.admin = dict(zip(NODES, ports[5:], strict=True))
        self.data = {owner: samples(60 + 20 * number, number) for number, owner in enumerate(OWNERS)}
        for name in EVERYBODY:
            (folder / name).mkdir()
        for number, owner in enumerate(OWNERS):
            write_csv(folder / owner / "scores.csv", *self.data[owner])
            # Together below the sample plan's minimum, so that the second study stops.
            write_csv(folder / owner / "scores-2027.csv", *samples(30, 10 + number))
        program = folder / "bin" / "ppaurora"
        program.parent.mkdir()
        program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m ppaurora "$@"\n')
        program.chmod(0o755)
        self.environment = cleaned_environment()
        self.environment["PATH"] = f"{program.parent}:{self.environment['PATH']}"
        self.yes = folder / "yes"
        self.yes.write_text("y\n" * 100_000)
        self.by_hand: dict[str, Callable[[], None]] = {
            "send hospital-c.pem, edit study.toml": self.edit_the_plan,
            "hand over the kits": self.hand_over,
            "edit node.toml": self.edit_settings,
            "send sepsis-2027.json": self.send_the_manifest,
            "wait until sepsis-2027 has stopped": self.wait_for_the_stop,
            "send the renewed certificate": self.send_the_certificate,
            "stop proxy-0": lambda: self.stop("proxy-0"),
            "start proxy-0": lambda: self.start("proxy-0"),
        }

    def take(self, step: Step) -> None:
        if step.kind == "by hand":
            self.by_hand[step.text]()
            self.done.append((step, ""))
        with ThreadPoolExecutor() as pool:
            for future in [pool.submit(self.run, step, name) for name in step.who]:
                future.result()

    def run(self, step: Step, name: str) -> None:
        if step.text.startswith("ppaurora serve "):
            assert step.text == "ppaurora serve kit\n"
            self.start(name)
        else:
            self.execute(step, name)
        self.done.append((step, name))

    def execute(self, step: Step, name: str) -> None:
        text = step.text.replace("9464", str(self.admin.get(name, 9464)))
        program = ["sh", "-eu", "-c"] if step.kind == "sh" else [sys.executable, "-W", "error", "-c"]
        with self.yes.open("rb") as answers:
            done = subprocess.run(
                [*program, text],
                cwd=self.folder / name,
                env=self.environment,
                stdin=answers,
                capture_output=True,
                text=True,
                timeout=SECONDS,
                check=False,
            )
        assert done.returncode == 0, f"{name}: {text}\n{done.stdout}\n{done.stderr}\n{self.logs()}"

    def start(self, name: str) -> None:
        with (self.folder / name / "serve.log").open("ab") as log:
            self.nodes[name] = subprocess.Popen(
                [self.folder / "bin" / "ppaurora", "serve", "kit"],
                cwd=self.folder / name,
                env=self.environment,
                stderr=log,
            )
        self.wait(lambda: self.is_healthy(name))

    def stop(self, name: str) -> None:
        self.nodes[name].terminate()
        assert self.nodes[name].wait(timeout=SECONDS) == 0, self.logs()

    def is_healthy(self, name: str) -> bool:
        assert self.nodes[name].poll() is None, self.logs()
        try:
            return '"ok"' in self.get(name, "/healthz")
        except OSError:
            return False

    def get(self, name: str, path: str) -> str:
        with urllib.request.urlopen(f"http://127.0.0.1:{self.admin[name]}{path}", timeout=10) as answer:
            return str(answer.read().decode())

    def wait(self, condition: Callable[[], bool]) -> None:
        deadline = time.monotonic() + SECONDS
        while not condition():
            assert time.monotonic() < deadline, self.logs()
            time.sleep(0.1)

    def logs(self) -> str:
        return "\n".join(path.read_text() for path in self.folder.glob("*/serve.log"))

    # What people do by hand

    def edit_the_plan(self) -> None:
        shutil.copy(self.folder / "hospital-c/hospital-c.pem", self.folder / "coordinator")
        path = self.folder / "coordinator/study.toml"
        text = path.read_text()
        for address, port in self.addresses.items():
            assert address in text
            text = text.replace(address, f"127.0.0.1:{port}")
        assert '# certificate = "hospital-c.pem"' in text
        path.write_text(text.replace('# certificate = "hospital-c.pem"', 'certificate = "hospital-c.pem"'))

    def hand_over(self) -> None:
        for name in (*NODES, *OWNERS):
            shutil.copy(self.folder / f"coordinator/{name}.tar", self.folder / name / "kit.tar")

    def edit_settings(self) -> None:
        for name in NODES:
            path = self.folder / name / "kit/node.toml"
            text = path.read_text().replace("0.0.0.0:", "127.0.0.1:")
            path.write_text(text.replace("9464", str(self.admin[name])))

    def send_the_manifest(self) -> None:
        for name in (*NODES, *OWNERS):
            shutil.copy(self.folder / "coordinator/kits-2/sepsis-2027.json", self.folder / name)

    def wait_for_the_stop(self) -> None:
        self.wait(lambda: 'ppaurora_studies{state="stopped"} 1.0' in self.get("proxy-0", "/metrics"))

    def send_the_certificate(self) -> None:
        shutil.copy(self.folder / "coordinator/kits-2/hospital-a/certificate.pem", self.folder / "hospital-a")


@pytest.fixture(scope="module")
def walk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Walk]:
    walk = Walk(tmp_path_factory.mktemp("guide"))
    try:
        for step in steps():
            walk.take(step)
        yield walk
    finally:
        for process in walk.nodes.values():
            if process.poll() is None:
                process.terminate()
        for process in walk.nodes.values():
            process.wait(timeout=SECONDS)


def test_every_command_was_run(walk: Walk) -> None:
    run = {step for step, _ in walk.done}
    kinds = [step.kind for step in steps()]
    assert run == {step for step in steps() if step.kind in ("sh", "python", "by hand")}
    assert kinds.count("sh") == GUIDE.count("```sh") > 15
    assert kinds.count("python") == GUIDE.count("```python") == 1
    assert sum(map(kinds.count, ("sh", "python", "console", "ini", "json"))) == GUIDE.count("```") / 2
    assert {step.text for step in run if step.kind == "by hand"} == set(walk.by_hand)
    assert {party for _, party in walk.done if party} == set(EVERYBODY)


def test_what_is_not_run_is_little_and_none_of_ours() -> None:
    left = [step for step in steps() if step.kind not in ("sh", "python", "by hand")]
    assert {step.kind for step in left} == {"console", "ini", "json"}
    lines = "".join(step.text for step in left if step.kind == "console").splitlines()
    assert len(lines) < 10
    assert not [line for line in lines if re.search(r"\bppaurora [a-z]+ ", line)]
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    assert set(re.findall(r"\.\[(\w+)\]", "".join(lines))) <= set(extras)


def test_the_walk_ends_with_the_pooled_result_and_receipts(walk: Walk) -> None:
    pooled = [
        (float(score), bool(label))
        for labels, scores in walk.data.values()
        for label, score in zip(labels, scores, strict=True)
    ]
    auroc, aupr = exact_auroc(pooled), exact_aupr(pooled)
    assert auroc is not None
    assert aupr is not None
    for owner in OWNERS:
        filed = json.loads((walk.folder / owner / "kit/results/sepsis-2026.json").read_text())
        assert filed["metrics"] == {"auroc": float(auroc), "aupr": pytest.approx(float(aupr), abs=TOLERANCE)}
        assert filed["receipt"]["samples"] == {name: len(walk.data[name][0]) for name in OWNERS}


def test_the_keys_are_where_the_guide_says_and_nowhere_else(walk: Walk) -> None:
    keys = {str(path.relative_to(walk.folder)) for path in walk.folder.rglob("*key.pem")}
    at_home = {f"{name}/kit/key.pem" for name in (*NODES, *OWNERS)}
    authority = {f"coordinator/{kits}/authority/key.pem" for kits in ("kits", "kits-2")}
    assert keys == at_home | authority | {"proxy-0/kit.old/key.pem"}
    assert all((walk.folder / key).stat().st_mode & 0o077 == 0 for key in keys)


def test_the_guides_metrics_are_those_of_a_node(walk: Walk) -> None:
    there = {
        name
        for name in re.findall(r"^# TYPE (\w+)", walk.get("proxy-0", "/metrics"), re.MULTILINE)
        if not name.endswith("_created")
    }
    assert set(re.findall(r"`(ppaurora_\w+)", GUIDE)) == there


def test_the_guides_log_line_is_one_that_a_node_writes(walk: Walk) -> None:
    (example,) = (json.loads(step.text) for step in steps() if step.kind == "json")
    written = [json.loads(line) for line in (walk.folder / "proxy-0/serve.log").read_text().splitlines()]
    alike = [line for line in written if line["event"] == example["event"]]
    assert [list(line) for line in alike] == [list(example)]
    varying = ("time", "hash")
    assert {k: v for k, v in alike[0].items() if k not in varying} == {
        k: v for k, v in example.items() if k not in varying
    }


def rows(heading: str) -> list[list[str]]:
    """Of the first table below a heading."""
    below = GUIDE.split(f"## {heading}\n", 1)[1]
    table = re.search(r"^\|.*?\n\n", below + "\n\n", re.DOTALL | re.MULTILINE)
    assert table
    lines = table.group().strip().splitlines()[2:]
    return [[cell.strip().strip("`") for cell in line.strip("|").split(" | ")] for line in lines]


def refusals_in_the_code() -> set[tuple[str, str]]:
    """Codes with their statuses; a status that is not written out is an HTTP error of the framework's."""
    found = set()
    for node in ast.walk(ast.parse((ROOT / "src/ppaurora/node/service.py").read_text())):
        if isinstance(node, ast.Call) and ast.unparse(node.func) in ("refuse", "RequestRefusedError"):
            status, code = node.args[:2]
            if isinstance(code, ast.Constant):
                found.add((str(code.value), str(status.value) if isinstance(status, ast.Constant) else "4xx"))
    return found


def test_every_refusal_is_explained_and_no_other() -> None:
    listed = rows("Refusals")
    assert {(code, status) for code, status, *_ in listed} == refusals_in_the_code()
    assert all(len(row) == 4 and all(row) for row in listed)


def test_every_state_of_a_study_is_explained() -> None:
    assert [state for state, *_ in rows("The states of a study")] == list(StudyState)


def test_every_exit_code_is_explained() -> None:
    kinds = [kind for kind in vars(errors).values() if isinstance(kind, type)]
    raised = {kind.exit_code for kind in kinds if issubclass(kind, errors.PpauroraError)}
    # 1 is the base class's, which nobody raises as such.
    codes = {0, EXIT_INTERRUPTED, *raised} - {errors.PpauroraError.exit_code}
    assert {int(code) for code, *_ in rows("Exit codes")} == codes


def test_every_port_of_a_node_is_in_the_table() -> None:
    settings = [name for name in NodeSettings.model_fields if name.startswith("listen_")]
    assert sorted(name for name, *_ in rows("Settings")) == sorted(settings)
    assert all(f"`{name}`" in GUIDE for name in settings)


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_commands_that_documents_name_exist(document: Path) -> None:
    text = document.read_text()
    code = [block for kind, block in FENCE.findall(text) if kind == "sh"]
    code += re.findall(r"`([^`\n]+)`", FENCE.sub("", text))
    named = {name for piece in code for name in re.findall(r"(?<![\w.-])ppaurora ([a-z]+)\b", piece)}
    assert named <= set(COMMANDS)
    assert named or document.name in ("leakage.md", "protocol.md", "ARCHITECTURE.md")
