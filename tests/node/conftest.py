"""Three nodes as processes, which must still serve after every test; and single nodes in this process."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from ppaurora.cli.main import main
from ppaurora.node.metrics import Metrics
from ppaurora.node.node import Node
from ppaurora.node.store import Store
from ppaurora.study.kit import NodeKit
from ppaurora.study.manifest import Manifest
from tests.support.deployment import NODES
from tests.support.trials import PAIR, RunCommand, StartNode, Trials


@pytest.fixture(scope="package")
def consortium(tmp_path_factory: pytest.TempPathFactory) -> Trials:
    """Its kits are handed out and its study is accepted; its nodes do not run yet."""
    trials = Trials(tmp_path_factory.mktemp("consortium"))
    for node in NODES:
        with trials.store(node) as store:
            store.accept(trials.manifest)
    return trials


@pytest.fixture(scope="package")
def running(consortium: Trials) -> Iterator[Trials]:
    """The consortium with its nodes, for all tests of this room. In the end nobody may have told a secret."""
    consortium.start()
    yield consortium
    codes = consortium.stop()
    assert set(codes.values()) == {0}, codes
    consortium.check_secrecy()


@pytest.fixture
def nodes(running: Trials) -> Iterator[Trials]:
    """The running nodes, which must not have suffered from the test."""
    yield running
    running.check_serving()


@pytest.fixture
def run(consortium: Trials, capsys: pytest.CaptureFixture[str]) -> RunCommand:
    """Runs a `ppaurora` command in this process: exit code, and all that it has said."""

    def run(*arguments: object) -> tuple[int, str]:
        with pytest.raises(SystemExit) as ended:
            main([str(argument) for argument in arguments])
        said = "".join(capsys.readouterr())
        consortium.spoken.append(said)
        assert isinstance(ended.value.code, int)
        return ended.value.code, said

    return run


@pytest.fixture
def kit(running: Trials, tmp_path: Path) -> Path:
    """An owner's kit to spoil."""
    folder = tmp_path / "north"
    shutil.copytree(running.kit("north"), folder)
    for path in (folder / "studies").glob("*.json"):
        if path.name != "trial.json":
            path.unlink()
    return folder


@pytest.fixture
def node_kit(running: Trials, tmp_path: Path) -> Path:
    folder = tmp_path / "proxy-0"
    shutil.copytree(running.kit("proxy-0"), folder, ignore=shutil.ignore_patterns("data"))
    return folder


@pytest.fixture
def alone(tmp_path: Path) -> Iterator[StartNode]:
    """A node of this process, with a consortium that does not run; `prepare` writes to its store first."""
    started: list[Node] = []

    def start(name: str, prepare: Callable[[Store, Manifest], object]) -> Node:
        with trials.store(name) as store:
            store.accept(trials.manifest)
            prepare(store, trials.manifest)
        started.append(Node(NodeKit.read(trials.kit(name)), Metrics()))
        return started[-1]

    (tmp_path / "alone").mkdir()
    trials = Trials(tmp_path / "alone", PAIR)
    yield start
    for node in started:
        node.close()


@pytest.fixture
def store(consortium: Trials, tmp_path: Path) -> Iterator[Store]:
    """With the first study accepted."""
    kept = Store(tmp_path / "data")
    kept.accept(consortium.manifest)
    yield kept
    kept.close()
