"""The kits of one owner that the app works with: the one that it was started with, and those added to it.

A study under the same key is one more manifest in a kit. A kit under another key, such as another
coordinator's, keeps its own folder, in `KIT/kits`, so that the app finds it whenever it is started.
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ppaurora.errors import InputError
from ppaurora.study.kit import OwnerKit
from ppaurora.study.manifest import Manifest
from ppaurora.study.organisations import check_nodes_apart

FOLDER = "kits"  # in the kit that the app was started with


@dataclass(frozen=True)
class KitStudy:
    """A study, and the kit by which this owner takes part in it."""

    kit: OwnerKit
    manifest: Manifest


class OwnerKits:
    """Read anew whenever they are asked for: a study may be added while the app runs."""

    def __init__(self, first: OwnerKit) -> None:
        self.first = first

    @property
    def all(self) -> Sequence[OwnerKit]:
        added = sorted((self.first.folder / FOLDER).glob("*/owner.toml"))
        return (self.first, *(OwnerKit.read(path.parent) for path in added))

    @property
    def studies(self) -> Sequence[KitStudy]:
        """All studies, each with its kit: the first kit's before those of added ones."""
        return tuple(KitStudy(kit, manifest) for kit in self.all for manifest in kit.manifests())

    def find(self, name: str) -> KitStudy | None:
        return next((one for one in self.studies if one.manifest.study == name), None)

    def with_key(self, pin: str) -> OwnerKit | None:
        """Return the kit whose certificate has this key."""
        return next((kit for kit in self.all if kit.pin == pin), None)

    def named_in(self, manifest: Manifest) -> OwnerKit | None:
        """Return the kit whose key is one that the manifest names for an owner."""
        return next((kit for kit in self.all if manifest.owner_of(kit.pin) is not None), None)

    def check_new(self, kit: OwnerKit, manifest: Manifest) -> None:
        """Raise if another study of this name is here, or this one under another key: pages are per name."""
        known = self.find(manifest.study)
        if known is not None and known.manifest.hash == manifest.hash and known.kit.pin != kit.pin:
            raise InputError(
                f"you take part in {manifest.study} already, as {known.kit.name}; nothing was added. To take "
                f"part as {kit.name} as well, start the app with a kit of its own"
            )
        if known is not None and known.manifest.hash != manifest.hash:
            raise InputError(
                f"there is another study named {manifest.study} here, whose agreement has the hash "
                f"{known.manifest.hash}; nothing was added. Ask the coordinator which of the two is meant; "
                "a new study needs a name of its own"
            )

    def add_manifest(self, kit: OwnerKit, manifest: Manifest, *, force: bool) -> None:
        """Agree to a study under a key that is here, as `ppaurora accept` does."""
        self.check_new(kit, manifest)
        kit.check_own(manifest)
        check_nodes_apart(manifest, force=force)
        kit.add(manifest)

    def add_kit(self, unpacked: OwnerKit, manifest: Manifest, *, force: bool) -> None:
        """Move a kit that was unpacked and checked to the others, whole or not at all."""
        self.check_new(unpacked, manifest)
        check_nodes_apart(manifest, force=force)
        folder = self.first.folder / FOLDER
        place = folder / manifest.study
        try:
            folder.mkdir(mode=0o700, exist_ok=True)
            if place.exists() or place.is_symlink():
                raise InputError(f"{place}: exists already; nothing was added. Move that folder away first")
            unpacked.folder.rename(place)
        except OSError as error:
            raise InputError(
                f"{place}: cannot be written: {error.strerror or error}; nothing was added"
            ) from None


def discard(kit: Path) -> None:
    """Delete a kit that nobody has agreed to, with its key."""
    shutil.rmtree(kit, ignore_errors=True)
