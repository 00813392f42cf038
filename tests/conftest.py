"""For all tests: what failed assertions show, the order of files, how often owners look for a result.

And ports, which each process of pytest's has for itself, and how processes are started.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, settings

from ppaurora.owner import delivery, study
from ppaurora.poc import machine

pytest.register_assert_rewrite("tests.support", "tests.node.crash_campaign")

from tests.support import forking  # noqa: E402 (its assertions are rewritten from here on)

# An example that takes long on a busy machine is not wrong for that.
settings.register_profile("unhurried", deadline=None, suppress_health_check=[HealthCheck.too_slow])
# Who only wants to know whether a test fails (`tests.defects`) need not wait for the smallest example.
_PHASES = [phase for phase in Phase if phase not in (Phase.shrink, Phase.explain)]
settings.register_profile("unshrunk", settings.get_profile("unhurried"), phases=_PHASES)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "unhurried"))

# Files that take long, the longest first: begun last, one of them would keep one core busy and others idle.
LONGEST = (
    "workers/test_on_ray.py",
    "poc/test_poc.py",
    "node/test_studies.py",
    "supply/test_extras.py",
    "campaign/test_campaign.py",
    "node/test_recovery.py",
    "supply/test_installation.py",
    "party/test_failures.py",
    "browser/test_owner_mishaps.py",
    "workers/test_engines.py",
    "documents/test_guide.py",
    "workers/test_nodes.py",
    "workers/test_values.py",
    "workers/test_merging.py",
    "documents/test_ray_guide.py",
    "benchmarks/test_attacks.py",
)
PLACES = {Path(__file__).parent / name: place for place, name in enumerate(LONGEST)}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """All others stay in their order, so that the tests of a room share its nodes."""
    items.sort(key=lambda item: PLACES.get(item.path, len(PLACES)))


@pytest.fixture(scope="session", autouse=True)
def _impatient_owners() -> Iterator[None]:
    """In this process; by default they look every second, and most studies of tests take less."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(study, "_SECONDS_BETWEEN_LOOKS", 0.1)
        patch.setattr(delivery, "_SECONDS_FOR_OTHERS", 120.0)  # nodes of a busy machine tell each other late
        yield


@pytest.fixture(scope="session", autouse=True)
def _forked_starts() -> Iterator[None]:
    """Nodes, servers and commands are forks of a process that has loaded the package, not started anew."""
    with forking.forked_starts():
        yield


@pytest.fixture
def ordinary_starts() -> Iterator[None]:
    """For tests of how processes start and end: as users start them."""
    with forking.ordinary_starts():
        yield


@pytest.fixture(scope="session", autouse=True)
def _ports_of_its_own() -> Iterator[None]:
    """For each process of pytest's: a port that is free now may be another's before a node listens there."""
    number = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw"))
    count = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    with pytest.MonkeyPatch.context() as patch:
        size = len(machine._PORTS) // count
        patch.setattr(machine, "_PORTS", machine._PORTS[number * size : (number + 1) * size])
        yield
