"""`python -m tests.campaign.faulty FAULT KIT`: a node in which one named thing goes wrong.

With further words after the fault, it is the `ppaurora` command of these words.

kill MODULE:NAME before|after N         dies, as by a power cut, at the Nth call of a function
kill transaction inside N               dies in the Nth transaction, before it is durable
kill checkpoint N                       dies while SQLite writes its log back, at the Nth transaction
full MODULE:NAME N TIMES                from the Nth call on the disk has no room, for so many calls
full transaction N TIMES                the same of transactions
clock FILE                              the clock is off by as many seconds as the file says
"""

from __future__ import annotations

import contextlib
import errno
import functools
import importlib
import itertools
import os
import random
import signal
import sqlite3
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from ppaurora.cli.main import main
from ppaurora.node.store.audit import AuditedDatabase
from ppaurora.node.store.database import Database


def _die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def _no_room() -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def _no_room_in_database() -> None:
    error = sqlite3.OperationalError("database or disk is full")
    error.sqlite_errorcode = sqlite3.SQLITE_FULL
    raise error


def _at_calls(first: int, times: int, act: Callable[[], None]) -> Callable[[], None]:
    """Acts when it is called for the first-th time, and as often after that as `times` says."""
    calls = itertools.count(1)

    def called() -> None:
        if first <= next(calls) < first + times:
            act()

    return called


def _found(place: str) -> tuple[Any, str, Any]:
    """A function: what holds it, its name, itself."""
    module, path = place.split(":")
    *outer, name = path.split(".")
    holder: Any = functools.reduce(getattr, outer, importlib.import_module(module))
    return holder, name, getattr(holder, name)


def _wrap(place: str, before: Callable[[], None], after: Callable[[], None]) -> None:
    holder, name, original = _found(place)

    @functools.wraps(original)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        before()
        found = original(*args, **kwargs)
        after()
        return found

    setattr(holder, name, wrapped)


def _skip(place: str) -> None:
    holder, name, _ = _found(place)
    setattr(holder, name, lambda *args, **kwargs: ())


def _wrap_transactions(before: Callable[[], None], inside: Callable[[], None]) -> None:
    """Those that begin; one inside another is a part of that."""
    original = Database._transaction

    @contextlib.contextmanager
    def wrapped(self: Database, **how: Any) -> Iterator[sqlite3.Connection]:
        outermost = not self._db.in_transaction
        if outermost:
            before()
        with original(self, **how) as db:
            yield db
            if outermost:
                inside()

    setattr(Database, "_transaction", wrapped)  # noqa: B010 (mypy does not let a method be assigned)


def _die_in_checkpoint_after(transactions: int) -> None:
    """At some moment of it: another thread kills the process while SQLite is at work."""
    original = AuditedDatabase._committed
    calls = itertools.count(1)

    def wrapped(self: AuditedDatabase) -> None:
        original(self)
        if next(calls) == transactions:
            threading.Timer(random.uniform(0.0, 0.005), _die).start()  # noqa: S311
            self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            time.sleep(1.0)

    setattr(AuditedDatabase, "_committed", wrapped)  # noqa: B010 (mypy does not let a method be assigned)


def _nothing() -> None:
    pass


def install(fault: str) -> None:
    match fault.split():
        case ["kill", "transaction", "inside", number]:
            _wrap_transactions(_nothing, _at_calls(int(number), 1, _die))
        case ["kill", "checkpoint", number]:
            _die_in_checkpoint_after(int(number))
        case ["kill", place, "before", number]:
            _wrap(place, _at_calls(int(number), 1, _die), _nothing)
        case ["kill", place, "after", number]:
            _wrap(place, _nothing, _at_calls(int(number), 1, _die))
        case ["full", "transaction", number, times]:
            _wrap_transactions(_at_calls(int(number), int(times), _no_room_in_database), _nothing)
        case ["full", place, number, times]:
            _wrap(place, _at_calls(int(number), int(times), _no_room), _nothing)
        case ["skip", place]:
            _skip(place)
        case ["clock", file]:
            real = time.time
            time.time = lambda: real() + float(Path(file).read_text() or 0)
        case _:
            raise ValueError(f"not a fault: {fault}")


if __name__ == "__main__":
    install(sys.argv[1])
    words = sys.argv[2:]
    main(words if len(words) > 1 else ["serve", *words])
