"""Loads modules and begins work behind the first page, so that a person sees that one sooner."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from aiohttp import web

    from ppaurora.app.security import Handler

P = TypeVar("P")
_SECONDS_TO_PAINT = 0.5  # that a browser takes for a page: it has the processors by itself


def behind_this_page(work: Callable[[], object]) -> None:
    """Begin it when the browser has painted the page that is being answered with."""
    asyncio.get_running_loop().call_later(_SECONDS_TO_PAINT, work)


class LazyPages(Generic[P]):
    """Pages made in a thread, with all that they load: from `begin` on, or when one is asked for."""

    def __init__(self, make: Callable[[], P]) -> None:
        self._make = make
        self._lock = threading.Lock()
        self._made: Future[P] | None = None

    @property
    def made(self) -> P | None:
        """The pages; None before `begin`, and if that has failed; what is under way is waited for."""
        if self._made is None or self._made.exception() is not None:
            return None
        return self._made.result()

    @property
    def is_there(self) -> bool:
        """Whether a page can be asked for without waiting."""
        return self._made is not None and self._made.done() and self._made.exception() is None

    def begin(self) -> Future[P]:
        """Make the pages once, whoever calls it first."""
        with self._lock:
            if self._made is None:
                self._made = Future()
                threading.Thread(target=self._run, args=(self._made,), daemon=True).start()
            return self._made

    def handler(self, name: str) -> Handler:
        """Return the method of this name, of pages that need not be there yet."""

        async def handle(request: web.Request) -> web.StreamResponse:
            pages = await asyncio.wrap_future(self.begin())
            response: web.StreamResponse = await getattr(pages, name)(request)
            return response

        return handle

    def _run(self, made: Future[P]) -> None:
        try:
            made.set_result(self._make())
        except BaseException as error:
            made.set_exception(error)
