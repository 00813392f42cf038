"""`python -m benchmarks.primitives.party TITLE`: one server that does what it is asked, again and again.

Not for data: it runs any function that the process that started it names.
"""

from __future__ import annotations

import pickle
import sys

from benchmarks.primitives.messages import Answered, Start, Task
from ppaurora.party.process import Starter, connect, run_server
from ppaurora.suites.role import Role


def _serve(starter: Starter) -> None:
    listener, start = starter.listener(), starter.hear(Start)
    if listener is None or start is None:
        return
    server = next(role for role in Role if role.file_name == start.server)
    transport = connect(server, start.links, listener)
    try:
        while (task := starter.hear(Task)) is not None:
            function, arguments = pickle.loads(task.call)  # noqa: S301 (from the process that started this one)
            starter.tell(Answered(value=pickle.dumps(function(transport, *arguments))))
    finally:
        transport.close()


if __name__ == "__main__":
    sys.exit(run_server(_serve))
