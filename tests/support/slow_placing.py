"""`python -m tests.support.slow_placing TITLE`: a server that takes very long to place its workers."""

from __future__ import annotations

import sys
import time

from ppaurora.messages.workers import PeerEndpoints
from ppaurora.party.process import Starter, run_server


def _serve(starter: Starter) -> None:
    starter.listener()
    with starter.giving_signs(0.3, 300.0, "too late"):
        time.sleep(300)
    starter.hear(PeerEndpoints)


if __name__ == "__main__":
    sys.exit(run_server(_serve))
