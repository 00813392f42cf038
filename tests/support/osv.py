"""A small OSV on this machine, over real HTTP, that can also be broken."""

from __future__ import annotations

import contextlib
import json
import threading
from collections.abc import Callable, Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tools.supply.osv import CONTROL

Known = Mapping[tuple[str, str], list[str]]
"""The names of the advisories on a version."""

Break = Callable[[str, Any], Any]
"""From a path and the right answer to the one that is given: JSON, bytes as they are, or an HTTP status."""

ADVISORIES: dict[str, dict[str, Any]] = {
    "GHSA-cont-rol0-0001": {"summary": "the control's"},
    "GHSA-aaaa-bbbb-0001": {
        "summary": "a request smuggles another one",
        "aliases": ["CVE-2026-0001"],
        "affected": [
            {
                "package": {"name": "aiohttp", "ecosystem": "PyPI"},
                "ranges": [
                    {"type": "ECOSYSTEM", "events": [{"introduced": "0"}, {"fixed": "99.1"}]},
                    {"type": "GIT", "events": [{"introduced": "0"}, {"fixed": "c0ffee"}]},
                ],
            },
            {
                "package": {"name": "another", "ecosystem": "PyPI"},
                "ranges": [{"type": "ECOSYSTEM", "events": [{"fixed": "1.1"}]}],
            },
        ],
    },
    "PYSEC-2026-2": {"details": "no summary, but details\nin two lines"},
    "PYSEC-2026-3": {"summary": "it was none", "withdrawn": "2026-01-02T00:00:00Z"},
}


class FakeOsv(ThreadingHTTPServer):
    """Answers as OSV does, one advisory to a page."""

    daemon_threads = True

    def __init__(self, known: Known, damage: Break) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.known = {CONTROL: ["GHSA-cont-rol0-0001"], **known}
        self.damage = damage
        self.query: list[tuple[str, str]] = []

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    def answer(self, path: str, body: bytes) -> Any:
        if path.startswith("/v1/vulns/"):
            name = path.removeprefix("/v1/vulns/")
            return {"id": name} | ADVISORIES[name]
        assert path == "/v1/querybatch"
        return {"results": [self._result(query) for query in json.loads(body)["queries"]]}

    def _result(self, query: dict[str, Any]) -> dict[str, Any]:
        assert query["package"]["ecosystem"] == "PyPI"
        version = (query["package"]["name"], query["version"])
        self.query.append(version)
        page = int(query.get("page_token", "0"))
        names = self.known.get(version, [])
        result: dict[str, Any] = {"vulns": [{"id": name} for name in names[page : page + 1]]} if names else {}
        return result | ({"next_page_token": str(page + 1)} if page + 1 < len(names) else {})


class _Handler(BaseHTTPRequestHandler):
    server: FakeOsv

    def do_POST(self) -> None:
        self._answer(self.rfile.read(int(self.headers["Content-Length"])))

    def do_GET(self) -> None:
        self._answer(b"")

    def _answer(self, body: bytes) -> None:
        answer = self.server.damage(self.path, self.server.answer(self.path, body))
        content = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
        self.send_response(answer if isinstance(answer, int) else 200)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        """Nothing is written to standard error."""


@contextlib.contextmanager
def fake_osv(known: Known, damage: Break = lambda _, answer: answer) -> Iterator[FakeOsv]:
    with FakeOsv(known, damage) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()
