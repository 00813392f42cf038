"""Pages from templates, and what takes a page's place when something is wrong."""

from __future__ import annotations

import logging
import os
from http import HTTPStatus
from typing import Any

from aiohttp import web

from ppaurora.app import TEMPLATES
from ppaurora.app.jobs import BusyError, TooLargeError, sentence_of
from ppaurora.app.keys import MODE, SESSIONS
from ppaurora.app.security import Handler, TurnedAwayError, csrf_token
from ppaurora.errors import (
    InputError,
    NotReleasedError,
    PeerError,
    PpauroraError,
    RefusedError,
    UndefinedResultError,
)
from ppaurora.pages.environment import environment
from ppaurora.version import __version__

log = logging.getLogger(__name__)

_STATUS = (
    (BusyError, HTTPStatus.CONFLICT),
    (TooLargeError, HTTPStatus.REQUEST_ENTITY_TOO_LARGE),
    (NotReleasedError, HTTPStatus.CONFLICT),
    (RefusedError, HTTPStatus.CONFLICT),
    (UndefinedResultError, HTTPStatus.CONFLICT),
    (PeerError, HTTPStatus.BAD_GATEWAY),
    (InputError, HTTPStatus.UNPROCESSABLE_ENTITY),
)


def page(request: web.Request, template: str, *, status: int = HTTPStatus.OK, **shown: Any) -> web.Response:
    """Render a template with what it prints, in the frame of all pages."""
    mode = request.app[MODE]
    text = (
        environment(TEMPLATES)
        .get_template(template)
        .render(mode=mode, here=request.path, csrf=csrf_token(request), version=__version__, **shown)
    )
    return web.Response(text=text, content_type="text/html", status=status)


@web.middleware
async def answer_errors(request: web.Request, handler: Handler) -> web.StreamResponse:
    """A sentence in a page, whatever happens."""
    try:
        return await handler(request)
    except TurnedAwayError as error:
        return _stranger(request, error.status, str(error))
    except web.HTTPException as error:
        if error.status < HTTPStatus.BAD_REQUEST:
            raise
        if request.app[SESSIONS].session(request) is None:
            return _stranger(request, error.status, error.reason)
        return failure(request, error, status=error.status, sentence=_HTTP.get(error.status, error.reason))
    except PpauroraError as error:
        status = next((code for kind, code in _STATUS if isinstance(error, kind)), HTTPStatus.BAD_GATEWAY)
        return failure(request, error, status=status)
    except (ConnectionError, TimeoutError):
        raise
    except Exception as error:
        if os.environ.get("PPAURORA_DEBUG"):
            log.exception("a page failed")
        return failure(request, error, status=HTTPStatus.INTERNAL_SERVER_ERROR)


_HTTP: dict[int, str] = {
    HTTPStatus.NOT_FOUND: "There is no such page.",
    HTTPStatus.METHOD_NOT_ALLOWED: "This page cannot do that.",
    HTTPStatus.REQUEST_ENTITY_TOO_LARGE: "That is more than this page takes.",
}


def failure(request: web.Request, error: BaseException, *, status: int, sentence: str = "") -> web.Response:
    """Return a page that says what is wrong, how far it came, and what to do next."""
    return page(
        request,
        "problem.html",
        status=status,
        sentence=sentence or sentence_of(error),
        notes=getattr(error, "__notes__", ()),
        back=_above(request.path) if status != HTTPStatus.NOT_FOUND else "/",
    )


def _above(path: str) -> str:
    """Return the page that a form is on: forms are sent to an address below it."""
    parts = path.split("/")[:-1]
    return "/".join(parts) if len(parts) > 2 else "/"


def _stranger(request: web.Request, status: int, sentence: str) -> web.Response:
    """Render a page with nothing of the kit, for whoever has no session."""
    text = environment(TEMPLATES).get_template("stranger.html").render(sentence=sentence)
    return web.Response(text=text, content_type="text/html", status=status)
