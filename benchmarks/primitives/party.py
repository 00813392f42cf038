"""`python -m benchmarks.primitives.party ROLE DESCRIPTOR`: one server that does what it is asked.

Not for data: it runs any function that the process at the other end of the pipe names.
"""

from __future__ import annotations

import signal
import sys
from multiprocessing.connection import Connection
from typing import Any

from ppaurora.channel.tls import connect_parties, listen
from ppaurora.suites.role import Role


def main() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the driver decides what Ctrl-C means
    role = Role(int(sys.argv[1]))
    driver: Connection[Any, Any] = Connection(int(sys.argv[2]))
    try:
        _serve(role, driver)
    except EOFError:
        pass  # the driver is gone, or done with us
    except Exception as error:
        driver.send(error)


def _serve(role: Role, driver: Connection[Any, Any]) -> None:
    with listen() as listener:
        driver.send(listener.getsockname())
        identity, addresses, timeout = driver.recv()
        transport = connect_parties(role, identity, listener, addresses, timeout)
    try:
        while True:
            task, arguments = driver.recv()
            driver.send(task(transport, *arguments))
    finally:
        transport.close()


if __name__ == "__main__":
    main()
