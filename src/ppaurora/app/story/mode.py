"""The example, put together."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING

from aiohttp import web

from ppaurora.app.modes import Mode
from ppaurora.app.security import Handler

if TYPE_CHECKING:
    from ppaurora.app.story.pages import StoryPages


class StoryMode(Mode):
    """Three hospitals and three servers on this machine.

    All that computes is loaded in a thread, while the app starts to listen and the browser opens.
    """

    title = "an example with made-up patients"

    def __init__(self) -> None:
        loader = ThreadPoolExecutor(1, thread_name_prefix="example")
        self._pages: Future[StoryPages] = loader.submit(_load)
        loader.shutdown(wait=False)

    def routes(self) -> Sequence[web.RouteDef]:
        return [
            web.get("/", self._of("story")),
            web.get("/story/computation", self._of("computation")),
            web.post("/story/split", self._of("split")),
            web.post("/story/compute", self._of("compute")),
            web.post("/story/run", self._of("run")),
        ]

    def _of(self, name: str) -> Handler:
        async def handle(request: web.Request) -> web.StreamResponse:
            pages = await asyncio.wrap_future(self._pages)
            response: web.StreamResponse = await getattr(pages, name)(request)
            return response

        return handle

    def close(self) -> None:
        if self._pages.exception() is None:  # else the page has told it, and there is nothing to end
            self._pages.result().example.close()


def _load() -> StoryPages:
    from ppaurora.app.story.pages import StoryPages

    return StoryPages()
