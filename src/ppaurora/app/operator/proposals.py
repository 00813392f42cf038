"""Manifests and amendments that an operator has been sent, and has not agreed to yet."""

from __future__ import annotations

from collections import OrderedDict

from aiohttp import web

from ppaurora.app.forms import file_of
from ppaurora.errors import InputError
from ppaurora.study.amendments import MOST_BYTES as MOST_AMENDMENTS_BYTES
from ppaurora.study.amendments import Amendments, are_amendments
from ppaurora.study.kit import NodeKit
from ppaurora.study.manifest import Manifest

MOST_BYTES = 1 << 20
TOO_LARGE = (
    f"No manifest is larger than {MOST_BYTES >> 20} MB, and no amendments are larger than "
    f"{MOST_AMENDMENTS_BYTES >> 20} MB. Choose the file that the coordinator sent."
)
_MOST_KEPT = 16


class Proposals:
    """Those of the kit, and those that were dropped into the page while the app runs."""

    def __init__(self, kit: NodeKit) -> None:
        self._kit = kit
        self._dropped: OrderedDict[str, Manifest | Amendments] = OrderedDict()

    def add(self, proposed: Manifest | Amendments) -> str:
        """Add what means this node, and nothing else; return the address of its review."""
        manifest = proposed.latest if isinstance(proposed, Amendments) else proposed
        self._kit.check_own(manifest)
        self._dropped[manifest.hash] = proposed
        while len(self._dropped) > _MOST_KEPT:
            self._dropped.popitem(last=False)
        return f"/{'amendments' if isinstance(proposed, Amendments) else 'proposals'}/{manifest.hash}"

    def find(self, hash_: str) -> Manifest:
        """Raises web.HTTPNotFound if there is none of this hash."""
        found = self._dropped.get(hash_) or self._find_in_kit(hash_)
        if not isinstance(found, Manifest):
            raise web.HTTPNotFound
        self._kit.check_own(found)
        return found

    def find_amendments(self, hash_: str) -> Amendments:
        """Return those that lead to the manifest of this hash; raises web.HTTPNotFound likewise."""
        found = self._dropped.get(hash_)
        if not isinstance(found, Amendments):
            raise web.HTTPNotFound
        return found

    def _find_in_kit(self, hash_: str) -> Manifest | None:
        return next((one for one in self._kit.manifests() if one.hash == hash_), None)


async def receive_proposal(request: web.Request) -> Manifest | Amendments:
    """Read a manifest or amendments from a form with a file; anything else is refused by its name."""
    part, name = await file_of(request, "choose the manifest that the coordinator sent you")
    content = bytearray()
    while piece := await part.read_chunk():
        content += piece
        if len(content) > MOST_AMENDMENTS_BYTES:
            raise InputError(f"{name}: is not a manifest. {TOO_LARGE}")
    try:
        text = content.decode()
    except UnicodeDecodeError:
        raise InputError(
            f"{name}: is not a manifest (not a text file); choose the file that the coordinator sent"
        ) from None
    if are_amendments(text):
        return Amendments.parse(text, name)
    if len(content) > MOST_BYTES:
        raise InputError(f"{name}: is not a manifest. {TOO_LARGE}")
    try:
        return Manifest.parse(text, name)
    except InputError as error:
        error.add_note("This is not the manifest of a study. Choose the file that the coordinator sent you.")
        raise
