"""`python -m tests.support.stand_in_crew TITLE`: a server whose workers do what a test has chosen.

Their part is named in the environment, as module and function; `does` sets it for the servers that are
started from then on.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import sys
from typing import TYPE_CHECKING, Any, cast

from ppaurora.local import processes
from ppaurora.workers import crew, local
from ppaurora.workers.part import Part

if TYPE_CHECKING:
    import pytest  # which no worker needs

_PART = "PPAURORA_TESTS_PART"


def does(monkeypatch: pytest.MonkeyPatch, part: str) -> None:
    """Have the workers of all servers on this machine do this part, for as long as the patch lasts."""
    monkeypatch.setattr(processes, "CREW", "tests.support.stand_in_crew")
    monkeypatch.setenv(_PART, part)


def chosen_part() -> Part:
    module, _, name = os.environ[_PART].partition(":")
    return cast(Part, getattr(importlib.import_module(module), name))


def _actor() -> Any:
    """A class of the main module, which Ray sends to its workers with what is in it."""
    from ppaurora.workers.ray_actor import RayWorker

    return type("RayWorker", (RayWorker,), {"part": staticmethod(chosen_part()), "__module__": "__main__"})


if __name__ == "__main__":
    local.MODULE = "tests.support.stand_in_worker"
    if importlib.util.find_spec("ray") is not None:
        from ppaurora.workers import ray

        ray.actor_class = _actor
    sys.exit(crew.main())
