"""Whether the recorded vectors are still those that the code makes, and if not, what to do."""

from __future__ import annotations

import json

from ppaurora import messages
from tests.messages.vectors.file import VectorFile

CHANGED = "the wire format changed: raise WIRE_VERSION and regenerate, see CONTRIBUTING.md"
STALE = "the vectors are not those that the code makes: run python -m tests.messages.make_vectors"


def changed_vectors(file: VectorFile) -> list[str]:
    """Those of the same version that the code makes no longer, or otherwise. New ones are no change."""
    recorded = file.recorded()
    if recorded["version"] != messages.VERSION:
        return []
    now = {vector["name"]: vector for vector in json.loads(json.dumps(file.make()))}
    return [vector["name"] for vector in recorded["vectors"] if now.get(vector["name"]) != vector]


def problem_with(file: VectorFile) -> str:
    """What is wrong with a file as it was recorded, or nothing."""
    changed = changed_vectors(file)
    if changed:
        return f"{file.path.name} ({'; '.join(changed)}): {CHANGED}"
    return f"{file.path.name}: {STALE}" if file.recorded() != json.loads(file.text()) else ""
