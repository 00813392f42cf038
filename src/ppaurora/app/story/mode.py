"""The example, put together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ppaurora.app.lazy import LazyPages
from ppaurora.app.modes import Mode

if TYPE_CHECKING:
    from aiohttp import web

    from ppaurora.app.story.pages import StoryPages


class StoryMode(Mode):
    """Three hospitals and three servers on this machine.

    All that computes is loaded in a thread, while the app starts to listen and the browser opens.
    """

    title = "an example with made-up patients"

    def __init__(self) -> None:
        self._pages = LazyPages(_load)

    def begin(self) -> None:
        self._pages.begin()

    def routes(self) -> Sequence[web.RouteDef]:
        from aiohttp import web

        of = self._pages.handler
        return [
            web.get("/", of("story")),
            web.get("/story/computation", of("computation")),
            web.post("/story/split", of("split")),
            web.post("/story/compute", of("compute")),
            web.post("/story/run", of("run")),
        ]

    def close(self) -> None:
        pages = self._pages.made
        if pages is not None:  # else the page has told why, and there is nothing to end
            pages.example.close()


def _load() -> StoryPages:
    from ppaurora.app.story.pages import StoryPages

    return StoryPages()
