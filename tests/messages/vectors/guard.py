"""Whether the recorded vectors are still those that the code makes, and if not, what to do."""

from __future__ import annotations

import json

from tests.messages.vectors.file import Entry, VectorFile

CHANGED = "the wire format changed: raise VERSION and regenerate, see CONTRIBUTING.md"
STALE = "the vectors are not those that the code makes: run python -m tests.messages.make_vectors"


def changed_vectors(recorded: Entry, made: Entry) -> list[str]:
    """Those of the same version that the code makes no longer, or otherwise. New ones are no change."""
    if recorded["version"] != made["version"]:
        return []
    now = {vector["name"]: vector for vector in made["vectors"]}
    return [vector["name"] for vector in recorded["vectors"] if now.get(vector["name"]) != vector]


def problem_with(file: VectorFile) -> str:
    """What is wrong with a file as it was recorded, or nothing."""
    recorded, made = file.recorded(), json.loads(file.text())
    changed = changed_vectors(recorded, made)
    if changed:
        return f"{file.path.name} ({'; '.join(changed)}): {CHANGED}"
    return f"{file.path.name}: {STALE}" if recorded != made else ""
