"""The app from start to end: listens on 127.0.0.1, prints a link, opens it, and leaves cleanly."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import socket
import sys
import threading
import webbrowser
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING

from ppaurora.app import TEMPLATES
from ppaurora.app.modes import Mode, mode_for
from ppaurora.app.private_folder import PrivateFolder
from ppaurora.app.sessions import Sessions
from ppaurora.errors import InputError
from ppaurora.io.files import write_secret
from ppaurora.pages.environment import environment

if TYPE_CHECKING:
    from aiohttp import web

ADDRESS = "127.0.0.1"
_SECONDS_TO_FINISH = 10.0
_LINE = 1 << 10
if sys.platform == "win32":
    _SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGBREAK)
else:
    _SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)

Say = Callable[[str], None]


def run(kit: Path | None, *, port: int, browser: bool, say: Say) -> None:
    """Serve until SIGTERM or Ctrl-C. `say` prints a line for people."""
    mode = mode_for(kit)
    try:
        with _listening(port) as listener, PrivateFolder(mode.folder) as private_folder:
            asyncio.run(_serve(mode, private_folder, listener, browser=browser, say=say))
    finally:
        mode.close()


async def _serve(
    mode: Mode, private_folder: PrivateFolder, listener: socket.socket, *, browser: bool, say: Say
) -> None:
    """The link is printed at once; a browser that is faster than the rest of the start waits for that."""
    stop = asyncio.Event()
    sessions = Sessions(listener.getsockname()[1])
    say(f"open this link in a browser on this machine: {sessions.new_link()}")
    say("it is good for one use, by one browser. Enter prints another one; Ctrl-C ends the app")
    with _stopped_by_signals(stop):
        with _new_link_at_enter(sessions, say):
            if browser:
                _open_browser(sessions, private_folder)
            runner = await _start(mode, sessions, private_folder, listener)
            try:
                await stop.wait()
            finally:
                await runner.cleanup()
        await _let_finish(mode, say)


async def _start(
    mode: Mode, sessions: Sessions, private_folder: PrivateFolder, listener: socket.socket
) -> web.AppRunner:
    """Load what answers requests, and serve: it takes longest, and a browser takes a while to come."""
    mode.begin()
    from aiohttp import web

    from ppaurora.app.application import make_app

    runner = web.AppRunner(make_app(mode, sessions, private_folder), shutdown_timeout=1.0)
    await runner.setup()
    await web.SockSite(runner, listener).start()
    return runner


async def _let_finish(mode: Mode, say: Say) -> None:
    """Give work under way a moment to finish; whatever is cut off is found by the next start."""
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
        if sys.platform == "win32":  # where the other option lets another program have the same port
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_EXCLUSIVEADDRUSE, 1)
        else:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((ADDRESS, port))
        except (OSError, OverflowError) as error:
            reason = getattr(error, "strerror", None) or "is not a port"
            raise InputError(
                f"--port {port}: {reason}; leave the option out, and a free one is taken"
            ) from None
        listener.listen()
        yield listener


@contextlib.contextmanager
def _stopped_by_signals(stop: asyncio.Event) -> Iterator[None]:
    """Meanwhile Ctrl-C and requests to end set the event; without the loop's help, which Windows has not."""
    loop = asyncio.get_running_loop()

    def note(number: int, frame: FrameType | None) -> None:
        loop.call_soon_threadsafe(stop.set)

    before = {number: signal.signal(number, note) for number in _SIGNALS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextlib.contextmanager
def _new_link_at_enter(sessions: Sessions, say: Say) -> Iterator[None]:
    """Print another link at Enter, for a browser that was closed, or another one."""
    if sys.stdin is None or not sys.stdin.isatty():
        yield
        return

    loop = asyncio.get_running_loop()
    if sys.platform == "win32":  # no console can be waited for in the loop
        reader = threading.Thread(target=_wait_for_enter, args=(loop, sessions, say), daemon=True)
        reader.start()
        yield
        return

    def entered() -> None:
        if sys.stdin.readline():
            say(sessions.new_link())
        else:
            loop.remove_reader(sys.stdin)

    loop.add_reader(sys.stdin, entered)
    try:
        yield
    finally:
        loop.remove_reader(sys.stdin)


def _wait_for_enter(loop: asyncio.AbstractEventLoop, sessions: Sessions, say: Say) -> None:
    """Read the console until the app ends: a bare descriptor, so that its end need not wait for this."""
    with contextlib.suppress(OSError, RuntimeError):  # the console, or the loop, is closed
        while os.read(sys.stdin.fileno(), _LINE):
            loop.call_soon_threadsafe(lambda: say(sessions.new_link()))


def _open_browser(sessions: Sessions, private_folder: PrivateFolder) -> None:
    """Open it by a file that only this user can read: all users see what programs are started with."""
    path = private_folder.path / "open.html"
    text = environment(TEMPLATES).get_template("open.html").render(link=sessions.new_link())
    write_secret(path, text.encode())
    threading.Thread(target=webbrowser.open, args=(path.as_uri(),), daemon=True).start()
