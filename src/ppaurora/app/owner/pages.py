"""An owner's pages: they read a request, call the controller, and render what it returns."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from http import HTTPStatus

from aiohttp import web

from ppaurora.app.keys import PRIVATE_FOLDER
from ppaurora.app.owner.additions import Additions, amendments_in, receive_addition
from ppaurora.app.owner.column_form import columns_of
from ppaurora.app.owner.controller import Agreement, OwnerController
from ppaurora.app.owner.kits import KitStudy, OwnerKits
from ppaurora.app.owner.overview import STUDIES, Standing, StudyRow, listing
from ppaurora.app.owner.poller import Seen
from ppaurora.app.owner.results import KINDS, ResultView, saved
from ppaurora.app.owner.uploads import MOST_BYTES, check_length, receive_file, too_large
from ppaurora.app.owner.views import LiveView, WorkView, standing
from ppaurora.app.rendering import page
from ppaurora.app.told import Told
from ppaurora.data.encodings import WINDOWS
from ppaurora.errors import InputError
from ppaurora.study.amendments import Amendments
from ppaurora.study.pack import MOST_BYTES as MOST_KIT_BYTES

_PATIENCE = 0.4  # seconds that a page waits for what nodes say


class OwnerPages:
    """Pages of the studies of one owner, with a controller for each study."""

    def __init__(self, kits: OwnerKits) -> None:
        self._kits = kits
        self._additions = Additions(kits)
        self._controllers: dict[str, OwnerController] = {}

    @property
    def controllers(self) -> Sequence[OwnerController]:
        return tuple(self._controllers.values())

    def _controller(self, request: web.Request) -> OwnerController:
        """Find the study by the name in the address; a kit may have got it while the app runs."""
        found = self._kits.find(request.match_info["study"])
        if found is None:
            raise web.HTTPNotFound
        return self._controller_of(found)

    def _controller_of(self, study: KitStudy) -> OwnerController:
        """Return the one that all tabs share, whichever thread asks first, also once the study is amended."""
        hash_ = study.manifest.study_hash
        found = self._controllers.get(hash_)
        if found is None:
            return self._controllers.setdefault(hash_, OwnerController(study.kit, study.manifest))
        found.follow(study.manifest)
        return found

    async def studies(self, request: web.Request) -> web.Response:
        rows = await self._rows(_PATIENCE)
        return page(request, STUDIES, **listing(self._kits.first, rows))

    async def studies_live(self, request: web.Request) -> web.Response:
        return page(request, "owner/studies-live.html", rows=await self._rows(0.0))

    async def _rows(self, patience: float) -> list[StudyRow]:
        studies = self._kits.studies
        return list(await asyncio.gather(*(asyncio.to_thread(self._row, one, patience) for one in studies)))

    def _row(self, study: KitStudy, patience: float) -> StudyRow:
        """Make the row of one study; what is wrong with it stays with it."""
        try:
            controller = self._controller_of(study)
            # Nobody is asked about a study that is over.
            seen = Seen() if controller.study.is_collected else controller.poller.look(patience)
            return StudyRow.of(study, standing(controller, seen))
        except InputError as error:
            return StudyRow.of(study, Standing("This study cannot be shown", str(error), "bad"))

    async def take_addition(self, request: web.Request) -> web.StreamResponse:
        content, name = await receive_addition(request)
        amendments = await asyncio.to_thread(amendments_in, content, name)
        if amendments is not None:
            return await self._give(amendments)
        folder = request.app[PRIVATE_FOLDER].path
        found = await asyncio.to_thread(self._additions.take, content, name, folder)
        return _go(f"/add/{found.number}")

    async def _give(self, amendments: Amendments) -> web.StreamResponse:
        """Show amendments that came as a file where those that nodes tell of are shown."""
        name = amendments.first.study
        found = await asyncio.to_thread(self._kits.find, name)
        if found is None:
            raise InputError(f"these are amendments to {name}, in which you do not take part here")
        await asyncio.to_thread(self._controller_of(found).give, amendments)
        return _go(f"/studies/{name}")

    async def addition(self, request: web.Request) -> web.Response:
        found = self._additions.find(request.match_info["number"])
        told = None if found.manifest is None else await asyncio.to_thread(Told.of, found.manifest)
        return page(
            request,
            "owner/addition.html",
            addition=found,
            manifest=found.manifest,
            told=told,
            path=request.path,
        )

    async def open_addition(self, request: web.Request) -> web.StreamResponse:
        form, folder = await request.post(), request.app[PRIVATE_FOLDER].path
        number, passphrase = request.match_info["number"], str(form.get("passphrase", ""))
        found = await asyncio.to_thread(self._additions.open, number, passphrase, folder)
        return _go(f"/add/{found.number}")

    async def agree_to_addition(self, request: web.Request) -> web.StreamResponse:
        number, form = request.match_info["number"], await request.post()
        found = self._additions.find(number)
        if "agree" not in form:
            raise InputError("not added: read the agreement, and confirm that you have. Nothing was changed")
        if found.shared and "force" not in form:
            raise InputError(f"not added: {'; '.join(found.shared)}. Nothing was changed")
        if found.kit is not None and found.manifest is not None:
            found.kit.expect(found.manifest, str(form.get("expect-hash", "")).strip() or None)
        manifest = await asyncio.to_thread(self._additions.agree, number, force="force" in form)
        return _go(f"/studies/{manifest.study}")

    async def put_addition_away(self, request: web.Request) -> web.StreamResponse:
        self._additions.put_away(request.match_info["number"])
        return _go("/")

    async def study(self, request: web.Request) -> web.Response:
        controller = self._controller(request)
        seen = await asyncio.to_thread(controller.poller.look, _PATIENCE)
        return page(
            request,
            "owner/study.html",
            manifest=controller.manifest,
            owner=controller.study.kit.name,
            live=LiveView.of(controller, seen),
            told=await asyncio.to_thread(Told.of, controller.manifest),
            most_bytes=MOST_KIT_BYTES,
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
            too_large=too_large(),
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
        check_length(request, folder, too_large())
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
        agreement = Agreement(
            "agree" in form, "despite-warnings" in form, "replace" in form, "keep-own" in form
        )
        controller.submit(str(form.get("draft", "")), agreement)
        return _go(f"/studies/{controller.manifest.study}")

    async def ask_withdraw(self, request: web.Request) -> web.Response:
        controller = self._controller(request)
        return page(
            request,
            "owner/withdraw.html",
            manifest=controller.manifest,
            owner=controller.study.kit.name,
            sent=_sent_before(controller),
        )

    async def withdraw(self, request: web.Request) -> web.StreamResponse:
        controller = self._controller(request)
        controller.withdraw()
        return _go(f"/studies/{controller.manifest.study}")

    async def agree_to_amendment(self, request: web.Request) -> web.StreamResponse:
        controller, form = self._controller(request), await request.post()
        controller.agree(str(form.get("manifest", "")))
        return _go(f"/studies/{controller.manifest.study}")

    async def tell_agreement(self, request: web.Request) -> web.StreamResponse:
        controller = self._controller(request)
        controller.tell_agreement()
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

    async def forget_own(self, request: web.Request) -> web.StreamResponse:
        controller = self._controller(request)
        controller.own_values.delete()
        return _go(f"/studies/{controller.manifest.study}/result")

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
