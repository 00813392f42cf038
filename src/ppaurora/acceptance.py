"""Agreeing to a study, for a node or an owner."""

from __future__ import annotations

from ppaurora.errors import InputError
from ppaurora.node.store import STORAGE_ERRORS, Store, trouble_of
from ppaurora.study.kit import NodeKit, OwnerKit
from ppaurora.study.manifest import Manifest
from ppaurora.study.organisations import check_nodes_apart


def accept(kit: NodeKit | OwnerKit, manifest: Manifest, *, force: bool = False) -> bool:
    """Keep it where a node, which may be running, or an owner looks for it. True if it is new there.

    A study of which two nodes belong to one organisation has to be forced.
    """
    check_nodes_apart(manifest, force=force)
    if isinstance(kit, NodeKit):
        try:
            with Store(kit.data) as store:
                return store.accept(manifest)
        except STORAGE_ERRORS as error:
            raise InputError(f"{kit.data}: {trouble_of(error)}; nothing was accepted") from None
    new = manifest.hash not in [known.hash for known in kit.manifests()]
    kit.add(manifest)
    return new
