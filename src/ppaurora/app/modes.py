"""The modes of the app, by whose kit it was given."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ppaurora.io.system import check_posix

if TYPE_CHECKING:
    from aiohttp import web


@dataclass(frozen=True)
class NavigationEntry:
    """An entry of the navigation."""

    title: str
    path: str


class Mode(ABC):
    """The pages of one kind of user; the server gives them their frame."""

    title: str  # who it is for, at the top of every page

    @property
    def places(self) -> Sequence[NavigationEntry]:
        """Return the entries of the navigation."""
        return ()

    @abstractmethod
    def routes(self) -> Sequence[web.RouteDef]:
        """Its pages; "/" is the first. Reading is GET, whatever changes something is POST."""

    def begin(self) -> None:
        """Load in a thread what the first page needs, beside the web server, once the link is printed."""
        return

    @property
    def under_way(self) -> str:
        """In words, what the app should not leave in the middle; nothing if there is none."""
        return ""

    @property
    def folder(self) -> Path | None:
        """Where files of this run may be put, if the kit is the place for that."""
        return None

    def close(self) -> None:
        """End what is under way; called when the app ends."""
        return


def mode_for(kit: Path | None) -> Mode:
    """Loaded when it is known which one is needed."""
    if kit is None:
        check_posix("the example, which runs three nodes,")
        from ppaurora.app.story.mode import StoryMode

        return StoryMode()
    from ppaurora.study.kit import NodeKit, read_kit

    found = read_kit(kit)
    if isinstance(found, NodeKit):
        check_posix("a node")
        from ppaurora.app.operator.mode import OperatorMode

        return OperatorMode(found)
    from ppaurora.app.owner.mode import OwnerMode

    return OwnerMode(found)
