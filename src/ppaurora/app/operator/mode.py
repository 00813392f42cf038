"""The pages of a node's operator, put together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ppaurora.app.modes import Mode, NavigationEntry
from ppaurora.study.kit import NodeKit

if TYPE_CHECKING:
    from aiohttp import web


class OperatorMode(Mode):
    """The operator's mode, for one node's kit. This app does not start the node, which may run elsewhere."""

    def __init__(self, kit: NodeKit) -> None:
        self._kit = kit
        self.title = f"operator of {kit.title}"

    @property
    def places(self) -> Sequence[NavigationEntry]:
        return (NavigationEntry("Studies", "/"), NavigationEntry("Audit log", "/audit"))

    def routes(self) -> Sequence[web.RouteDef]:
        from ppaurora.app.operator.pages import OperatorPages

        return OperatorPages(self._kit).routes()
