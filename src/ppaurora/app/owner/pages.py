"""An owner's pages: they read a request, call the controller, and render what it returns."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from http import HTTPStatus

from aiohttp import web

from ppaurora.app.keys import PRIVATE_FOLDER
from ppaurora.app.owner.column_form import columns_of
from ppaurora.app.owner.controller import Agreement, OwnerController
from ppaurora.app.owner.results import KINDS, ResultView, saved
from ppaurora.app.owner.uploads import MOST_BYTES, check_length, receive_file, too_large
from ppaurora.app.owner.views import LiveView, WorkView
from ppaurora.app.rendering import page
from ppaurora.app.told import Told
from ppaurora.data.encodings import WINDOWS
from ppaurora.study.kit import OwnerKit

_PATIENCE = 0.4  # seconds that a page waits for what nodes say


class OwnerPages:
    """Pages of the studies of one owner's kit, with a controller for each study."""

    def __init__(self, kit: OwnerKit) -> None:
        self._kit = kit
        self._controllers: dict[str, OwnerController] = {}

    @property
    def controllers(self) -> Sequence[OwnerController]:
        return tuple(self._controllers.values())

    def _controller(self, request: web.Request) -> OwnerController:
        """Find the study by the name in the address; a kit may have got it while the app runs."""
        name = request.match_info["study"]
        manifest = next((one for one in self._kit.manifests() if one.study == name), None)
        if manifest is None:
            raise web.HTTPNotFound
        found = self._controllers.get(manifest.hash)
        if found is None:
            found = self._controllers[manifest.hash] = OwnerController(self._kit, manifest)
        return found

    async def study(self, request: web.Request) -> web.Response:
        controller = self._controller(request)
        seen = await asyncio.to_thread(controller.poller.look, _PATIENCE)
        return page(
            request,
            "owner/study.html",
            manifest=controller.manifest,
            owner=self._kit.name,
            live=LiveView.of(controller, seen),
            told=await asyncio.to_thread(Told.of, controller.manifest),
            reload=True,
        )

    async def live(self, request: web.Request) -> web.Response:
        controller = self._controller(request)
        return page(request, "owner/live.html", live=LiveView.of(controller, controller.poller.look()))

    async def data(self, request: web.Request) -> web.Response:
        controller = self._controller(request)
        work = WorkView.of(controller.jobs.last)  # before the draft: work that is over has left it so
        draft = controller.draft
        check = None if draft is None else draft.looked.check
        told = None
        if check is not None and not check.refusal:
            told = await asyncio.to_thread(Told.of, controller.manifest, check.samples)
        return page(
            request,
            "owner/data.html",
            manifest=controller.manifest,
            draft=draft,
            states_left_out=controller.study.design.left_out,
            encodings=WINDOWS,
            check=check,
            work=work,
            told=told,
            before=_sent_before(controller),
            most_bytes=MOST_BYTES,
            too_large=too_large(self._kit.folder, controller.manifest.study),
            reload=controller.jobs.running is not None,
        )

    async def data_live(self, request: web.Request) -> web.Response:
        """Show how far reading the file is; once it is read, the whole page is another."""
        controller = self._controller(request)
        path = f"/studies/{controller.manifest.study}/data"
        return page(request, "owner/work.html", work=WorkView.of(controller.jobs.running), path=path)

    async def take(self, request: web.Request) -> web.StreamResponse:
        controller = self._controller(request)
        controller.jobs.check_idle()
        folder = request.app[PRIVATE_FOLDER].path
        check_length(request, folder, too_large(self._kit.folder, controller.manifest.study))
        controller.take(*await receive_file(request, folder))
        return _go(f"/studies/{controller.manifest.study}/data")

    async def columns(self, request: web.Request) -> web.StreamResponse:
        controller, form = self._controller(request), await request.post()
        number, draft = str(form.get("draft", "")), controller.draft
        written = [str(form.get(name, "")) or None for name in ("sheet", "encoding")]
        if draft is not None and written != [draft.columns.sheet, draft.columns.encoding]:
            controller.open(number, *written)
        else:
            controller.check(number, columns_of(form, controller.study.design))
        return _go(f"/studies/{controller.manifest.study}/data")

    async def put_away(self, request: web.Request) -> web.StreamResponse:
        controller, form = self._controller(request), await request.post()
        controller.put_away(str(form.get("draft", "")))
        return _go(f"/studies/{controller.manifest.study}/data")

    async def submit(self, request: web.Request) -> web.StreamResponse:
        controller, form = self._controller(request), await request.post()
        agreement = Agreement("agree" in form, "despite-warnings" in form, "replace" in form)
        controller.submit(str(form.get("draft", "")), agreement)
        return _go(f"/studies/{controller.manifest.study}")

    async def ask_withdraw(self, request: web.Request) -> web.Response:
        controller = self._controller(request)
        return page(
            request,
            "owner/withdraw.html",
            manifest=controller.manifest,
            owner=self._kit.name,
            sent=_sent_before(controller),
        )

    async def withdraw(self, request: web.Request) -> web.StreamResponse:
        controller = self._controller(request)
        controller.withdraw()
        return _go(f"/studies/{controller.manifest.study}")

    async def collect(self, request: web.Request) -> web.StreamResponse:
        controller = self._controller(request)
        job = controller.collect()
        await asyncio.to_thread(job.wait, 2.0)
        done = job.is_over and job.error is None
        return _go(f"/studies/{controller.manifest.study}" + ("/result" if done else ""))

    async def result(self, request: web.Request) -> web.Response:
        controller = self._controller(request)
        view = await asyncio.to_thread(ResultView.of, controller)
        return page(request, "owner/result.html", manifest=controller.manifest, result=view, kinds=KINDS)

    async def save(self, request: web.Request) -> web.Response:
        controller = self._controller(request)
        kind = KINDS.get(request.match_info["kind"])
        if kind is None:
            raise web.HTTPNotFound
        content = await asyncio.to_thread(saved, controller, kind)
        name = f"{controller.manifest.study}.{kind.suffix}"
        return web.Response(
            body=content,
            content_type=kind.content_type,
            charset="utf-8",
            headers={"Content-Disposition": f'attachment; filename="{name}"'},
        )


def _sent_before(controller: OwnerController) -> int | None:
    """Return how many samples were sent before, unless they were withdrawn."""
    submission = controller.study.submitted
    if submission is None or submission.withdrawal or not submission.sent:
        return None
    return submission.samples


def _go(path: str) -> web.Response:
    """On, by a GET: a page that is loaded again sends nothing again."""
    return web.Response(status=HTTPStatus.SEE_OTHER, headers={"Location": path})
