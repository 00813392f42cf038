"""Studies that an owner adds in the browser: a file that was sent, checked, shown, and agreed to or not.

A file is a study's manifest, or a kit packed by its coordinator. It is read into memory, never stored under
a name of its own, and unpacked by what `ppaurora unpack` calls: into this run's private folder, which is
gone when the app ends. Only a person's agreement moves it to the owner's kits.
"""

from __future__ import annotations

import secrets
import threading
from collections import OrderedDict
from dataclasses import dataclass, field
from pathlib import Path

from aiohttp import web

from ppaurora.app.forms import file_of
from ppaurora.app.jobs import TooLargeError
from ppaurora.app.owner.kits import OwnerKits, discard
from ppaurora.errors import InputError
from ppaurora.study.amendments import MOST_BYTES as MOST_AMENDMENTS_BYTES
from ppaurora.study.amendments import Amendments, are_amendments
from ppaurora.study.kit import OwnerKit
from ppaurora.study.manifest import Manifest
from ppaurora.study.organisations import shared_nodes
from ppaurora.study.pack import MOST_BYTES, PACKED, Unpacked, is_locked, unpack_content

MOST_MANIFEST_BYTES = 1 << 20
TOO_LARGE = f"No kit is larger than {MOST_BYTES >> 20} MB. Choose the file that the coordinator sent."
_MOST_KEPT = 8


@dataclass(frozen=True)
class Addition:
    """A study that may be added: by a manifest for a key that is here, or by a kit of its own.

    Of a kit under a pass phrase there is only `locked`, the file's content, until it was opened.
    """

    file: str  # its name, as it may be shown
    manifest: Manifest | None = None
    kit: OwnerKit | None = None  # that takes part: one that is here, or the unpacked one
    is_own_kit: bool = False  # it was unpacked, and waits to be moved to the others
    locked: bytes | None = field(default=None, repr=False)
    number: str = field(default_factory=lambda: secrets.token_hex(16))

    @property
    def shared(self) -> list[str]:
        """Which of its servers belong to one organisation."""
        return [] if self.manifest is None else list(shared_nodes(self.manifest))


class Additions:
    """Files that were sent while the app runs, until a person agrees to them or puts them away."""

    def __init__(self, kits: OwnerKits) -> None:
        self._kits = kits
        self._lock = threading.Lock()
        self._waiting: OrderedDict[str, Addition] = OrderedDict()

    def take(self, content: bytes, name: str, folder: Path) -> Addition:
        """Check a file; a kit is unpacked below this private folder, unless it needs a pass phrase."""
        if not name.endswith(PACKED):
            return self._keep(self._of_manifest(content, name))
        if is_locked(content, Path(name)):
            return self._keep(Addition(name, locked=content))
        return self._keep(self._of_kit(content, name, folder, ""))

    def open(self, number: str, passphrase: str, folder: Path) -> Addition:
        """Unpack a kit under its pass phrase; it stays as it was if that is a wrong one."""
        found = self.find(number)
        if found.locked is None:
            return found
        if not passphrase.strip():
            raise InputError("the pass phrase is missing; the coordinator has it. Nothing was added")
        opened = self._of_kit(found.locked, found.file, folder, passphrase)
        self.put_away(number)
        return self._keep(opened)

    def find(self, number: str) -> Addition:
        """Raises web.HTTPNotFound if none has this number, perhaps no longer."""
        found = self._waiting.get(number)
        if found is None:
            raise web.HTTPNotFound
        return found

    def agree(self, number: str, *, force: bool) -> Manifest:
        """Add it to the owner's kits."""
        found = self.find(number)
        if found.manifest is None or found.kit is None:
            raise InputError(f"{found.file}: type its pass phrase first; nothing was added")
        if found.is_own_kit:
            self._kits.add_kit(found.kit, found.manifest, force=force)
        else:
            self._kits.add_manifest(found.kit, found.manifest, force=force)
        self._waiting.pop(number, None)
        return found.manifest

    def put_away(self, number: str) -> None:
        """Forget it, and delete what was unpacked for it."""
        found = self._waiting.pop(number, None)
        if found is not None and found.is_own_kit and found.kit is not None:
            discard(found.kit.folder)

    def _keep(self, addition: Addition) -> Addition:
        with self._lock:
            self._waiting[addition.number] = addition
            over = list(self._waiting)[:-_MOST_KEPT]
        for number in over:
            self.put_away(number)
        return addition

    def _of_manifest(self, content: bytes, name: str) -> Addition:
        if len(content) > MOST_MANIFEST_BYTES:
            raise InputError(f"{name}: {_NEITHER}")
        try:
            manifest = Manifest.parse(content.decode(), name)
        except UnicodeDecodeError:
            raise InputError(f"{name}: {_NEITHER}") from None
        except InputError as error:
            error.add_note(f"Nothing was added. If it is a kit, its name must end in {PACKED}.")
            raise
        kit = self._kits.named_in(manifest) or self._kits.first
        kit.check_own(manifest)
        self._kits.check_new(kit, manifest)
        return Addition(name, manifest, kit)

    def _of_kit(self, content: bytes, name: str, folder: Path, passphrase: str) -> Addition:
        into = folder / secrets.token_hex(16)
        unpacked = unpack_content(content, Path(name), into, lambda: passphrase)
        try:
            kit = self._kit_for(unpacked, name)
        except BaseException:
            discard(into)
            raise
        if kit.folder != into:
            discard(into)
        return Addition(name, unpacked.manifest, kit, is_own_kit=kit.folder == into)

    def _kit_for(self, unpacked: Unpacked, name: str) -> OwnerKit:
        """Return the kit by which this owner would take part: one with the same key, or the unpacked one."""
        if not isinstance(unpacked.kit, OwnerKit):
            raise InputError(
                f"{name}: is the kit of a server, {unpacked.kit.title}; it belongs on the machine that runs "
                "this server. Nothing was added"
            )
        self._kits.check_new(unpacked.kit, unpacked.manifest)
        known = self._kits.with_key(unpacked.kit.pin)
        if known is None and not unpacked.has_key:
            raise InputError(
                f"{name}: holds no key, as its certificate is your own, and no kit here has that key. "
                "Whoever keeps the key on this machine must unpack the kit with it. Nothing was added"
            )
        return known or unpacked.kit


_NEITHER = f"is neither the manifest of a study nor a kit (NAME{PACKED}); choose the file that you were sent"


def amendments_in(content: bytes, name: str) -> Amendments | None:
    """Return the amendments that a file consists of; None if it is something else."""
    if len(content) > MOST_AMENDMENTS_BYTES:
        return None
    try:
        text = content.decode()
    except UnicodeDecodeError:
        return None
    return Amendments.parse(text, name) if are_amendments(text) else None


async def receive_addition(request: web.Request) -> tuple[bytes, str]:
    """Read a form's file, which is small, into memory: a kit holds a key, and is not stored as it came."""
    length = request.content_length
    if length is None:
        raise web.HTTPLengthRequired
    if length > MOST_BYTES + (1 << 16):
        raise TooLargeError(f"nothing was read. {TOO_LARGE}")
    part, name = await file_of(request, "choose the kit or the manifest that the coordinator sent you")
    content = bytearray()
    while piece := await part.read_chunk():
        content += piece
        if len(content) > MOST_BYTES:
            raise TooLargeError(f"nothing was kept. {TOO_LARGE}")
    return bytes(content), name
