"""The example's three servers, as somebody sees them who may look into all of them at once.

Only in an example: in a study each belongs to another organisation, and each looks into its own only.
"""

from __future__ import annotations

import json
from pathlib import Path

from ppaurora.app.story.seen import STATES, ServerCost, ServerSeen, StoredShare
from ppaurora.node.admin_client import find_running
from ppaurora.node.operating import look_at_study, opened
from ppaurora.poc.consortium import ProofOfConcept
from ppaurora.poc.machine import NODES, PROTOCOL
from ppaurora.sharing.commitment import SALT_BYTES
from ppaurora.study.kit import NodeKit

_BYTES_SHOWN = 24


def look_at_servers(consortium: ProofOfConcept) -> tuple[ServerSeen, ...]:
    return tuple(_look(consortium, name) for name in NODES)


def _look(consortium: ProofOfConcept, name: str) -> ServerSeen:
    kit = NodeKit.read(consortium.kit(name))
    records = look_at_study(kit, consortium.manifest.study)
    running = find_running(kit)
    state = STATES[records.status.state]
    return ServerSeen(
        name,
        "not answering" if running is None else state,
        "" if running is None else running.progress.get(records.study.hash, ""),
        records.status.submitted,
        _cost(consortium.log(name)),
    )


def _cost(log: Path) -> ServerCost | None:
    """Read the cost from the last line that tells of it; one that is being written is not there yet."""
    for line in reversed(log.read_text("utf-8").rpartition("\n")[0].splitlines()):
        if '"attempt computed"' in line:
            said = json.loads(line)
            return ServerCost(said["seconds"], said["rounds"], said["bytes"], said["openings"])
    return None


def stored_shares(consortium: ProofOfConcept, owner: str) -> tuple[StoredShare, ...]:
    """Return one hospital's shares at every server that takes them; they are kept until the release."""
    found = []
    for server in PROTOCOL.input_servers:
        kit = NodeKit.read(consortium.kit(server.file_name))
        study = look_at_study(kit, consortium.manifest.study).study
        with opened(kit) as store:
            for kept in store.submissions(study):
                if kept.owner == owner and kept.file is not None:
                    content = (store.shares / kept.file).read_bytes()[SALT_BYTES:]
                    middle = len(content) // 2
                    excerpt = content[middle : middle + _BYTES_SHOWN].hex(" ")
                    found.append(StoredShare(server.title, owner, len(content), excerpt))
    return tuple(found)
