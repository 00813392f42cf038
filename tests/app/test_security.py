"""Nobody but the browser with the link talks to the app; without its guard, all of this goes through."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator

import pytest
from aiohttp import web

from ppaurora.app import security
from ppaurora.app.door import FrontDoor
from ppaurora.app.modes import Mode
from ppaurora.app.rendering import page
from ppaurora.app.security import guard
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


def word_of(door: FrontDoor) -> str:
    return door._sessions[-1].word


@pytest.fixture(scope="module")
def notes() -> Notes:
    return Notes()


@pytest.fixture(scope="module")
def door(notes: Notes) -> Iterator[FrontDoor]:
    with served(notes) as (door, _):
        yield door


@pytest.fixture
def browser(door: FrontDoor) -> Browser:
    return entered(door)


@pytest.fixture(scope="module")
def open_door() -> Iterator[tuple[FrontDoor, Notes]]:
    """The same app without its guard: the positive control of every refusal below."""
    notes = Notes()
    with served(notes, lambda app: app.middlewares.remove(guard)) as (door, _):
        yield door, notes


Request = Callable[[Browser, FrontDoor], Answer]

FROM_ELSEWHERE: dict[str, tuple[int, Request]] = {
    "without a session": (403, lambda browser, door: Browser(door.port).get("/")),
    "with another's cookie": (
        403,
        lambda browser, door: browser.get("/", Cookie=f"{door.cookie}={'A' * 43}"),
    ),
    "with an empty cookie": (403, lambda browser, door: browser.get("/", Cookie=f"{door.cookie}=")),
    "under another name": (421, lambda browser, door: browser.get("/", Host="evil.example")),
    "under another name with our port": (
        421,
        lambda browser, door: browser.get("/", Host=f"evil.example:{door.port}"),
    ),
    "under our address with another port": (421, lambda browser, door: browser.get("/", Host="127.0.0.1:1")),
    "under our address without a port": (421, lambda browser, door: browser.get("/", Host="127.0.0.1")),
    "as a machine of the network": (
        421,
        lambda browser, door: browser.get("/", Host=f"0.0.0.0:{door.port}"),
    ),
    "from another site's page": (403, lambda browser, door: browser.get("/", Sec_Fetch_Site="cross-site")),
    "from another port of this machine": (
        403,
        lambda browser, door: browser.get("/", Sec_Fetch_Site="same-site"),
    ),
}
FORMS_FROM_ELSEWHERE: dict[str, tuple[int, Request]] = {
    "of another origin": (
        403,
        lambda browser, door: browser.post(
            "/write", {"note": "x"}, word=word_of(door), Origin="https://evil.example"
        ),
    ),
    "of another port": (
        403,
        lambda browser, door: browser.post(
            "/write", {"note": "x"}, word=word_of(door), Origin="http://127.0.0.1:1"
        ),
    ),
    "of a hidden origin": (
        403,
        lambda browser, door: browser.post("/write", {"note": "x"}, word=word_of(door), Origin="null"),
    ),
    "of no origin": (
        403,
        lambda browser, door: browser.post("/write", {"note": "x"}, word=word_of(door), Origin=None),
    ),
    "of another site": (
        403,
        lambda browser, door: browser.post(
            "/write", {"note": "x"}, word=word_of(door), Sec_Fetch_Site="cross-site"
        ),
    ),
    "typed by nobody": (
        403,
        lambda browser, door: browser.post(
            "/write", {"note": "x"}, word=word_of(door), Sec_Fetch_Site="none"
        ),
    ),
    "without the session's word": (403, lambda browser, door: browser.post("/write", {"note": "x"}, word="")),
    "with a wrong word": (403, lambda browser, door: browser.post("/write", {"note": "x"}, word="A" * 43)),
    "with letters that no word has": (
        403,
        lambda browser, door: browser.post("/write", {"note": "x"}, word="\u00e9" * 43),
    ),
    "without a session": (
        403,
        lambda browser, door: Browser(door.port).post("/write", {"note": "x"}, word=word_of(door)),
    ),
    "under another name": (
        421,
        lambda browser, door: browser.post(
            "/write",
            {"note": "x"},
            word=word_of(door),
            Host=f"evil.example:{door.port}",
            Origin=f"http://evil.example:{door.port}",
        ),
    ),
    "of a kind that needs no permission": (
        403,
        lambda browser, door: browser.send(
            "POST", "/write", b'{"note": "x"}', {"Content-Type": "text/plain"}
        ),
    ),
    "with a file before the word": (
        403,
        lambda browser, door: browser.send(
            "POST",
            "/write",
            b'--x\r\nContent-Disposition: form-data; name="note"; filename="y"\r\n\r\nz\r\n--x--\r\n',
            {"Content-Type": "multipart/form-data; boundary=x"},
        ),
    ),
    "that is no form": (
        403,
        lambda browser, door: browser.send("POST", "/write", b"x", {"Content-Type": "multipart/form-data"}),
    ),
}


@pytest.mark.parametrize("case", FROM_ELSEWHERE)
def test_a_page_is_not_shown(case: str, door: FrontDoor, browser: Browser) -> None:
    status, request = FROM_ELSEWHERE[case]
    answer = request(browser, door)
    assert answer.status == status
    assert SECRET not in answer.text


@pytest.mark.parametrize("case", FROM_ELSEWHERE)
def test_without_the_guard_it_would_be_shown(case: str, open_door: tuple[FrontDoor, Notes]) -> None:
    door, _ = open_door
    answer = FROM_ELSEWHERE[case][1](entered(door), door)
    assert answer.status == 200
    assert SECRET in answer.text


@pytest.mark.parametrize("case", FORMS_FROM_ELSEWHERE)
def test_a_form_is_not_taken(case: str, door: FrontDoor, browser: Browser, notes: Notes) -> None:
    status, request = FORMS_FROM_ELSEWHERE[case]
    answer = request(browser, door)
    assert answer.status == status
    assert SECRET not in answer.text
    assert notes.written == [] or "x" not in notes.written


@pytest.mark.parametrize("case", [one for one in FORMS_FROM_ELSEWHERE if "no form" not in one])
def test_without_the_guard_it_would_be_taken(case: str, open_door: tuple[FrontDoor, Notes]) -> None:
    door, notes = open_door
    browser = entered(door)
    before = len(notes.written)
    assert FORMS_FROM_ELSEWHERE[case][1](browser, door).status == 200
    assert len(notes.written) == before + 1


def test_the_browser_with_the_link_reads_and_writes(door: FrontDoor, browser: Browser, notes: Notes) -> None:
    assert SECRET in browser.get("/").text
    assert SECRET in browser.get("/", Host=f"localhost:{door.port}").text
    assert SECRET in browser.get("/", Sec_Fetch_Site="none").text  # typed by a person
    assert SECRET in browser.get("/", Sec_Fetch_Site=None).text  # a browser that does not say
    word = word_of(door)
    assert browser.post("/write", {"note": "mine"}, word=word).status == 200
    name = f"localhost:{door.port}"
    assert (
        browser.post("/write", {"note": "mine"}, word=word, Host=name, Origin=f"http://{name}").status == 200
    )
    assert browser.send("POST", "/write", b"", {"X-CSRF-Token": word}).status == 200
    assert notes.written[-3:] == ["mine", "mine", "None"]


def test_a_word_of_another_session_is_not_taken(door: FrontDoor) -> None:
    first, _ = entered(door), entered(door)
    assert first.post("/write", {"note": "x"}, word=word_of(door)).status == 403


def path_of(link: str, door: FrontDoor) -> str:
    return link.removeprefix(f"http://127.0.0.1:{door.port}")


def test_a_link_is_good_once(door: FrontDoor) -> None:
    link = path_of(door.new_link(), door)
    first, second = Browser(door.port), Browser(door.port)
    answer = first.get(link, Sec_Fetch_Site="none")
    assert (answer.status, answer.location) == (303, "/")
    cookie = answer.headers["Set-Cookie"]
    assert cookie.startswith(f"ppaurora-{door.port}=")
    assert "HttpOnly" in cookie
    assert "SameSite=Strict" in cookie
    assert "Path=/" in cookie
    replayed = second.get(link, Sec_Fetch_Site="none")
    assert replayed.status == 403
    assert "Set-Cookie" not in replayed.headers
    assert "This link was used before" in replayed.text
    assert "press Enter in the terminal" in replayed.text
    assert SECRET not in replayed.text
    assert first.get(link).status == 403  # also in the browser that is in
    assert first.get("/").status == 200


def test_a_link_that_could_be_used_twice_would_be_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """The positive control: a door that forgets no token."""

    class Kept(list[str]):
        def remove(self, value: str) -> None:
            pass

    with served(Notes()) as (door, _):
        monkeypatch.setattr(door, "_tokens", Kept())
        link = path_of(door.new_link(), door)
        assert Browser(door.port).get(link).status == Browser(door.port).get(link).status == 303


@pytest.mark.parametrize("token", ["", "?token=", "?token=" + "A" * 43, "?token=%ff%00", "?word=x"])
def test_a_wrong_token_lets_nobody_in(door: FrontDoor, token: str) -> None:
    answer = Browser(door.port).get("/enter" + token, Sec_Fetch_Site="none")
    assert answer.status == 403
    assert "Set-Cookie" not in answer.headers


def test_a_look_at_the_head_or_a_form_does_not_use_up_a_link(door: FrontDoor) -> None:
    link = path_of(door.new_link(), door)
    assert Browser(door.port).send("HEAD", link).status in (403, 405)
    assert Browser(door.port).send("POST", link, b"").status in (403, 405)
    assert Browser(door.port).get(link).status == 303


def test_a_link_from_another_program_goes_on_by_a_page_of_the_app(door: FrontDoor) -> None:
    """A cookie of SameSite=Strict does not go along with a redirect that another page began."""
    link = path_of(door.new_link(), door)
    browser = Browser(door.port)
    answer = browser.get(link, Sec_Fetch_Site="cross-site")
    assert answer.status == 200
    assert '<meta http-equiv="refresh" content="0; url=/">' in answer.text
    assert SECRET in browser.get("/").text
    assert Browser(door.port).get(link, Sec_Fetch_Site="cross-site").status == 403


def check_headers(answer: Answer) -> None:
    for name, value in security.HEADERS.items():
        if name != "Referrer-Policy":
            assert answer.headers[name] == value
    assert answer.headers["Referrer-Policy"] in ("same-origin", "no-referrer")
    assert "Server" not in answer.headers
    assert "Access-Control-Allow-Origin" not in answer.headers


def test_every_response_has_the_headers(door: FrontDoor, browser: Browser) -> None:
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
        check_headers(Browser(door.port).get(path))
    check_headers(browser.get(path_of(door.new_link(), door)))
    check_headers(browser.get("/", Host="evil.example"))
    check_headers(browser.post("/write", word="no"))
    check_headers(browser.send("OPTIONS", "/write"))
    check_headers(browser.send("DELETE", "/"))


def test_pages_have_no_script_or_style_of_their_own_and_load_nothing(
    browser: Browser, door: FrontDoor
) -> None:
    for text in (browser.get("/").text, Browser(door.port).get("/").text):
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


def test_a_long_form_is_refused(browser: Browser, door: FrontDoor) -> None:
    answer = browser.post("/write", {"note": "x" * 200_000}, word=word_of(door))
    assert answer.status == 413


def test_it_listens_on_this_machine_only(door: FrontDoor) -> None:
    with socket.create_connection(("127.0.0.1", door.port)):
        pass
    for address in {found[4][0] for found in socket.getaddrinfo(socket.gethostname(), None, socket.AF_INET)}:
        if not str(address).startswith("127."):
            with pytest.raises(OSError, match="refused"):
                socket.create_connection((str(address), door.port), timeout=5)
