"""The pages by role, taken apart into steps, and parties that take them in the order of a real study."""

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

NODES = ("proxy-0", "proxy-1", "helper")
OWNERS = ("hospital-a", "hospital-b", "hospital-c")
PARTICIPANTS = ("coordinator", *NODES, *OWNERS)
EVERYBODY = (*PARTICIPANTS, "statistician")
# Who follows a page, unless a comment before a block says otherwise: <!-- run by: hospital-a, hospital-c -->
READERS = {
    "coordinators": ("coordinator",),
    "plan": ("coordinator",),
    "operators": NODES,
    "operating": NODES,
    "recovery": NODES,
    "workers": NODES,
    "owners": OWNERS,
    "checks": OWNERS,
    "statisticians": ("statistician",),
    "install": EVERYBODY,
    "reference": EVERYBODY,
}
PAGES = {name: (ROOT / f"docs/{name}.md").read_text() for name in READERS}
GUIDE = "\n".join(PAGES.values())
# In this order, by the parties whose page it is. Every section with something to run is here once.
STUDY = (
    ("coordinators", "2. Install"),
    ("operators", "1. Install"),
    ("owners", "1. Install"),
    ("operators", "2. Make your own certificate"),
    ("coordinators", "3. Write the plan"),
    ("statisticians", "2. Is the study large enough?"),
    ("coordinators", "4. Make the kits"),
    ("operators", "3. Unpack the kit"),
    ("operators", "4. Settings"),
    ("operators", "5. Review and accept"),
    ("operators", "6. Start the node"),
    ("operators", "7. Is everything in place?"),
    ("owners", "2. Unpack your kit"),
    ("owners", "3. Read what you agree to"),
    ("owners", "4. Can both proxies be reached?"),
    ("owners", "5. Export the table, and check it"),
    ("owners", "6. Submit"),
    ("owners", "7. Wait, or correct a mistake"),
    ("owners", "From Python"),
    ("owners", "8. Fetch the result, and file it"),
    ("statisticians", "4. Verify the result, and read it"),
    ("coordinators", "The next study"),
    ("operators", "The next study"),
    ("owners", "The next study"),
    ("operating", "The states of a study"),
    ("operating", "A study that has stopped"),
    ("coordinators", "Amend a study"),
    ("operators", "An amendment"),
    ("owners", "An amendment"),
    ("operating", "A clock that jumped"),
    ("coordinators", "Renew a certificate"),
    ("owners", "A renewed certificate"),
    ("recovery", "Backup and restore"),
    ("operating", "Monitoring"),
    ("operating", "The audit log"),
)
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
BY_HAND = re.compile(r"^<!-- by hand: (.*) -->$", re.MULTILINE)
RUN_BY = re.compile(r"<!-- run by: (.*) -->\n\n\Z")
HEADING = re.compile(r"^#{2,3} (.*)$", re.MULTILINE)
SECONDS = 300


class Step(NamedTuple):
    """A block of a page and who runs it; or, of kind `by hand`, what people do without a command."""

    kind: str
    text: str
    who: tuple[str, ...] = ()


def sections(page: str) -> dict[str, str]:
    """The text below each heading, up to the next; headings of a page differ."""
    marks = list(HEADING.finditer(FENCE.sub(lambda block: re.sub("(?m)^#", "-", block[0]), page)))
    ends = [mark.start() for mark in marks[1:]] + [len(page)]
    found = {mark[1]: page[mark.end() : end] for mark, end in zip(marks, ends, strict=True)}
    assert len(found) == len(marks), "two sections have the same heading"
    return found


def steps_of(section: str, readers: tuple[str, ...]) -> list[Step]:
    found = {}
    for block in FENCE.finditer(section):
        kind, text = block.groups()
        marked = RUN_BY.search(section[: block.start()])
        who = tuple(marked[1].split(", ")) if marked else readers
        found[block.start()] = Step(kind, text, who if kind in ("sh", "python", "console") else ())
    for mark in BY_HAND.finditer(section):
        found[mark.start()] = Step("by hand", mark[1])
    return [found[at] for at in sorted(found)]


def steps() -> list[Step]:
    """All that is typed or done by hand in a study and after it, in order."""
    return [
        step for page, heading in STUDY for step in steps_of(sections(PAGES[page])[heading], READERS[page])
    ]


def sections_to_run() -> set[tuple[str, str]]:
    """Where anything is that is to be run, or done by hand."""
    return {
        (page, heading)
        for page, text in PAGES.items()
        for heading, section in sections(text).items()
        if any(step.kind in ("sh", "python", "by hand") for step in steps_of(section, ()))
    }


def commands_to_a_result() -> dict[str, int]:
    """How many commands each participant types, from an empty machine until the first result is there.

    With the installation, and with what makes a node a service, but not also a container. What is for those
    who made a mistake is not on the way.
    """
    typed = Counter[str]()
    for step in steps():
        lines = step.text.replace("\\\n", " ").splitlines()
        way_there = not any(word in step.text for word in ("ppaurora withdraw", "podman", "powershell"))
        if step.kind in ("sh", "console") and way_there:
            typed.update(dict.fromkeys(step.who, len(lines)))
        elif step.kind == "python":
            typed.update(step.who)
        if step.text == "ppaurora result hospital-a\n":
            return {name: typed[name] for name in PARTICIPANTS}
    raise AssertionError("the pages fetch no result")


def in_the_words_of(name: str, text: str) -> str:
    """An owner's page is written for hospital-a, that of nodes for proxy 0: others put their own name."""
    if name in OWNERS:
        return re.sub(r"\bhospital-a\b", name, text)
    if name in NODES:
        return re.sub(r"\bproxy-0\b", name, text)
    return text


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
            "send the certificate": self.send_the_nodes_certificate,
            "edit study.toml": self.edit_the_plan,
            "send the plan": self.send_the_plan,
            "send the result": self.send_the_result,
            "hand over the kits": self.hand_over,
            "edit node.toml": self.edit_settings,
            "send sepsis-2027.json": self.send_the_manifest,
            "wait until sepsis-2027 has stopped": self.wait_for_the_stop,
            "send sepsis-2027.amendments.json": self.send_the_amendment,
            "send the renewed certificate": self.send_the_renewed_certificate,
            "stop proxy-0": lambda: self.stop("proxy-0"),
            "start proxy-0": lambda: self.start("proxy-0"),
        }

    def take(self, step: Step) -> None:
        if step.kind == "by hand":
            self.by_hand[step.text]()
            self.done.append((step, ""))
        elif step.kind in ("sh", "python"):
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
        text = in_the_words_of(name, step.text).replace("9464", str(self.admin.get(name, 9464)))
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

    def send_the_nodes_certificate(self) -> None:
        shutil.copy(self.folder / "proxy-1/proxy-1.pem", self.folder / "coordinator")

    def edit_the_plan(self) -> None:
        text = self.plan.read_text()
        for address, port in self.addresses.items():
            assert address in text
            text = text.replace(address, f"127.0.0.1:{port}")
        section = "[nodes.proxy-1]\n"
        assert section in text
        self.plan.write_text(text.replace(section, f'{section}certificate = "proxy-1.pem"\n'))

    def send_the_plan(self) -> None:
        shutil.copy(self.plan, self.folder / "statistician")

    def send_the_result(self) -> None:
        results = self.folder / "hospital-a/hospital-a/results"
        shutil.copy(results / "sepsis-2026.json", self.folder / "statistician")

    def hand_over(self) -> None:
        for name in (*NODES, *OWNERS):
            shutil.copy(self.folder / f"coordinator/kits/{name}.kit", self.folder / name)

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

    def send_the_amendment(self) -> None:
        for name in NODES:
            shutil.copy(self.folder / "coordinator/kits-2/sepsis-2027.amendments.json", self.folder / name)

    def send_the_renewed_certificate(self) -> None:
        shutil.copy(self.folder / "coordinator/kits-2/hospital-a/certificate.pem", self.folder / "hospital-a")
