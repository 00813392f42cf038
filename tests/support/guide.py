"""docs/deploying.md, taken apart into steps, and parties that take them."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import time
import urllib.request
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

from tests.support.deployment import cleaned_environment, free_ports, samples, write_csv
from tests.support.repository import ROOT

GUIDE = (ROOT / "docs/deploying.md").read_text()
NODES = ("proxy-0", "proxy-1", "helper")
OWNERS = ("hospital-a", "hospital-b", "hospital-c")
EVERYBODY = ("coordinator", *NODES, *OWNERS)
WHO = {
    "Coordinator": ("coordinator",),
    "Every node": NODES,
    "Every owner": OWNERS,
    "Everybody": ("coordinator",),  # there is one installation here
    "Everybody else": (*NODES, "hospital-a", "hospital-b"),
    **{name: (name,) for name in (*NODES, *OWNERS)},
}
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
BY_HAND = re.compile(r"^<!-- by hand: (.*) -->$", re.MULTILINE)
SECONDS = 300


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


def steps(guide: str = GUIDE) -> list[Step]:
    found = {}
    for block in FENCE.finditer(guide):
        kind, text = block.groups()
        runs = kind in ("sh", "python")
        who = parties(guide[: block.start()].rstrip().rsplit("\n\n", 1)[-1]) if runs else ()
        found[block.start()] = Step(kind, text, who)
    for mark in BY_HAND.finditer(guide):
        found[mark.start()] = Step("by hand", mark.group(1))
    return [found[at] for at in sorted(found)]


def commands_to_a_result(guide: str = GUIDE) -> dict[str, int]:
    """How many commands each party types, from an empty machine until the first result is there.

    With the installation, and with what makes a node a service; a loop counts as often as it goes round. What
    is for those who made a mistake is not on the way.
    """
    typed = Counter[str]()
    for step in steps(guide):
        if step.kind == "console" and "install" in step.text.splitlines()[-1]:
            lock = re.compile(r"install\.sh|requirements")  # of two lines, everybody takes one
            lines = step.text.splitlines()
            both = sum(bool(lock.search(line)) for line in lines)
            typed.update(dict.fromkeys(EVERYBODY, len(lines) - both // 2))
        elif step.kind == "console" and "systemctl enable" in step.text:
            typed.update(dict.fromkeys(NODES, len(step.text.splitlines())))
        elif step.kind == "python":
            typed.update(step.who)
        elif step.kind == "sh" and "ppaurora withdraw" not in step.text:
            who = EVERYBODY if "--version" in step.text else step.who
            typed.update({name: _commands(step.text) for name in who})
        if step.text == "ppaurora result kit\n":
            return dict(typed)
    raise AssertionError("the guide fetches no result")


def _commands(text: str) -> int:
    text = text.replace("\\\n", " ")
    loops = re.findall(r"^for \w+ in ([^;]+); do\s(.*?)\s?done$", text, re.DOTALL | re.MULTILINE)
    in_loops = sum(len(names.split()) * len(body.strip().splitlines()) for names, body in loops)
    rest = re.sub(r"^for .*?done$", "", text, flags=re.DOTALL | re.MULTILINE)
    return in_loops + len([line for line in rest.splitlines() if line.strip()])


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
        # Above 400 of each class without any one owner: two decimals.
        self.data = {owner: samples(500 + 100 * number, number) for number, owner in enumerate(OWNERS)}
        for name in EVERYBODY:
            (folder / name).mkdir()
        for number, owner in enumerate(OWNERS):
            write_csv(folder / owner / "scores.csv", *self.data[owner])
            # Together below the sample plan's minimum, so that the second study waits.
            labels, scores = samples(30, 10 + number)
            # Scores that the first study did not have: the same ones would be warned of.
            write_csv(folder / owner / "scores-2027.csv", labels, scores + 0.005)
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
        with urllib.request.urlopen(f"http://127.0.0.1:{self.admin[name]}{path}", timeout=60) as answer:
            return str(answer.read().decode())

    def wait(self, condition: Callable[[], bool]) -> None:
        deadline = time.monotonic() + SECONDS
        while not condition():
            assert time.monotonic() < deadline, self.logs()
            time.sleep(0.1)

    def logs(self) -> str:
        return "\n".join(path.read_text() for path in self.folder.glob("*/serve.log"))

    @property
    def plan(self) -> Path:
        return self.folder / "coordinator/study.toml"

    # What people do by hand

    def edit_the_plan(self) -> None:
        shutil.copy(self.folder / "hospital-c/hospital-c.pem", self.folder / "coordinator")
        text = self.plan.read_text()
        for address, port in self.addresses.items():
            assert address in text
            text = text.replace(address, f"127.0.0.1:{port}")
        assert '# certificate = "hospital-c.pem"' in text
        self.plan.write_text(
            text.replace('# certificate = "hospital-c.pem"', 'certificate = "hospital-c.pem"')
        )

    def hand_over(self) -> None:
        for name in (*NODES, *OWNERS):
            shutil.copy(self.folder / f"coordinator/kits/{name}.kit", self.folder / name / "kit.kit")

    def edit_settings(self) -> None:
        for name in NODES:
            path = self.folder / name / "kit/node.toml"
            text = path.read_text().replace("0.0.0.0:", "127.0.0.1:")
            path.write_text(text.replace("9464", str(self.admin[name])))

    def send_the_manifest(self) -> None:
        for name in (*NODES, *OWNERS):
            shutil.copy(self.folder / "coordinator/kits-2/sepsis-2027.json", self.folder / name)

    def wait_for_the_stop(self) -> None:
        """What stops a study by itself takes hours; operators stop this one."""
        for name in NODES:
            self.execute(Step("sh", "ppaurora stop kit sepsis-2027\n"), name)
        stopped = 'ppaurora_studies{state="stopped"} 1.0'
        self.wait(lambda: all(stopped in self.get(name, "/metrics") for name in NODES))

    def send_the_certificate(self) -> None:
        shutil.copy(self.folder / "coordinator/kits-2/hospital-a/certificate.pem", self.folder / "hospital-a")
