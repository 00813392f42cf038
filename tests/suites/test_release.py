"""Parts of a result: they add up to it, and are made fresh for every owner."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations
from typing import Any

import numpy as np
import pytest

from ppaurora.sharing import RingShare
from ppaurora.suites.base import Suite
from ppaurora.testing.world import WorldRun
from tests.support import bitsliced, cecilia

RESULT = np.arange(6, dtype=np.uint64).reshape(2, 3)
OWNERS = 3


def parts(suite: Suite, x: RingShare) -> Any:
    return suite.result(x, OWNERS)


@pytest.mark.parametrize("run", [bitsliced.masked, cecilia.run])
def test_every_owner_gets_parts_of_its_own(run: Callable[..., WorldRun]) -> None:
    """Else two owners, or an owner and a server, could put together what belongs to different ones."""
    first, second, helper = run(parts, RESULT).results
    assert helper == ()
    for one, other in zip(first, second, strict=True):
        assert np.array_equal(one.words + other.words, RESULT)
    for of_server in (first, second):
        assert len(of_server) == OWNERS
        for one, other in combinations(of_server, 2):
            assert not (one.words == other.words).any()
