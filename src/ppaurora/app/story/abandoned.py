"""The example's folder: gone when the app ends; if that was cut off, at the next start, nodes included."""

from __future__ import annotations

import contextlib
import tempfile
from pathlib import Path
from typing import IO

from ppaurora.app.private_folder import hold_abandoned, make_held, remove_held
from ppaurora.errors import InputError, PpauroraError

_PREFIX = "ppaurora-example-"
CONSORTIUM = "consortium"


class ExampleFolder:
    """A private one of this run, among temporary files."""

    def __init__(self) -> None:
        try:
            self.path, self._lock = make_held(prefix=_PREFIX)
        except OSError as error:
            raise InputError(
                f"the folder for temporary files cannot be written to: {error.strerror or error}; name "
                "another one: TMPDIR=FOLDER ppaurora app"
            ) from None

    def remove(self) -> None:
        """Ends nodes that run there, and removes everything."""
        _remove(self.path, self._lock)


def remove_abandoned() -> int:
    """Folders of examples whose app was killed, with the nodes that it has left running. How many."""
    removed = 0
    for folder in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        with contextlib.suppress(OSError, PpauroraError):
            held = hold_abandoned(folder)
            if held is not None:
                with held:
                    _remove(folder, held)
                removed += 1
    return removed


def _remove(folder: Path, held: IO[bytes]) -> None:
    from ppaurora.poc.consortium import find_poc

    with contextlib.suppress(InputError):  # it was cut off before there was a consortium
        find_poc(folder / CONSORTIUM).stop()
    remove_held(folder, held)
