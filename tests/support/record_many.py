"""`python -m tests.support.record_many FOLDER NAME COUNT`: entries in the audit log of a node's data."""

import sys
from pathlib import Path

from ppaurora.node.store import Store

if __name__ == "__main__":
    folder, name, count = sys.argv[1:]
    with Store(Path(folder)) as store:
        for number in range(int(count)):
            store.record(f"{name} {number}")
