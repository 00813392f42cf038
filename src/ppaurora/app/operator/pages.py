"""An operator's pages: they read a request, call what the commands call, and print what it says."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from http import HTTPStatus

from aiohttp import web

from ppaurora.app.operator.proposals import TOO_LARGE, Proposals, receive_proposal
from ppaurora.app.operator.views import LogView, NodeView, StudyView
from ppaurora.app.rendering import page
from ppaurora.app.told import Told
from ppaurora.errors import InputError
from ppaurora.node import operating
from ppaurora.setup.acceptance import accept, accept_amendments, review_amendments
from ppaurora.study.amendments import MOST_BYTES
from ppaurora.study.kit import NodeKit
from ppaurora.study.manifest import Manifest
from ppaurora.study.organisations import shared_nodes

# What a page says after something was done, by a word in its address.
_DONE = {
    "accepted": "Accepted. The node takes part from now on, or as soon as it runs.",
    "accepted-before": "It had already been accepted; nothing was changed.",
    "amended": "Accepted. The amendment counts once the node that leads has it as well; the computation "
    "waits for all operators, and for the owners who are asked.",
    "retried": "Resumed at this node. Each operator decides for their own node.",
    "stopped": "Stopped at this node until you resume it.",
    "aborted": "The attempt was aborted, and the study is stopped at this node until you resume it.",
    "deleted": "Deleted at this node, with its shares and its parts of the result. A new study needs a new "
    "name.",
}
_ACTIONS: dict[str, tuple[Callable[[NodeKit, str], object], str]] = {
    "retry": (operating.retry, "retried"),
    "stop": (operating.stop, "stopped"),
    "abort": (operating.abort, "aborted"),
    "delete": (operating.delete, "deleted"),
}


class OperatorPages:
    """The operator's pages of one node's kit."""

    def __init__(self, kit: NodeKit) -> None:
        self._kit = kit
        self._proposals = Proposals(kit)

    def routes(self) -> Sequence[web.RouteDef]:
        study, proposal, amendments = "/studies/{study}", "/proposals/{hash}", "/amendments/{hash}"
        return [
            web.get("/", self._node),
            web.get("/live", self._node_live),
            web.get(study, self._study),
            web.get(f"{study}/live", self._study_live),
            web.get(f"{study}/delete", self._ask_delete),
            web.post(f"{study}/{{action:{'|'.join(_ACTIONS)}}}", self._act),
            web.post("/proposals", self._propose),
            web.get(proposal, self._review),
            web.post(f"{proposal}/accept", self._accept),
            web.get(amendments, self._review_amendments),
            web.post(f"{amendments}/accept", self._accept_amendments),
            web.get("/audit", self._audit),
        ]

    async def _node(self, request: web.Request) -> web.Response:
        view = await asyncio.to_thread(NodeView.of, self._kit)
        return page(
            request,
            "operator/node.html",
            kit=self._kit,
            view=view,
            most_bytes=MOST_BYTES,
            too_large=TOO_LARGE,
            reload=True,
        )

    async def _node_live(self, request: web.Request) -> web.Response:
        view = await asyncio.to_thread(NodeView.of, self._kit)
        return page(request, "operator/node-live.html", view=view)

    async def _study(self, request: web.Request) -> web.Response:
        view = await self._view(request)
        return page(
            request,
            "operator/study.html",
            view=view,
            manifest=view.manifest,
            told=await asyncio.to_thread(Told.of, view.manifest),
            done=_DONE.get(request.query.get("done", ""), ""),
            reload=True,
        )

    async def _study_live(self, request: web.Request) -> web.Response:
        return page(request, "operator/study-live.html", view=await self._view(request))

    async def _view(self, request: web.Request) -> StudyView:
        return await asyncio.to_thread(StudyView.of, self._kit, request.match_info["study"])

    async def _ask_delete(self, request: web.Request) -> web.Response:
        name = request.match_info["study"]
        state = await asyncio.to_thread(operating.state_to_delete, self._kit, name)
        return page(request, "operator/delete.html", name=name, state=state, kit=self._kit)

    async def _act(self, request: web.Request) -> web.Response:
        """Act as the command of the same name does. What another tab has done is told, not done again."""
        name = request.match_info["study"]
        act, done = _ACTIONS[request.match_info["action"]]
        try:
            await asyncio.to_thread(act, self._kit, name)
        except InputError as error:
            return page(
                request,
                "problem.html",
                status=HTTPStatus.CONFLICT,
                sentence=str(error),
                notes=("Nothing was changed; it may have been done in another tab or on the command line.",),
                back=f"/studies/{name}",
            )
        return _go(f"/studies/{name}?done={done}")

    async def _propose(self, request: web.Request) -> web.Response:
        return _go(self._proposals.add(await receive_proposal(request)))

    async def _review(self, request: web.Request) -> web.Response:
        manifest = self._proposals.find(request.match_info["hash"])
        return page(
            request,
            "operator/review.html",
            manifest=manifest,
            told=await asyncio.to_thread(Told.of, manifest),
            shared=shared_nodes(manifest),
            server=self._kit.server(manifest).title,
        )

    async def _accept(self, request: web.Request) -> web.Response:
        manifest = self._proposals.find(request.match_info["hash"])
        force = await self._confirmed(request, manifest)
        is_new = await asyncio.to_thread(accept, self._kit, manifest, force=force)
        return _go(f"/studies/{manifest.study}?done={'accepted' if is_new else 'accepted-before'}")

    async def _review_amendments(self, request: web.Request) -> web.Response:
        amendments = self._proposals.find_amendments(request.match_info["hash"])
        latest = amendments.latest
        return page(
            request,
            "operator/amendment.html",
            manifest=latest,
            review=await asyncio.to_thread(review_amendments, self._kit, amendments),
            shared=shared_nodes(latest),
            leader=latest.protocol.leader.title,
            server=self._kit.server(latest).title,
        )

    async def _accept_amendments(self, request: web.Request) -> web.Response:
        amendments = self._proposals.find_amendments(request.match_info["hash"])
        force = await self._confirmed(request, amendments.latest)
        is_new = await asyncio.to_thread(accept_amendments, self._kit, amendments, force=force)
        return _go(f"/studies/{amendments.latest.study}?done={'amended' if is_new else 'accepted-before'}")

    async def _confirmed(self, request: web.Request, manifest: Manifest) -> bool:
        """Raise unless a person has agreed to this; return whether in spite of nodes of one organisation."""
        form = await request.post()
        if "agree" not in form:
            raise InputError(
                "not accepted: read the agreement and confirm that you have; nothing was changed"
            )
        shared = shared_nodes(manifest)
        if shared and "force" not in form:
            raise InputError(f"not accepted: {'; '.join(shared)}; nothing was changed")
        self._kit.expect(manifest, str(form.get("expect-hash", "")).strip() or None)
        return "force" in form

    async def _audit(self, request: web.Request) -> web.Response:
        before = request.query.get("before", "")
        number = int(before) if before.isascii() and before.isdecimal() and len(before) < 16 else None
        log = await asyncio.to_thread(LogView.of, self._kit, number)
        return page(request, "operator/audit.html", log=log, kit=self._kit)


def _go(path: str) -> web.Response:
    """On, by a GET: a page that is loaded again sends nothing again."""
    return web.Response(status=HTTPStatus.SEE_OTHER, headers={"Location": path})
