"""What a node's database says that people rely on, and what a later state of it lacks."""

from __future__ import annotations

import contextlib
import shutil
import sqlite3
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

_STUDIES = "SELECT hash, state FROM studies"
_SUBMISSIONS = "SELECT study || ' ' || owner, revision, withdrawn, commitments FROM submissions"
_ATTEMPTS = "SELECT study || ' ' || number, state FROM attempts"
_PARTS = "SELECT study || ' ' || owner, attempt FROM results"


@dataclass(frozen=True)
class Facts:
    """Studies with their states, what owners have submitted, attempts, and whose parts are there."""

    studies: dict[str, str]
    submissions: dict[str, list[Any]]
    attempts: dict[str, str]
    parts: dict[str, int]

    @classmethod
    def of(cls, database: Path) -> Facts:
        with contextlib.closing(sqlite3.connect(database, timeout=60)) as db:
            return cls(
                dict(db.execute(_STUDIES).fetchall()),
                {name: list(said) for name, *said in db.execute(_SUBMISSIONS)},
                dict(db.execute(_ATTEMPTS).fetchall()),
                dict(db.execute(_PARTS).fetchall()),
            )

    @classmethod
    def of_copy(cls, folder: Path) -> Facts:
        """Of the data folder of a node that is down, which stays as it is."""
        with tempfile.TemporaryDirectory() as aside:
            shutil.copytree(folder, Path(aside) / "data")
            return cls.of(Path(aside) / "data" / "node.db")

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    def lacks(self, earlier: Facts) -> str:
        """What was there earlier, and is neither there now nor followed by what may follow it."""
        missing = [f"study {name[:8]}" for name in earlier.studies if name not in self.studies]
        for name, state in earlier.studies.items():
            if state == "released" and self.studies.get(name, state) not in ("released", "expired"):
                missing.append(f"release of {name[:8]}")
        for name, (revision, *said) in earlier.submissions.items():
            now, *says = self.submissions.get(name, [0])
            if now < revision or (now == revision and says != said):
                missing.append(f"submission {name[:8]} {name.partition(' ')[2]}, revision {revision}")
        missing += [
            f"attempt {name[:8]} {name[65:]}" for name in earlier.attempts if name not in self.attempts
        ]
        for name in earlier.parts:
            if earlier.studies[name[:64]] == "released" and name not in self.parts:
                missing.append(f"part {name[:8]} {name[65:]}")
        return ", ".join(missing)
