"""Who may talk to the app: the browser that was given the printed link, from the app's own pages.

A web page of somebody else's, open in the same browser, can send requests to 127.0.0.1 too. So every request
must name this address (against DNS rebinding), must not come from another site's page, and must carry the
cookie of a session; whatever changes something must also have this origin and the session's CSRF token,
which only this app's pages contain.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from http import HTTPStatus
from typing import Any

from aiohttp import BodyPartReader, MultipartReader, hdrs, web

from ppaurora.app.keys import SESSIONS
from ppaurora.app.sessions import LOGIN_PATH, Session, Sessions, same_secret

STATIC = "/static/"
CSRF_FIELD, CSRF_HEADER = "csrf", "X-CSRF-Token"
_LONGEST_TOKEN = 100
_READING = ("GET", "HEAD")

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]

# Nothing is loaded from elsewhere, nothing is written into a page, and nobody shows it in a frame.
HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
        "form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Embedder-Policy": "require-corp",
    "Permissions-Policy": (
        "camera=(), clipboard-read=(), display-capture=(), geolocation=(), microphone=(), payment=(), usb=()"
    ),
    # With "no-referrer" browsers would hide the origin of the app's own forms as well.
    "Referrer-Policy": "same-origin",
    "Cache-Control": "no-store",
}


class TurnedAwayError(Exception):
    """A request that is not served, and what its sender reads; it is never told more than this."""

    def __init__(self, status: HTTPStatus, sentence: str) -> None:
        self.status = status
        super().__init__(sentence)


# Of a form with a file: what is left of it to read. Newer versions of aiohttp want a key with a type.
_PARTS: Any = web.RequestKey("parts", MultipartReader) if hasattr(web, "RequestKey") else "parts"


def csrf_token(request: web.Request) -> str:
    """Return the token for the forms of a page; empty on pages for those who are not let in."""
    session = request.app[SESSIONS].session(request)
    return "" if session is None else session.csrf_token


async def form_parts(request: web.Request) -> MultipartReader:
    """Return the parts of a form with a file that follow the CSRF token."""
    parts: MultipartReader | None = request.get(_PARTS)
    return await request.multipart() if parts is None else parts


@web.middleware
async def guard(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Turns away whatever is not from this app's own pages, in this order, before anything is read."""
    sessions = request.app[SESSIONS]
    _check_host(request, sessions)
    is_login = request.path == LOGIN_PATH and request.method == "GET"
    if not is_login:
        _check_site(request)
    if not (is_login or _is_static(request)):
        session = sessions.session(request)
        if session is None:
            raise TurnedAwayError(
                HTTPStatus.FORBIDDEN,
                "This browser has not opened the app's link. Open the link that 'ppaurora app' has printed; "
                "each is good for one use, and Enter in that terminal prints another.",
            )
        if request.method not in _READING:
            _check_origin(request)
            await _check_csrf_token(request, session)
    return await handler(request)


def _check_host(request: web.Request, sessions: Sessions) -> None:
    """A name that somebody else's server resolves to 127.0.0.1 is not this app's."""
    named = request.headers.getall(hdrs.HOST, [])
    if len(named) != 1 or named[0].lower() not in sessions.hosts:
        raise TurnedAwayError(
            HTTPStatus.MISDIRECTED_REQUEST, "This app answers at the address that it has printed, only."
        )


def _check_site(request: web.Request) -> None:
    """Browsers say whose page a request is from: this app's, or nobody's (a person typed the address)."""
    site = request.headers.get("Sec-Fetch-Site", "none")
    if site == "same-origin" or (site == "none" and request.method in _READING):
        return
    if site == "none" and "Sec-Fetch-Site" not in request.headers:
        return  # an old browser: cookie, origin and the CSRF token must do
    raise TurnedAwayError(HTTPStatus.FORBIDDEN, "This app does not answer other sites' pages.")


def _check_origin(request: web.Request) -> None:
    own = f"http://{request.headers[hdrs.HOST].lower()}"
    if request.headers.getall(hdrs.ORIGIN, []) != [own]:
        raise TurnedAwayError(HTTPStatus.FORBIDDEN, "This app does not take what other sites' pages send.")


async def _check_csrf_token(request: web.Request, session: Session) -> None:
    """Check the token in a header, or in the form; of a form with a file it must be the first field."""
    said: Any = request.headers.get(CSRF_HEADER)
    if said is None and request.content_type == "application/x-www-form-urlencoded":
        said = (await request.post()).get(CSRF_FIELD)
    elif said is None and request.content_type == "multipart/form-data":
        said = await _first_field(request)
    if not isinstance(said, str) or not same_secret(session.csrf_token, said):
        raise TurnedAwayError(
            HTTPStatus.FORBIDDEN,
            "This form is not from a page of this app, or from one that was open before it was started. "
            "Nothing was done. Open the page again, and send it from there.",
        )


async def _first_field(request: web.Request) -> str | None:
    try:
        parts = await request.multipart()
        first = await parts.next()
    except (ValueError, AssertionError):  # as aiohttp says that it is no form
        return None
    if not isinstance(first, BodyPartReader) or first.name != CSRF_FIELD:
        return None
    request[_PARTS] = parts
    content = await first.read_chunk(_LONGEST_TOKEN)
    if not first.at_eof() and await first.read_chunk(1):
        return None
    return content.decode("ascii", "replace")


def _is_static(request: web.Request) -> bool:
    return request.path.startswith(STATIC) and request.method in _READING


async def add_headers(request: web.Request, response: web.StreamResponse) -> None:
    """To every response, refusals included."""
    response.headers.update(HEADERS)
    response.headers.popall(hdrs.SERVER, None)
    if request.path == LOGIN_PATH:
        response.headers["Referrer-Policy"] = "no-referrer"
