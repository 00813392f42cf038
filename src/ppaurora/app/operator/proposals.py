"""Manifests that an operator has been sent, and has not agreed to yet."""

from __future__ import annotations

from collections import OrderedDict

from aiohttp import web

from ppaurora.app.forms import file_of
from ppaurora.errors import InputError
from ppaurora.study.kit import NodeKit
from ppaurora.study.manifest import Manifest

MOST_BYTES = 1 << 20
TOO_LARGE = f"No manifest is larger than {MOST_BYTES >> 20} MB. Choose the file that the coordinator sent."
_MOST_KEPT = 16


class Proposals:
    """Those of the kit, and those that were dropped into the page while the app runs."""

    def __init__(self, kit: NodeKit) -> None:
        self._kit = kit
        self._dropped: OrderedDict[str, Manifest] = OrderedDict()

    def add(self, manifest: Manifest) -> None:
        """Add a manifest; only one that means this node."""
        self._kit.check_own(manifest)
        self._dropped[manifest.hash] = manifest
        while len(self._dropped) > _MOST_KEPT:
            self._dropped.popitem(last=False)

    def find(self, hash_: str) -> Manifest:
        """Raises web.HTTPNotFound if there is none of this hash."""
        found = self._dropped.get(hash_) or self._find_in_kit(hash_)
        if found is None:
            raise web.HTTPNotFound
        self._kit.check_own(found)
        return found

    def _find_in_kit(self, hash_: str) -> Manifest | None:
        return next((one for one in self._kit.manifests() if one.hash == hash_), None)


async def receive_manifest(request: web.Request) -> Manifest:
    """Read a manifest from a form with a file; what is none is refused by its name."""
    part, name = await file_of(request, "choose the manifest that the coordinator sent you")
    content = bytearray()
    while piece := await part.read_chunk():
        content += piece
        if len(content) > MOST_BYTES:
            raise InputError(f"{name}: is not a manifest. {TOO_LARGE}")
    try:
        text = content.decode()
    except UnicodeDecodeError:
        raise InputError(
            f"{name}: is not a manifest (not a text file); choose the file that the coordinator sent"
        ) from None
    try:
        return Manifest.parse(text, name)
    except InputError as error:
        error.add_note("This is not the manifest of a study. Choose the file that the coordinator sent you.")
        raise
