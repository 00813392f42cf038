"""All nodes are restored from before a release, and an owner who knows it sends something else."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from ppaurora.errors import NotReleasedError, RefusedError
from ppaurora.messages.owners import StudyState
from ppaurora.owner.study import Study
from tests.support.deployment import NODES, Deployment, samples
from tests.support.sending import send


@pytest.fixture
def deployment(tmp_path: Path) -> Iterator[Deployment]:
    deployment = Deployment(tmp_path, ("north", "harbour"))
    deployment.accept()
    deployment.start()
    yield deployment
    deployment.stop()


@contextlib.contextmanager
def stopped(deployment: Deployment) -> Iterator[None]:
    deployment.stop()
    yield
    deployment.start()


@pytest.mark.long
@pytest.mark.parametrize("is_told", [False, True])
def test_an_owner_who_asks_prevents_a_second_result(deployment: Deployment, is_told: bool) -> None:
    """If nobody is left who could tell, it comes out: docs/recovery.md says so, and what to do first."""
    honest, folder = Study(deployment.kit("north")), deployment.folder
    send(honest, samples(50, 1))
    shutil.copytree(deployment.kit("harbour"), folder / "harbour-before")
    with stopped(deployment):
        for node in NODES:
            shutil.copytree(deployment.kit(node) / "data", folder / f"{node}-before")
    send(Study(deployment.kit("harbour")), samples(50, 2))
    first = honest.wait(timeout=300)
    with stopped(deployment):
        for node in NODES:
            shutil.rmtree(deployment.kit(node) / "data")
            shutil.copytree(folder / f"{node}-before", deployment.kit(node) / "data")
    if is_told:
        told = honest.status()
        assert {answer.state for answer in told.values()} == {StudyState.STOPPED}
    curious = Study(folder / "harbour-before")
    if is_told:
        with pytest.raises(RefusedError) as refused:
            send(curious, samples(50, 3))
        assert refused.value.code == "closed"
        with pytest.raises(NotReleasedError, match="was released with attempt 1"):
            curious.wait(timeout=300)
    else:
        send(curious, samples(50, 3))
        second = curious.wait(timeout=300)
        assert (second.receipt.attempt, second.receipt.manifest) == (1, first.receipt.manifest)
        assert second.auroc != first.auroc
