"""`python -m tests.support.stand_in_worker TITLE`: one worker of a stand-in crew, as a process."""

from __future__ import annotations

import sys

from ppaurora.workers.process import main
from tests.support.stand_in_crew import chosen_part

if __name__ == "__main__":
    sys.exit(main(chosen_part()))
