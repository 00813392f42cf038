"""The local web app for tests: served from a thread or a process, and a browser's part of HTTP by hand."""

from __future__ import annotations

import asyncio
import contextlib
import html
import http.client
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from urllib.parse import urlencode

from aiohttp import web

from ppaurora.app.application import make_app
from ppaurora.app.modes import Mode, mode_for
from ppaurora.app.private_folder import PrivateFolder
from ppaurora.app.sessions import Sessions

_WORD = re.compile(r'name="csrf" value="([^"]+)"')
_DRAFT = re.compile(r'name="draft" value="([^"]+)"')
_LINK = re.compile(r"http://127\.0\.0\.1:(\d+)(/enter\?token=\S+)")

# Whatever is awaited is to come, however busy the machine is.
PATIENCE = 180.0

Change = Callable[[web.Application], None]


@dataclass(frozen=True)
class Answer:
    """What came back of a request."""

    status: int
    headers: http.client.HTTPMessage
    body: bytes

    @property
    def text(self) -> str:
        """As a person reads it: entities resolved."""
        return html.unescape(self.body.decode())

    @property
    def said(self) -> str:
        """The words of the page's main part, for a failed test to show."""
        main = self.text.partition("<main")[2].partition("</main>")[0]
        return " ".join(re.sub(r"<[^>]*>", " ", main).split())[:2000]

    @property
    def location(self) -> str:
        return str(self.headers["Location"])


@dataclass
class Browser:
    """Sends what a browser sends: its cookies, and from where a request comes."""

    port: int
    cookie: str = ""
    site: dict[str, str] = field(default_factory=dict)

    @property
    def origin(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def send(
        self,
        method: str,
        path: str,
        body: bytes | None = None,
        headers: Mapping[str, str | None] | None = None,
    ) -> Answer:
        """A header of None is left out."""
        sent: dict[str, str | None] = {"Host": f"127.0.0.1:{self.port}", "Cookie": self.cookie or None}
        sent |= {"Sec-Fetch-Site": "same-origin"}
        if method not in ("GET", "HEAD"):
            sent["Origin"] = self.origin
        sent |= dict(headers or {})
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        with contextlib.closing(connection):
            connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
            for name, value in sent.items():
                if value is not None:
                    connection.putheader(name, value)
            if body is not None and not any(name.lower() == "content-length" for name in sent):
                connection.putheader("Content-Length", str(len(body)))
            connection.endheaders(body)
            response = connection.getresponse()
            answer = Answer(response.status, response.headers, response.read())
        if "Set-Cookie" in answer.headers:
            self.cookie = answer.headers["Set-Cookie"].split(";")[0]
        return answer

    def get(self, path: str, **headers: str | None) -> Answer:
        return self.send("GET", path, headers=_named(headers))

    def csrf_token(self, path: str = "/") -> str:
        """That forms of this page carry."""
        found = _WORD.search(self.get(path).body.decode())
        assert found is not None, path
        return found[1]

    def draft(self, path: str) -> str:
        found = _DRAFT.search(self.get(path).body.decode())
        assert found is not None, self.get(path).text
        return found[1]

    def post(
        self, path: str, fields: Mapping[str, str] | None = None, *, csrf_token: str, **headers: str | None
    ) -> Answer:
        """Send a form, with this CSRF token."""
        body = urlencode({"csrf": csrf_token, **(fields or {})}).encode()
        kind = {"Content-Type": "application/x-www-form-urlencoded"}
        return self.send("POST", path, body, kind | _named(headers))

    def upload(
        self, path: str, name: str, content: bytes, *, csrf_token: str, **headers: str | None
    ) -> Answer:
        """A form with a file, as a browser sends it."""
        fields = [("csrf", "", csrf_token.encode()), ("file", f'; filename="{name}"', content)]
        body = b"".join(
            b'--frontier\r\nContent-Disposition: form-data; name="%s"%s\r\n\r\n%s\r\n'
            % (field.encode(), more.encode(), value)
            for field, more, value in fields
        )
        kind = {"Content-Type": "multipart/form-data; boundary=frontier"}
        return self.send("POST", path, body + b"--frontier--\r\n", kind | _named(headers))

    @contextlib.contextmanager
    def half_sent(self, path: str, begun: bytes, *, length: int) -> Iterator[None]:
        """A form with a file of which this much has come; behind it, the browser is gone."""
        lines = [f"POST {path} HTTP/1.1", f"Host: 127.0.0.1:{self.port}", f"Origin: {self.origin}"]
        lines += [f"Cookie: {self.cookie}", "Content-Type: multipart/form-data; boundary=x"]
        lines += [f"Content-Length: {length}", "", ""]
        with socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE) as connection:
            connection.sendall("\r\n".join(lines).encode() + begun)
            yield

    def until(self, path: str, *texts: str, seconds: float = PATIENCE) -> Answer:
        """The page once it says one of these."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            answer = self.get(path)
            if any(text in answer.text for text in texts):
                return answer
            time.sleep(0.1)
        raise AssertionError(f"{path} did not say {texts}: {self.get(path).said}")


def _named(headers: Mapping[str, str | None]) -> dict[str, str | None]:
    return {name.replace("_", "-"): value for name, value in headers.items()}


@contextlib.contextmanager
def served(
    mode: Mode | Path | None, change: Change | None = None
) -> Iterator[tuple[Sessions, PrivateFolder]]:
    """The app on a real socket, from a thread; `change` breaks something before it starts."""
    shown = mode if isinstance(mode, Mode) else mode_for(mode)
    with socket.create_server(("127.0.0.1", 0)) as listener, PrivateFolder(shown.folder) as private_folder:
        sessions = Sessions(listener.getsockname()[1])
        app = make_app(shown, sessions, private_folder)
        if change is not None:
            change(app)
        loop = asyncio.new_event_loop()
        stop, ready = asyncio.Event(), threading.Event()

        async def serve() -> None:
            runner = web.AppRunner(app, shutdown_timeout=0.5)
            await runner.setup()
            await web.SockSite(runner, listener).start()
            ready.set()
            await stop.wait()
            await runner.cleanup()

        thread = threading.Thread(target=lambda: loop.run_until_complete(serve()))
        thread.start()
        assert ready.wait(PATIENCE)
        try:
            yield sessions, private_folder
        finally:
            loop.call_soon_threadsafe(stop.set)
            thread.join()
            loop.close()
            shown.close()


def entered(sessions: Sessions) -> Browser:
    """A browser that has opened a link."""
    browser = Browser(sessions.port)
    answer = browser.get(
        sessions.new_link().removeprefix(f"http://127.0.0.1:{sessions.port}"), Sec_Fetch_Site="none"
    )
    assert answer.status == 303, answer.text
    return browser


def _line_of(pipe: int) -> str:
    """No more than it: what a buffer had read ahead, `communicate` would not have."""
    line = b""
    while not line.endswith(b"\n") and (letter := os.read(pipe, 1)):
        line += letter
    return line.decode()


class AppProcess:
    """`ppaurora app` as a process of its own."""

    def __init__(self, *arguments: object, **environment: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "ppaurora", "app", *map(str, arguments), "--no-browser"],
            stderr=subprocess.PIPE,
            stdin=subprocess.DEVNULL,
            text=True,
            env={**os.environ, **environment},
        )
        assert self.process.stderr is not None
        self.first = _line_of(self.process.stderr.fileno())
        link = _LINK.search(self.first)
        assert link is not None, self.first + self.process.stderr.read()
        self.link = link[2]
        self.browser = Browser(int(link[1]))

    def enter(self) -> Browser:
        assert self.browser.get(self.link, Sec_Fetch_Site="none").status == 303
        return self.browser

    def end(self, number: int = signal.SIGINT) -> tuple[int, str]:
        """Exit code, and what it has said."""
        self.process.send_signal(number)
        said = self.process.communicate(timeout=PATIENCE)[1]
        return self.process.returncode, self.first + said

    def __enter__(self) -> AppProcess:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.process.kill()  # nothing is done to one that has ended
        assert self.process.stderr is not None
        if not self.process.stderr.closed:
            self.process.communicate()
