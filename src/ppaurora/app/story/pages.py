"""The example's one page, step by step."""

from __future__ import annotations

import asyncio
from typing import NoReturn

from aiohttp import web

from ppaurora.app.lazy import behind_this_page
from ppaurora.app.rendering import page
from ppaurora.app.story.example import Example
from ppaurora.app.story.pictures import alone_chart, compared_chart, in_words

_SPLITS_AT_FIRST = 2  # so that one sees that they differ


class StoryPages:
    """The pages of the example, which can be read and run."""

    def __init__(self) -> None:
        self.example = Example()

    async def story(self, request: web.Request) -> web.Response:
        example = self.example
        # Both as they are now, whatever comes while the page is drawn; what is over has left its outcome.
        running = example.computation.running
        outcome = example.outcome
        response = page(
            request,
            "story/story.html",
            example=example,
            job=example.computation.last,
            running=running,
            outcome=outcome,
            alone=alone_chart(example.hospitals),
            compared=None if outcome is None else compared_chart(example.hospitals, outcome),
            in_words=in_words,
            reload=running is not None,
        )
        behind_this_page(self._prepare)
        return response

    def _prepare(self) -> None:
        if self.example.preparation.last is None:
            self.example.prepare()

    async def computation(self, request: web.Request) -> web.Response:
        """Show how far the computation is."""
        example = self.example
        return page(request, "story/computation.html", example=example, job=example.computation.last)

    async def split(self, _: web.Request) -> NoReturn:
        await self._split()
        raise web.HTTPSeeOther("/#shares")

    async def compute(self, _: web.Request) -> NoReturn:
        self.example.compute()
        raise web.HTTPSeeOther("/#servers")

    async def run(self, _: web.Request) -> NoReturn:
        """The steps that were not taken yet."""
        if not self.example.splits:
            await self._split()
        self.example.compute()
        raise web.HTTPSeeOther("/#servers")

    async def _split(self) -> None:
        for _ in range(1 if self.example.splits else _SPLITS_AT_FIRST):
            await asyncio.to_thread(self.example.split)
