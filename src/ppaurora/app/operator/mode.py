"""The pages of a node's operator, put together."""

from __future__ import annotations

from collections.abc import Sequence

from aiohttp import web

from ppaurora.app.modes import Mode, NavigationEntry
from ppaurora.app.operator.pages import OperatorPages
from ppaurora.study.kit import NodeKit


class OperatorMode(Mode):
    """Of one node's kit. The node itself runs elsewhere, or does not run: this app does not start it."""

    def __init__(self, kit: NodeKit) -> None:
        self._pages = OperatorPages(kit)
        self.title = f"operator of {kit.title}"

    @property
    def places(self) -> Sequence[NavigationEntry]:
        return (NavigationEntry("Studies", "/"), NavigationEntry("Audit log", "/audit"))

    def routes(self) -> Sequence[web.RouteDef]:
        return self._pages.routes()
