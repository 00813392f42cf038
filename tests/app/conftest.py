"""Three nodes as processes for all tests of this room, and the app of one owner."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from ppaurora.app.private_folder import PrivateFolder
from ppaurora.app.sessions import Sessions
from tests.support.deployment import NODES
from tests.support.local_app import Browser, entered, served
from tests.support.trials import Trials


@pytest.fixture(scope="package")
def nodes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Trials]:
    trials = Trials(tmp_path_factory.mktemp("consortium"))
    for node in NODES:
        with trials.store(node) as store:
            store.accept(trials.manifest)
    trials.start()
    yield trials
    trials.stop()
    trials.check_secrecy()


@pytest.fixture
def app(nodes: Trials) -> Iterator[tuple[Sessions, PrivateFolder]]:
    """Of the owner north."""
    with served(nodes.kit("north")) as running:
        yield running


@pytest.fixture
def browser(app: tuple[Sessions, PrivateFolder]) -> Browser:
    return entered(app[0])
