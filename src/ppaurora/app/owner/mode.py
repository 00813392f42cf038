"""The pages of an owner, put together."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ppaurora.app.lazy import LazyPages, behind_this_page
from ppaurora.app.modes import Mode, NavigationEntry
from ppaurora.app.owner.kits import OwnerKits
from ppaurora.app.owner.overview import STUDIES, StudyRow, listing
from ppaurora.study.kit import OwnerKit

if TYPE_CHECKING:
    from aiohttp import web

    from ppaurora.app.owner.pages import OwnerPages


class OwnerMode(Mode):
    """The app for one owner's kit: its list of studies is there at once, how they stand is loaded behind."""

    def __init__(self, kit: OwnerKit) -> None:
        kit.check_key()
        self._kits = OwnerKits(kit)
        self._pages = LazyPages(self._load)
        self.title = kit.name

    @property
    def places(self) -> Sequence[NavigationEntry]:
        return (NavigationEntry("Studies", "/"),)

    @property
    def folder(self) -> Path:
        return self._kits.first.folder

    @property
    def under_way(self) -> str:
        controllers = [] if self._pages.made is None else self._pages.made.controllers
        running = [controller.jobs.running for controller in controllers]
        return " and ".join(job.title for job in running if job is not None)

    def routes(self) -> Sequence[web.RouteDef]:
        from aiohttp import web

        study, addition, of = "/studies/{study}", "/add/{number}", self._pages.handler
        return [
            web.get("/", self._studies),
            web.get("/live", of("studies_live")),
            web.post("/add", of("take_addition")),
            web.get(addition, of("addition")),
            web.post(f"{addition}/open", of("open_addition")),
            web.post(f"{addition}/agree", of("agree_to_addition")),
            web.post(f"{addition}/away", of("put_addition_away")),
            web.get(study, of("study")),
            web.get(f"{study}/live", of("live")),
            web.get(f"{study}/data", of("data")),
            web.get(f"{study}/data/live", of("data_live")),
            web.post(f"{study}/data/file", of("take")),
            web.post(f"{study}/data/columns", of("columns")),
            web.post(f"{study}/data/away", of("put_away")),
            web.post(f"{study}/submit", of("submit")),
            web.get(f"{study}/withdraw", of("ask_withdraw")),
            web.post(f"{study}/withdraw", of("withdraw")),
            web.post(f"{study}/amendment/agree", of("agree_to_amendment")),
            web.post(f"{study}/amendment/tell", of("tell_agreement")),
            web.post(f"{study}/collect", of("collect")),
            web.get(f"{study}/result", of("result")),
            web.post(f"{study}/result/forget-own", of("forget_own")),
            web.get(f"{study}/result/{{kind}}", of("save")),
        ]

    async def _studies(self, request: web.Request) -> web.StreamResponse:
        if self._pages.is_there:
            return await self._pages.handler("studies")(request)
        from ppaurora.app.rendering import page

        rows = [StudyRow.of(one) for one in self._kits.studies]
        response = page(request, STUDIES, **listing(self._kits.first, rows))
        behind_this_page(self._pages.begin)
        return response

    def _load(self) -> OwnerPages:
        from ppaurora.app.owner.pages import OwnerPages

        return OwnerPages(self._kits)
