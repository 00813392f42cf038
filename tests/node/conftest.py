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
from ppaurora.testing.consortium import Consortium
from tests.support.deployment import NODES
from tests.support.rolled_back import submitted
from tests.support.trials import PAIR, RunCommand, StartKit, StartNode, Trials, kept_share


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
def start() -> Iterator[StartKit]:
    """Starts the node of a kit in this process. Those that came last, which may ask the others, end first."""
    started: list[Node] = []

    def start_node(consortium: Consortium, name: str) -> Node:
        started.append(Node(NodeKit.read(consortium.kit(name)), Metrics()))
        return started[-1]

    yield start_node
    for node in reversed(started):
        node.close()


@pytest.fixture
def alone(tmp_path: Path, start: StartKit) -> StartNode:
    """A node of this process, with a consortium that does not run; `prepare` writes to its store first."""
    (tmp_path / "alone").mkdir()
    trials = Trials(tmp_path / "alone", PAIR)

    def start_alone(name: str, prepare: Callable[[Store, Manifest], object]) -> Node:
        with trials.store(name) as store:
            store.accept(trials.manifest)
            prepare(store, trials.manifest)
        return start(trials, name)

    return start_alone


@pytest.fixture
def manifest(consortium: Trials) -> Manifest:
    """Of the first study."""
    return consortium.manifest


@pytest.fixture
def store(manifest: Manifest, tmp_path: Path) -> Iterator[Store]:
    """With the first study accepted."""
    with Store(tmp_path / "data") as store:
        store.accept(manifest)
        yield store


@pytest.fixture
def killed(store: Store, manifest: Manifest, tmp_path: Path) -> Callable[[], Path]:
    """Copies of the data folder of a killed node: what it did last is in the write-ahead log only."""
    store._db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    submitted(store, manifest)
    kept_share(store, manifest)
    numbers = iter(range(1_000_000))

    def copy() -> Path:
        folder = tmp_path / f"killed-{next(numbers)}"
        shutil.copytree(store.shares.parent, folder)
        return folder

    return copy
