"""How a node goes on whose database was rolled back or damaged, from what is left of it."""

from __future__ import annotations

from pathlib import Path

from ppaurora.node.store.holding import hold
from ppaurora.node.store.rollback import Rollback, keep_as_found
from ppaurora.node.store.store import Store


def recover_folder(folder: Path, rollback: Rollback) -> Path:
    """Make a node's data usable again, and return the folder that keeps all that was there before."""
    with hold(folder):
        before = keep_as_found(folder, is_damaged=rollback.is_damaged)
        with Store(folder, recovering=True) as store:
            store.move_undescribed_shares(before / "shares")
            store.go_on_without(rollback)
    return before
