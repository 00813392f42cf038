"""The app from start to end: listens on 127.0.0.1, prints a link, opens it, and leaves cleanly."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import signal
import socket
import sys
import threading
import webbrowser
from collections.abc import Callable, Iterator
from http import HTTPStatus
from pathlib import Path

from aiohttp import web

from ppaurora.app.accounts import account_of
from ppaurora.app.modes import MODE, Mode, mode_for
from ppaurora.app.rendering import TEMPLATES, answer_errors
from ppaurora.app.security import DOOR, ENTRANCE, STATIC, FrontDoor, TurnedAwayError, add_headers, guard
from ppaurora.app.workroom import WORKROOM, Workroom
from ppaurora.errors import InputError
from ppaurora.files import write_secret
from ppaurora.pages.environment import environment, style_sheet

ADDRESS = "127.0.0.1"
_OWN = Path(__file__).parent / "static"
_FILES = {"app.js": "text/javascript", "app.css": "text/css"}  # of this folder
_MOST_BYTES = 1 << 16  # of a form; files are read as they come
_SECONDS_TO_FINISH = 10.0
# What the library says of a request that is no HTTP quotes it, and so the session's cookie.
_UNHEARD = logging.getLogger(f"{__name__}.requests")
_UNHEARD.disabled = True
_HANDLER: dict[str, object] = {
    "access_log": None,
    "auto_decompress": False,
    "keepalive_timeout": 30.0,
    "logger": _UNHEARD,
}

Say = Callable[[str], None]


def run(kit: Path | None, *, port: int, browser: bool, say: Say) -> None:
    """Until SIGTERM or Ctrl-C. `say` prints a line for people."""
    mode = mode_for(kit)
    try:
        with _listening(port) as listener, Workroom(mode.folder) as workroom:
            asyncio.run(_serve(mode, workroom, listener, browser=browser, say=say))
    finally:
        mode.close()


def make_app(mode: Mode, door: FrontDoor, workroom: Workroom) -> web.Application:
    """All pages, behind the guard."""
    app = web.Application(
        middlewares=[answer_errors, guard], client_max_size=_MOST_BYTES, handler_args=_HANDLER
    )
    app[MODE], app[DOOR], app[WORKROOM] = mode, door, workroom
    app.on_response_prepare.append(add_headers)
    app.add_routes(
        [
            web.get(ENTRANCE, _enter, allow_head=False),
            web.get(STATIC + "{name}", _static),
            *mode.routes(),
        ]
    )
    return app


async def _serve(mode: Mode, workroom: Workroom, listener: socket.socket, *, browser: bool, say: Say) -> None:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        loop.add_signal_handler(number, stop.set)
    door = FrontDoor(listener.getsockname()[1])
    runner = web.AppRunner(make_app(mode, door, workroom), shutdown_timeout=1.0)
    await runner.setup()
    try:
        await web.SockSite(runner, listener).start()
        say(f"open this link in a browser on this machine: {door.new_link()}")
        say("it is good for one use, by one browser. Enter prints another one; Ctrl-C ends the app")
        with _new_link_at_enter(door, say):
            if browser:
                _open_browser(door, workroom)
            await stop.wait()
    finally:
        await runner.cleanup()
    await _let_finish(mode, say)


async def _let_finish(mode: Mode, say: Say) -> None:
    """What is under way gets a moment; whatever is cut off is found by the next start."""
    if mode.under_way:
        say(f"waiting {_SECONDS_TO_FINISH:g} seconds at most: {mode.under_way} is under way")
        deadline = asyncio.get_running_loop().time() + _SECONDS_TO_FINISH
        while mode.under_way and asyncio.get_running_loop().time() < deadline:
            await asyncio.sleep(0.1)
    if mode.under_way:
        say(f"{mode.under_way} was cut off; start the app again to go on")


@contextlib.contextmanager
def _listening(port: int) -> Iterator[socket.socket]:
    """Nobody else's machine can connect to this."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((ADDRESS, port))
        except (OSError, OverflowError) as error:
            reason = getattr(error, "strerror", None) or "is no port"
            raise InputError(
                f"--port {port}: {reason}; leave the option out, and a free one is taken"
            ) from None
        listener.listen()
        yield listener


@contextlib.contextmanager
def _new_link_at_enter(door: FrontDoor, say: Say) -> Iterator[None]:
    """For a browser that was closed, or another one."""
    if sys.stdin is None or not sys.stdin.isatty():
        yield
        return

    def entered() -> None:
        if sys.stdin.readline():
            say(door.new_link())
        else:
            loop.remove_reader(sys.stdin)

    loop = asyncio.get_running_loop()
    loop.add_reader(sys.stdin, entered)
    try:
        yield
    finally:
        loop.remove_reader(sys.stdin)


def _open_browser(door: FrontDoor, workroom: Workroom) -> None:
    """By a file that only this user can read: all users of a machine see what programs are started with."""
    path = workroom.path / "open.html"
    text = environment(TEMPLATES).get_template("open.html").render(link=door.new_link())
    write_secret(path, text.encode())
    threading.Thread(target=webbrowser.open, args=(path.as_uri(),), daemon=True).start()


async def _enter(request: web.Request) -> web.StreamResponse:
    """The link's token for a cookie; and on, to an address without it."""
    session = request.app[DOOR].enter(request.query.get("token", ""), account_of(request))
    if session is None:
        raise TurnedAwayError(
            HTTPStatus.FORBIDDEN,
            "This link was used before, or is not one of this app's. Each lets in one browser, once. If the "
            "app is open in another tab, go on there; else press Enter in the terminal where 'ppaurora app' "
            "runs, and open the link that it prints.",
        )
    response: web.Response
    if request.headers.get("Sec-Fetch-Site", "none") in ("none", "same-origin"):
        response = web.Response(status=HTTPStatus.SEE_OTHER, headers={"Location": "/"})
    else:
        text = environment(TEMPLATES).get_template("welcome.html").render()
        response = web.Response(text=text, content_type="text/html")
    request.app[DOOR].admit(response, session)
    return response


async def _static(request: web.Request) -> web.Response:
    """A few files, by name: no path is ever made of a request."""
    name = request.match_info["name"]
    if name == "style.css":
        return web.Response(text=style_sheet(), content_type="text/css")
    if name not in _FILES:
        raise web.HTTPNotFound
    return web.Response(text=(_OWN / name).read_text("utf-8"), content_type=_FILES[name])
