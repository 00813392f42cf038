"""The pages of an owner, put together."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from aiohttp import web

from ppaurora.app.modes import Mode, NavigationEntry
from ppaurora.app.owner.pages import OwnerPages
from ppaurora.study.kit import OwnerKit


class OwnerMode(Mode):
    """Of one owner's kit."""

    def __init__(self, kit: OwnerKit) -> None:
        kit.check_key()
        self._kit = kit
        self._pages = OwnerPages(kit)
        self.title = kit.name

    @property
    def places(self) -> Sequence[NavigationEntry]:
        return (NavigationEntry("Studies", "/"),)

    @property
    def folder(self) -> Path:
        return self._kit.folder

    @property
    def under_way(self) -> str:
        running = [desk.jobs.running for desk in self._pages.desks]
        return " and ".join(job.title for job in running if job is not None)

    def routes(self) -> Sequence[web.RouteDef]:
        return self._pages.routes()
