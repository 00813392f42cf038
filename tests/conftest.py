"""For all tests: what failed assertions show, the order of files, how often owners look for a result."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from ppaurora.owner import study

pytest.register_assert_rewrite("tests.support", "tests.node.crash_campaign")

# Files that take long, the longest first: begun last, one of them would keep one core busy and others idle.
LONGEST = (
    "node/test_studies.py",
    "node/test_recovery.py",
    "workers/test_on_ray.py",
    "poc/test_poc.py",
    "campaign/test_campaign.py",
    "supply/test_extras.py",
    "supply/test_installation.py",
    "documents/test_deploying.py",
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
        yield
