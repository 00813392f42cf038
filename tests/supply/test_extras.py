"""The wheel with each of its extras, in a fresh environment: what the extra is for works, and only that."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
import urllib.parse
import urllib.request
import venv
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ppaurora.testing.ray_clusters import HAS_RAY, make_credentials
from tests.support.deployment import NODES, cleaned_environment, command, free_ports, samples, write_csv
from tests.support.oracles import defined, exact_auroc
from tests.support.packages import copy_checkout, make_dist
from tests.support.repository import ROOT
from tests.support.workbooks import written
from tests.support.worker_nodes import WorkerNodes, settings
from tests.workers.conftest import needs_ray
from tools.supply.locks import read_lock

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
NEEDS_MORE = "needs more packages"
FILES = ("north", "harbour", "valley")
Data = dict[str, tuple[np.ndarray, np.ndarray]]


@dataclass(frozen=True)
class Installed:
    """An environment with the wheel in it, and a folder to work in."""

    programs: Path
    folder: Path

    def run(self, program: str, *arguments: object) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [self.programs / program, *map(str, arguments)],
            cwd=self.folder,
            env=plain_environment(),
            capture_output=True,
            text=True,
            timeout=600,
            check=False,
        )

    def __call__(self, *arguments: object) -> str:
        """What `ppaurora ...` prints, if it ends well."""
        done = self.run("ppaurora", *arguments)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def python(self, code: str) -> str:
        done = self.run("python", "-c", code)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def refusal(self, *arguments: object) -> str:
        done = self.run("ppaurora", *arguments)
        assert done.returncode == 2, done.stdout + done.stderr
        return done.stderr


Check = Callable[[Installed, Data], None]


def plain_environment() -> dict[str, str]:
    """Nothing of the checkout, of the tests' own environment or of a web proxy."""
    foreign = ("PYTHON", "VIRTUAL_ENV", "PIP_", "COVERAGE")
    return {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(foreign) and not name.lower().endswith("_proxy")
    }


def pip(*arguments: object, env: dict[str, str] | None = None) -> None:
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet", *map(str, arguments)]
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=900, check=False)
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel and all that any extra needs of others, in the versions of the lock, fetched once."""
    folder = tmp_path_factory.mktemp("wheels")
    wheel = make_dist(copy_checkout(folder / "checkout")).wheel
    locks = ["requirements.lock", "requirements-ray.lock"]
    pins = {str(pin.requirement) for lock in locks for pin in read_lock(ROOT / lock)}
    (folder / "versions.txt").write_text("".join(f"{pin}\n" for pin in pins))
    tried = [name for name in EXTRAS if name and (name != "ray" or HAS_RAY)]
    query = f"ppaurora[{','.join(tried)}] @ {wheel.as_uri()}"
    pip("download", "--only-binary=:all:", "--dest", folder, "--constraint", folder / "versions.txt", query)
    return folder


@pytest.fixture
def hospitals() -> Data:
    return {name: samples(60 + 20 * number, number) for number, name in enumerate(FILES)}


def pooled(hospitals: Data) -> float:
    rows = [
        (float(s), int(y))
        for labels, scores in hospitals.values()
        for y, s in zip(labels, scores, strict=True)
    ]
    return float(defined(exact_auroc(rows)))


def auroc_of(printed: str) -> float:
    return float(json.loads(printed)["metrics"]["auroc"]["value"])


def check_core(ppaurora: Installed, hospitals: Data) -> None:
    for name, (labels, scores) in hospitals.items():
        write_csv(ppaurora.folder / f"{name}.csv", labels, scores)
    files = [f"{name}.csv" for name in hospitals]
    assert auroc_of(ppaurora("evaluate", *files, "--format", "json")) == pooled(hospitals)
    assert NEEDS_MORE in ppaurora.refusal("serve", "kit")
    (ppaurora.folder / "north.parquet").write_bytes(b"PAR1")
    assert "ppaurora[arrow]" in ppaurora.refusal("check", "north.parquet")
    written(ppaurora.folder / "north.xlsx", ("score", "label"))
    assert "ppaurora[excel]" in ppaurora.refusal("check", "north.xlsx")


def check_arrow(ppaurora: Installed, hospitals: Data) -> None:
    import pyarrow
    import pyarrow.parquet

    for name, (labels, scores) in hospitals.items():
        table = pyarrow.table({"score": scores, "label": labels})
        pyarrow.parquet.write_table(table, ppaurora.folder / f"{name}.parquet")
    files = [f"{name}.parquet" for name in hospitals]
    assert auroc_of(ppaurora("evaluate", *files, "--format", "json")) == pooled(hospitals)


def check_excel(ppaurora: Installed, hospitals: Data) -> None:
    for name, (labels, scores) in hospitals.items():
        rows = zip(scores.tolist(), labels.tolist(), strict=True)
        written(ppaurora.folder / f"{name}.xlsx", ("score", "label"), *rows)
    files = [f"{name}.xlsx" for name in hospitals]
    assert auroc_of(ppaurora("evaluate", *files, "--format", "json")) == pooled(hospitals)


def check_demo(ppaurora: Installed, hospitals: Data) -> None:
    shutil.copytree(ROOT / "examples", ppaurora.folder / "examples", ignore=shutil.ignore_patterns("__*"))
    done = ppaurora.run("python", "examples/demo.py")
    assert done.returncode == 0, done.stderr
    assert "Values opened to the servers: 0." in done.stdout


def check_node(ppaurora: Installed, hospitals: Data) -> None:
    """A consortium of three nodes, through to the result."""
    try:
        said = ppaurora("poc", "start", "--submit")
        assert re.search(r"auroc\W+0\.\d{10}", said)
        assert "study poc: released" in ppaurora("poc", "status")
    finally:
        ppaurora.run("ppaurora", "poc", "clean", "--yes")
    assert not (ppaurora.folder / "ppaurora-poc").exists()
    assert "pip install 'ppaurora[ray]'" in checked_on_ray(ppaurora)["Ray is installed"]["detail"]


def check_ray(ppaurora: Installed, hospitals: Data) -> None:
    """All that a worker loads is there; a cluster, which is not, is asked for where there should be one."""
    actor = "import ray; from ppaurora.workers.ray_actor import RayWorker; print(ray.remote(RayWorker))"
    assert "RayWorker" in ppaurora.python(actor)
    found = checked_on_ray(ppaurora)
    assert found["Ray is installed"]["ok"]
    assert found["Ray's credentials"]["ok"]
    assert re.search(r"cluster at 127\.0\.0\.1:\d+ cannot be reached", found["Ray reached by TLS"]["detail"])


def checked_on_ray(ppaurora: Installed) -> dict[str, dict[str, Any]]:
    """What `preflight` finds at a node whose workers are to be on a cluster that is not there."""
    (port,) = free_ports(1)
    workers = settings(engine="ray", count=2, address=f"127.0.0.1:{port}")
    nodes = WorkerNodes(ppaurora.folder, dict.fromkeys(NODES, workers))
    make_credentials(nodes.kit("helper") / "ray")
    done = ppaurora.run("ppaurora", "preflight", nodes.kit("helper"), "--format", "json")
    assert done.returncode == 2, done.stderr
    return {check["name"]: check for check in json.loads(done.stdout)}


def check_report(ppaurora: Installed, hospitals: Data) -> None:
    """Of a result from elsewhere: a report needs no node."""
    try:
        subprocess.run(
            [sys.executable, "-m", "ppaurora", "poc", "start", "--submit"],
            cwd=ppaurora.folder,
            env=cleaned_environment(),
            check=True,
            capture_output=True,
            timeout=600,
        )
        shutil.copy(ppaurora.folder / "ppaurora-poc/kits/valley/results/poc.json", ppaurora.folder)
    finally:
        command("poc", "clean", "--yes", cwd=ppaurora.folder)
    ppaurora("report", "poc.json", "--out", "report.html")
    page = (ppaurora.folder / "report.html").read_text()
    assert page.startswith("<!doctype html>")
    assert "<svg" in page


def check_plot(ppaurora: Installed, hospitals: Data) -> None:
    """A display, without a screen."""
    for name, (labels, scores) in hospitals.items():
        write_csv(ppaurora.folder / f"{name}.csv", labels, 1 / (1 + np.exp(-scores)))
    code = f"""
import ppaurora
from ppaurora.plot import CalibrationDisplay
report = ppaurora.evaluate([f"{{name}}.csv" for name in {FILES}], metrics=["reliability"])
CalibrationDisplay.from_report(report).figure_.savefig("reliability.png")
"""
    ppaurora.python(code)
    assert (ppaurora.folder / "reliability.png").read_bytes().startswith(b"\x89PNG")


def check_app(ppaurora: Installed, hospitals: Data) -> None:
    """Its first page, and every file of ours that the page asks for."""
    browser = urllib.request.build_opener(
        urllib.request.ProxyHandler({}), urllib.request.HTTPCookieProcessor()
    )
    with subprocess.Popen(
        [ppaurora.programs / "ppaurora", "app", "--no-browser"],
        cwd=ppaurora.folder,
        env=plain_environment(),
        stdin=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    ) as app:
        try:
            assert app.stderr is not None
            link = re.search(r"http://127\.0\.0\.1:\d+/\S+", app.stderr.readline())
            assert link is not None
            with browser.open(link[0], timeout=120) as answer:
                page = answer.read().decode()
            query = set(re.findall(r'(?:src|href)="(/static/[^"]+)"', page))
            assert query
            for name in query:
                with browser.open(urllib.parse.urljoin(link[0], name), timeout=120) as answer:
                    assert answer.read()
        finally:
            app.terminate()
            app.wait(timeout=180)
    assert app.returncode == 0


# What each extra of pyproject.toml is for, besides `dev`, which is what tests run with.
EXTRAS: dict[str, Check] = {
    "": check_core,
    "arrow": check_arrow,
    "excel": check_excel,
    "demo": check_demo,
    "node": check_node,
    "ray": check_ray,
    "plot": check_plot,
    "report": check_report,
    "app": check_app,
}


def test_every_extra_is_tried() -> None:
    assert set(EXTRAS) - {""} == set(PROJECT["optional-dependencies"]) - {"dev"}


@pytest.fixture
def installed(wheels: Path, extra: str, tmp_path: Path) -> Iterator[Installed]:
    """A fresh environment without anything but the wheel with this extra, and what it asks for."""
    venv.create(tmp_path / "venv", symlinks=True)
    query = f"ppaurora[{extra}]" if extra else "ppaurora"
    offline = {**plain_environment(), "PIP_CONFIG_FILE": os.devnull}
    where = ("--no-index", "--find-links", wheels, "--no-compile")
    pip("--python", tmp_path / "venv/bin/python", "install", *where, query, env=offline)
    (tmp_path / "work").mkdir()
    yield Installed(tmp_path / "venv/bin", tmp_path / "work")
    shutil.rmtree(tmp_path / "venv")


@pytest.mark.long
@pytest.mark.parametrize(
    "extra", [pytest.param(name, marks=needs_ray if name == "ray" else ()) for name in EXTRAS]
)
def test_the_wheel_does_what_its_extra_is_for(installed: Installed, extra: str, hospitals: Data) -> None:
    code = "import ppaurora; print(ppaurora.__file__)"
    imported = Path(installed.python(code).strip())
    assert imported.is_relative_to(installed.programs.parent)
    EXTRAS[extra](installed, hospitals)
