"""The guide's way to install, walked without a network: what a lock installs suffices."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.deployment import cleaned_environment
from tests.support.guide import GUIDE, steps
from tests.support.repository import ROOT
from tools.supply.locks import installed_by

BUILT_FROM = ("pyproject.toml", "README.md", "LICENSE", "src")
RELEASE = (*BUILT_FROM, "tools", "install.sh")
INSTALL = (ROOT / "install.sh").read_text()
OFFLINE = {
    "PIP_NO_INDEX": "1",
    "PIP_CONFIG_FILE": "/dev/null",
    "PIP_DISABLE_PIP_VERSION_CHECK": "1",
    "PYTHON": sys.executable,
}


def line_for(lock: str) -> list[str]:
    """The guide's command, for this lock."""
    commands = set(re.findall(r"sh install\.sh [a-z]+", "".join(step.text for step in steps())))
    (command,) = (line for line in commands if lock == f"requirements-{shlex.split(line)[2]}.lock")
    return shlex.split(command)


def run(folder: Path, *command: str) -> subprocess.CompletedProcess[str]:
    environment = {k: v for k, v in cleaned_environment().items() if not k.startswith(("PIP_", "PYTHON"))}
    return subprocess.run(
        command,
        cwd=folder,
        env=environment | OFFLINE,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def offer(lock: Path, venv: Path, folder: Path) -> None:
    """Just what the lock installs is there to be found, as if fetched: links to what runs here."""
    folder.mkdir()
    for _, package in installed_by(lock):
        tops = {file.parts[0] for file in package.files or ()} - {"..", "__pycache__"}
        for top in tops:
            (folder / top).symlink_to(Path(str(package.locate_file(top))))
    (site,) = venv.glob("lib/python*/site-packages")
    (site / "offered.pth").write_text(f"{folder}\n")


@pytest.fixture(
    scope="module", params=["requirements-node.lock", "requirements-owner.lock", "requirements-app.lock"]
)
def lock(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def release(lock: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of what a release has, with the guide's environment in it."""
    folder = tmp_path_factory.mktemp("release")
    for name in (*RELEASE, lock):
        source = ROOT / name
        (shutil.copytree if source.is_dir() else shutil.copy)(source, folder / name)
    done = run(folder, sys.executable, "-m", "venv", "--without-pip", "venv")  # install.sh adds it
    assert done.returncode == 0, done.stderr
    offer(ROOT / lock, folder / "venv", folder / "offered")
    done = run(folder, *line_for(lock))
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.splitlines()[-1].startswith("ppaurora 0.")
    return folder


@pytest.mark.long
def test_the_guides_commands_install_what_is_needed(release: Path, lock: str) -> None:
    assert run(release, "venv/bin/ppaurora", "--version").stdout.startswith("ppaurora 0.")
    assert run(release, "venv/bin/pip", "check").returncode == 0
    serve = run(release, "venv/bin/ppaurora", "serve", "no-kit").stderr
    is_node = "owner" not in lock
    assert ("there is no such folder" in serve, "needs more packages" in serve) == (is_node, not is_node)
    app = run(release, "venv/bin/ppaurora", "app", "no-kit", "--no-browser").stderr
    has_app = "app" in lock
    assert ("a kit is needed" in app, "needs more packages" in app) == (has_app, not has_app)


@pytest.mark.long
def test_a_node_lists_what_was_tested(release: Path, lock: str) -> None:
    """Alone, and in the environment of developers, which other locks have made."""
    there = run(release, "venv/bin/python", "-m", "tools.supply", "sbom", lock)
    beside = ["--beside", "requirements.lock", "--beside", "requirements-ray.lock"]
    here = subprocess.run(
        [sys.executable, "-m", "tools.supply", "sbom", lock, *beside],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    assert there.stdout == here.stdout != ""


@pytest.mark.long
def test_a_lock_that_does_not_fit_is_not_installed(release: Path, lock: str) -> None:
    """The positive control: another version than the one that is offered would have to be fetched."""
    text = (ROOT / lock).read_text()
    (release / lock).write_text(re.sub(r"^click==\S+", "click==8.1.0", text, flags=re.MULTILINE))
    try:
        done = run(release, *line_for(lock))
    finally:
        (release / lock).write_text(text)
    assert done.returncode != 0
    assert "click==8.1.0" in done.stderr


def test_the_guide_installs_only_what_is_locked() -> None:
    assert "pip install" not in GUIDE
    assert re.findall(r"pip install (.*)", INSTALL) == [
        '--require-hashes -r "requirements-$1.lock"',
        "--no-deps --no-build-isolation .",
    ]


@pytest.mark.parametrize("arguments", [(), ("nodes",), ("requirements-node.lock",), ("",)])
def test_what_is_to_be_installed_has_to_be_said(arguments: tuple[str, ...], tmp_path: Path) -> None:
    shutil.copy(ROOT / "install.sh", tmp_path)
    done = run(tmp_path, "sh", "install.sh", *arguments)
    assert done.returncode == 2
    usages = ", or: ".join(f"sh install.sh {what}" for what in ("node", "owner", "app", "ray"))
    assert done.stderr == f"usage: {usages}\n"
    assert [path.name for path in tmp_path.iterdir()] == ["install.sh"]


def test_a_container_installs_what_a_node_does() -> None:
    """The image itself is not built here."""
    recipe = (ROOT / "Containerfile").read_text().replace("\\\n", " ")
    installed = [" ".join(line.split()) for line in re.findall(r"pip install --no-cache-dir (.*)", recipe)]
    assert installed == ["--require-hashes -r requirements-node.lock", "--no-deps --no-build-isolation ."]
    lines = re.findall(r"^COPY (?!--from)(.*) \S+$", recipe, re.MULTILINE)
    copied = sorted(name for line in lines for name in line.split())
    assert copied == sorted([*BUILT_FROM, "requirements-node.lock"])
    let_in = re.findall(r"^!(\S+)$", (ROOT / ".containerignore").read_text(), re.MULTILINE)
    assert sorted(let_in) == copied
    *_, image = recipe.split("FROM ")
    assert "USER 10001:10001\n" in image
    assert image.index("useradd --uid 10001") < image.index("USER ") < image.index("ENTRYPOINT")


def test_every_command_on_locks_that_the_guide_names_is_there() -> None:
    named = set(re.findall(r"python -m tools\.supply ([a-z]+) (requirements-[a-z]+\.lock)", GUIDE))
    assert {command for command, _ in named} == {"sbom", "licences", "audit"}
    assert all((ROOT / lock).exists() for _, lock in named)
