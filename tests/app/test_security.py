"""Nobody but the browser with the link talks to the app; without its guard, all of this goes through."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator

import pytest
from aiohttp import web

from ppaurora.app import security, server
from ppaurora.app.modes import Mode
from ppaurora.app.rendering import page
from ppaurora.app.security import guard
from ppaurora.app.sessions import Sessions
from tests.support.local_app import Answer, Browser, entered, served

SECRET = "what only the browser with the link may read"  # noqa: S105 (no password)


class Notes(Mode):
    """A page that shows something, and one form that changes it."""

    title = "notes"

    def __init__(self) -> None:
        self.written: list[str] = []

    def routes(self) -> list[web.RouteDef]:
        return [web.get("/", self._read), web.post("/write", self._write)]

    async def _read(self, request: web.Request) -> web.Response:
        return page(request, "problem.html", sentence=SECRET, back="/", notes=[request.query.get("note", "")])

    async def _write(self, request: web.Request) -> web.Response:
        form = await request.post()
        self.written.append(str(form.get("note")))
        return web.Response(text="written")


def csrf_token_of(sessions: Sessions) -> str:
    return sessions._sessions[-1].csrf_token


@pytest.fixture(scope="module")
def notes() -> Notes:
    return Notes()


@pytest.fixture(scope="module")
def sessions(notes: Notes) -> Iterator[Sessions]:
    with served(notes) as (sessions, _):
        yield sessions


@pytest.fixture
def browser(sessions: Sessions) -> Browser:
    return entered(sessions)


@pytest.fixture(scope="module")
def unguarded() -> Iterator[tuple[Sessions, Notes]]:
    """The same app without its guard: the positive control of every refusal below."""
    notes = Notes()
    with served(notes, lambda app: app.middlewares.remove(guard)) as (sessions, _):
        yield sessions, notes


Request = Callable[[Browser, Sessions], Answer]

FROM_ELSEWHERE: dict[str, tuple[int, Request]] = {
    "without a session": (403, lambda browser, sessions: Browser(sessions.port).get("/")),
    "with another's cookie": (
        403,
        lambda browser, sessions: browser.get("/", Cookie=f"{sessions.cookie}={'A' * 43}"),
    ),
    "with an empty cookie": (403, lambda browser, sessions: browser.get("/", Cookie=f"{sessions.cookie}=")),
    "under another name": (421, lambda browser, sessions: browser.get("/", Host="evil.example")),
    "under another name with our port": (
        421,
        lambda browser, sessions: browser.get("/", Host=f"evil.example:{sessions.port}"),
    ),
    "under our address with another port": (
        421,
        lambda browser, sessions: browser.get("/", Host="127.0.0.1:1"),
    ),
    "under our address without a port": (421, lambda browser, sessions: browser.get("/", Host="127.0.0.1")),
    "as a machine of the network": (
        421,
        lambda browser, sessions: browser.get("/", Host=f"0.0.0.0:{sessions.port}"),
    ),
    "from another site's page": (
        403,
        lambda browser, sessions: browser.get("/", Sec_Fetch_Site="cross-site"),
    ),
    "from another port of this machine": (
        403,
        lambda browser, sessions: browser.get("/", Sec_Fetch_Site="same-site"),
    ),
}
FORMS_FROM_ELSEWHERE: dict[str, tuple[int, Request]] = {
    "of another origin": (
        403,
        lambda browser, sessions: browser.post(
            "/write", {"note": "x"}, csrf_token=csrf_token_of(sessions), Origin="https://evil.example"
        ),
    ),
    "of another port": (
        403,
        lambda browser, sessions: browser.post(
            "/write", {"note": "x"}, csrf_token=csrf_token_of(sessions), Origin="http://127.0.0.1:1"
        ),
    ),
    "of a hidden origin": (
        403,
        lambda browser, sessions: browser.post(
            "/write", {"note": "x"}, csrf_token=csrf_token_of(sessions), Origin="null"
        ),
    ),
    "of no origin": (
        403,
        lambda browser, sessions: browser.post(
            "/write", {"note": "x"}, csrf_token=csrf_token_of(sessions), Origin=None
        ),
    ),
    "of another site": (
        403,
        lambda browser, sessions: browser.post(
            "/write", {"note": "x"}, csrf_token=csrf_token_of(sessions), Sec_Fetch_Site="cross-site"
        ),
    ),
    "typed by nobody": (
        403,
        lambda browser, sessions: browser.post(
            "/write", {"note": "x"}, csrf_token=csrf_token_of(sessions), Sec_Fetch_Site="none"
        ),
    ),
    "without the session's CSRF token": (
        403,
        lambda browser, sessions: browser.post("/write", {"note": "x"}, csrf_token=""),
    ),
    "with a wrong CSRF token": (
        403,
        lambda browser, sessions: browser.post("/write", {"note": "x"}, csrf_token="A" * 43),
    ),
    "with letters that no CSRF token has": (
        403,
        lambda browser, sessions: browser.post("/write", {"note": "x"}, csrf_token="\u00e9" * 43),
    ),
    "without a session": (
        403,
        lambda browser, sessions: Browser(sessions.port).post(
            "/write", {"note": "x"}, csrf_token=csrf_token_of(sessions)
        ),
    ),
    "under another name": (
        421,
        lambda browser, sessions: browser.post(
            "/write",
            {"note": "x"},
            csrf_token=csrf_token_of(sessions),
            Host=f"evil.example:{sessions.port}",
            Origin=f"http://evil.example:{sessions.port}",
        ),
    ),
    "of a kind that needs no permission": (
        403,
        lambda browser, sessions: browser.send(
            "POST", "/write", b'{"note": "x"}', {"Content-Type": "text/plain"}
        ),
    ),
    "with a file before the CSRF token": (
        403,
        lambda browser, sessions: browser.send(
            "POST",
            "/write",
            b'--x\r\nContent-Disposition: form-data; name="note"; filename="y"\r\n\r\nz\r\n--x--\r\n',
            {"Content-Type": "multipart/form-data; boundary=x"},
        ),
    ),
    "that is no form": (
        403,
        lambda browser, sessions: browser.send(
            "POST", "/write", b"x", {"Content-Type": "multipart/form-data"}
        ),
    ),
}


@pytest.mark.parametrize("case", FROM_ELSEWHERE)
def test_a_page_is_not_shown(case: str, sessions: Sessions, browser: Browser) -> None:
    status, request = FROM_ELSEWHERE[case]
    answer = request(browser, sessions)
    assert answer.status == status
    assert SECRET not in answer.text


@pytest.mark.parametrize("case", FROM_ELSEWHERE)
def test_without_the_guard_it_would_be_shown(case: str, unguarded: tuple[Sessions, Notes]) -> None:
    sessions, _ = unguarded
    answer = FROM_ELSEWHERE[case][1](entered(sessions), sessions)
    assert answer.status == 200
    assert SECRET in answer.text


@pytest.mark.parametrize("case", FORMS_FROM_ELSEWHERE)
def test_a_form_is_not_taken(case: str, sessions: Sessions, browser: Browser, notes: Notes) -> None:
    status, request = FORMS_FROM_ELSEWHERE[case]
    answer = request(browser, sessions)
    assert answer.status == status
    assert SECRET not in answer.text
    assert notes.written == [] or "x" not in notes.written


@pytest.mark.parametrize("case", [one for one in FORMS_FROM_ELSEWHERE if "no form" not in one])
def test_without_the_guard_it_would_be_taken(case: str, unguarded: tuple[Sessions, Notes]) -> None:
    sessions, notes = unguarded
    browser = entered(sessions)
    before = len(notes.written)
    assert FORMS_FROM_ELSEWHERE[case][1](browser, sessions).status == 200
    assert len(notes.written) == before + 1


def test_the_browser_with_the_link_reads_and_writes(
    sessions: Sessions, browser: Browser, notes: Notes
) -> None:
    assert SECRET in browser.get("/").text
    assert SECRET in browser.get("/", Host=f"localhost:{sessions.port}").text
    assert SECRET in browser.get("/", Sec_Fetch_Site="none").text  # typed by a person
    assert SECRET in browser.get("/", Sec_Fetch_Site=None).text  # a browser that does not say
    csrf_token = csrf_token_of(sessions)
    assert browser.post("/write", {"note": "mine"}, csrf_token=csrf_token).status == 200
    name = f"localhost:{sessions.port}"
    assert (
        browser.post(
            "/write", {"note": "mine"}, csrf_token=csrf_token, Host=name, Origin=f"http://{name}"
        ).status
        == 200
    )
    assert browser.send("POST", "/write", b"", {"X-CSRF-Token": csrf_token}).status == 200
    assert notes.written[-3:] == ["mine", "mine", "None"]


def test_a_csrf_token_of_another_session_is_not_taken(sessions: Sessions) -> None:
    first, _ = entered(sessions), entered(sessions)
    assert first.post("/write", {"note": "x"}, csrf_token=csrf_token_of(sessions)).status == 403


def path_of(link: str, sessions: Sessions) -> str:
    return link.removeprefix(f"http://127.0.0.1:{sessions.port}")


def test_a_link_is_good_once(sessions: Sessions) -> None:
    link = path_of(sessions.new_link(), sessions)
    first, second = Browser(sessions.port), Browser(sessions.port)
    answer = first.get(link, Sec_Fetch_Site="none")
    assert (answer.status, answer.location) == (303, "/")
    cookie = answer.headers["Set-Cookie"]
    assert cookie.startswith(f"ppaurora-{sessions.port}=")
    assert "HttpOnly" in cookie
    assert "SameSite=Strict" in cookie
    assert "Path=/" in cookie
    replayed = second.get(link, Sec_Fetch_Site="none")
    assert replayed.status == 403
    assert "Set-Cookie" not in replayed.headers
    assert "This link has already been used" in replayed.text
    assert "press Enter in the terminal" in replayed.text
    assert SECRET not in replayed.text
    assert first.get(link).status == 403  # also in the browser that is in
    assert first.get("/").status == 200


def test_a_link_that_could_be_used_twice_would_be_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """The positive control: sessions that forget no token."""

    class Kept(list[str]):
        def remove(self, value: str) -> None:
            pass

    with served(Notes()) as (sessions, _):
        monkeypatch.setattr(sessions, "_tokens", Kept())
        link = path_of(sessions.new_link(), sessions)
        assert Browser(sessions.port).get(link).status == Browser(sessions.port).get(link).status == 303


@pytest.mark.parametrize("token", ["", "?token=", "?token=" + "A" * 43, "?token=%ff%00", "?word=x"])
def test_a_wrong_token_lets_nobody_in(sessions: Sessions, token: str) -> None:
    answer = Browser(sessions.port).get("/enter" + token, Sec_Fetch_Site="none")
    assert answer.status == 403
    assert "Set-Cookie" not in answer.headers


def test_a_look_at_the_head_or_a_form_does_not_use_up_a_link(sessions: Sessions) -> None:
    link = path_of(sessions.new_link(), sessions)
    assert Browser(sessions.port).send("HEAD", link).status in (403, 405)
    assert Browser(sessions.port).send("POST", link, b"").status in (403, 405)
    assert Browser(sessions.port).get(link).status == 303


def test_a_link_from_another_program_goes_on_by_a_page_of_the_app(sessions: Sessions) -> None:
    """A cookie of SameSite=Strict does not go along with a redirect that another page began."""
    link = path_of(sessions.new_link(), sessions)
    browser = Browser(sessions.port)
    answer = browser.get(link, Sec_Fetch_Site="cross-site")
    assert answer.status == 200
    assert '<meta http-equiv="refresh" content="0; url=/">' in answer.text
    assert SECRET in browser.get("/").text
    assert Browser(sessions.port).get(link, Sec_Fetch_Site="cross-site").status == 403


def check_headers(answer: Answer) -> None:
    for name, value in security.HEADERS.items():
        if name != "Referrer-Policy":
            assert answer.headers[name] == value
    assert answer.headers["Referrer-Policy"] in ("same-origin", "no-referrer")
    assert "Server" not in answer.headers
    assert "Access-Control-Allow-Origin" not in answer.headers


def test_what_the_headers_allow_is_the_apps_own() -> None:
    """Nothing from elsewhere, no script within a page, and no frame around it."""
    sources = dict(rule.split(" ", 1) for rule in security.HEADERS["Content-Security-Policy"].split("; "))
    assert {name for name, allowed in sources.items() if allowed == "'none'"} == {
        "default-src",
        "frame-ancestors",
        "base-uri",
    }
    assert {allowed for allowed in sources.values() if allowed != "'none'"} == {"'self'", "'self' data:"}
    assert [name for name, allowed in sources.items() if "data:" in allowed] == ["img-src"]
    expected = {"X-Frame-Options": "DENY", "X-Content-Type-Options": "nosniff", "Cache-Control": "no-store"}
    assert {name: security.HEADERS[name] for name in expected} == expected


def test_every_response_has_the_headers(sessions: Sessions, browser: Browser) -> None:
    paths = [
        "/",
        "/nothing",
        "/static/style.css",
        "/static/app.js",
        "/static/app.css",
        "/static/no",
        "/enter",
    ]
    for path in paths:
        check_headers(browser.get(path))
        check_headers(Browser(sessions.port).get(path))
    check_headers(browser.get(path_of(sessions.new_link(), sessions)))
    check_headers(browser.get("/", Host="evil.example"))
    check_headers(browser.post("/write", csrf_token="no"))  # noqa: S106
    check_headers(browser.send("OPTIONS", "/write"))
    check_headers(browser.send("DELETE", "/"))


def test_pages_have_no_script_or_style_of_their_own_and_load_nothing(
    browser: Browser, sessions: Sessions
) -> None:
    for text in (browser.get("/").text, Browser(sessions.port).get("/").text):
        assert "<style" not in text
        assert " style=" not in text
        assert " onclick" not in text
        assert "<script>" not in text
        assert "http://" not in text.replace("http://www.w3.org", "")
        assert "https://" not in text


@pytest.mark.parametrize(
    "path",
    [
        "/static/../server.py",
        "/static/%2e%2e/server.py",
        "/static/..%2fserver.py",
        "/static/%2e%2e%2fserver.py",
        "/static/....//server.py",
        "/static//etc/passwd",
        "/static/%2fetc%2fpasswd",
        "/static/app.js%00.css",
        "/static/",
        "/static/./app.js/",
    ],
)
def test_static_files_are_a_few_names_and_no_paths(browser: Browser, path: str) -> None:
    answer = browser.get(path)
    assert answer.status in (403, 404)
    assert "asyncio" not in answer.text
    assert "root:" not in answer.text


def test_what_a_request_says_is_escaped(browser: Browser) -> None:
    answer = browser.get("/?note=%3Cscript%3Ealert(1)%3C/script%3E")
    assert b"<script>alert" not in answer.body
    assert b"&lt;script&gt;alert(1)" in answer.body


def test_a_long_form_is_refused(browser: Browser, sessions: Sessions) -> None:
    answer = browser.post("/write", {"note": "x" * 200_000}, csrf_token=csrf_token_of(sessions))
    assert answer.status == 413


def test_it_listens_at_the_address_of_this_machine_alone() -> None:
    """Whatever other addresses this machine has; it may have none when this is tried."""
    with server._listening(0) as listener:
        assert listener.getsockname()[0] == "127.0.0.1"


def test_it_listens_on_this_machine_only(sessions: Sessions) -> None:
    with socket.create_connection(("127.0.0.1", sessions.port)):
        pass
    for address in {found[4][0] for found in socket.getaddrinfo(socket.gethostname(), None, socket.AF_INET)}:
        if not str(address).startswith("127."):
            with pytest.raises(OSError, match="refused"):
                socket.create_connection((str(address), sessions.port), timeout=5)
