"""All addresses of the app, behind the guard."""

from __future__ import annotations

import logging
from http import HTTPStatus
from pathlib import Path

from aiohttp import web

from ppaurora.app import TEMPLATES
from ppaurora.app.accounts import account_of
from ppaurora.app.keys import MODE, PRIVATE_FOLDER, SESSIONS
from ppaurora.app.modes import Mode
from ppaurora.app.private_folder import PrivateFolder
from ppaurora.app.rendering import answer_errors
from ppaurora.app.security import STATIC, TurnedAwayError, add_headers, guard
from ppaurora.app.sessions import LOGIN_PATH, Sessions
from ppaurora.pages.environment import environment, style_sheet

_OWN = Path(__file__).parent / "static"
_FILES = {"app.js": "text/javascript", "app.css": "text/css"}  # of this folder
_MOST_BYTES = 1 << 16  # of a form; files are read as they come
# What the library says of a request that is no HTTP quotes it, and so the session's cookie.
_UNHEARD = logging.getLogger(f"{__name__}.requests")
_UNHEARD.disabled = True
_HANDLER: dict[str, object] = {
    "access_log": None,
    "auto_decompress": False,
    "keepalive_timeout": 30.0,
    "logger": _UNHEARD,
}


def make_app(mode: Mode, sessions: Sessions, private_folder: PrivateFolder) -> web.Application:
    """Make the app: all pages, behind the guard."""
    app = web.Application(
        middlewares=[answer_errors, guard], client_max_size=_MOST_BYTES, handler_args=_HANDLER
    )
    app[MODE], app[SESSIONS], app[PRIVATE_FOLDER] = mode, sessions, private_folder
    app.on_response_prepare.append(add_headers)
    app.add_routes(
        [
            web.get(LOGIN_PATH, _enter, allow_head=False),
            web.get(STATIC + "{name}", _static),
            *mode.routes(),
        ]
    )
    return app


async def _enter(request: web.Request) -> web.StreamResponse:
    """Exchange the link's token for a cookie, and redirect to an address without it."""
    session = request.app[SESSIONS].enter(request.query.get("token", ""), account_of(request))
    if session is None:
        raise TurnedAwayError(
            HTTPStatus.FORBIDDEN,
            "This link has already been used, or does not belong to this app. Each link works once, in one "
            "browser. If the app is open in another tab, continue there; otherwise press Enter in the "
            "terminal where 'ppaurora app' runs, and open the link it prints.",
        )
    response: web.Response
    if request.headers.get("Sec-Fetch-Site", "none") in ("none", "same-origin"):
        response = web.Response(status=HTTPStatus.SEE_OTHER, headers={"Location": "/"})
    else:
        text = environment(TEMPLATES).get_template("welcome.html").render()
        response = web.Response(text=text, content_type="text/html")
    request.app[SESSIONS].admit(response, session)
    return response


async def _static(request: web.Request) -> web.Response:
    """Serve one of a few files, by name: no path is ever made of a request."""
    name = request.match_info["name"]
    if name == "style.css":
        return web.Response(text=style_sheet(), content_type="text/css")
    if name not in _FILES:
        raise web.HTTPNotFound
    return web.Response(text=(_OWN / name).read_text("utf-8"), content_type=_FILES[name])
