"""What earlier states of ppaurora have left behind: data folders, and one state that still runs.

`data/schema-N.zip` has the data folder of a proxy that was killed, as the code of that time wrote it, three
times: with a study `under-way`, of which two of three owners have submitted; `released`; and `over`, expired.
`data/ppaurora-wire-9.tar.xz` is the source code of the last state whose newest version was 9.
"""

from __future__ import annotations

import os
import subprocess
import tarfile
import zipfile
from pathlib import Path

from ppaurora.poc.machine import program
from ppaurora.testing.consortium import Consortium
from tests.support.forking import ordinary_starts

DATA = Path(__file__).parent / "data"
SCHEMAS = (1, 2, 4, 5, 6, 7, 8)  # no state with another one was ever committed


def data_folder(schema: int, kind: str, folder: Path) -> Path:
    """Unpack a data folder of an earlier state."""
    with zipfile.ZipFile(DATA / f"schema-{schema}.zip") as packed:
        packed.extractall(folder / f"schema-{schema}")  # noqa: S202 (our own)
    found = folder / f"schema-{schema}" / kind
    (found / "shares").mkdir(exist_ok=True)
    return found


class Earlier:
    """The state whose newest version was 9, with commands and nodes of its own."""

    def __init__(self, folder: Path) -> None:
        with tarfile.open(DATA / "ppaurora-wire-9.tar.xz") as packed:
            packed.extractall(folder, filter="data")
        self._environment = {**os.environ, "PYTHONPATH": str(folder)}

    def run(self, *words: object) -> subprocess.CompletedProcess[str]:
        """`ppaurora ...`, as it was then."""
        with ordinary_starts():  # a fork would have loaded today's code
            return subprocess.run(
                program(*map(str, words)),
                env=self._environment,
                capture_output=True,
                text=True,
                timeout=300,
                check=False,
            )

    def start(self, consortium: Consortium, *names: str) -> None:
        """Start nodes of the consortium."""
        for name in names:
            with (consortium.folder / f"{name}.log").open("ab") as log, ordinary_starts():
                consortium.processes[name] = subprocess.Popen(
                    program("serve", str(consortium.kit(name))), env=self._environment, stdout=log, stderr=log
                )
        for name in names:
            consortium.wait_until_healthy(name)
