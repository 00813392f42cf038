"""`python -m tools.supply audit` asks for exactly what is locked, and never takes silence for good news."""

from __future__ import annotations

import socket
import threading
from pathlib import Path
from typing import Any

import pytest

from tests.support.osv import Break, fake_osv
from tests.support.repository import ROOT
from tools.supply.__main__ import main
from tools.supply.locks import all_versions
from tools.supply.osv import CONTROL

LOCK = ROOT / "requirements-node.lock"
AIOHTTP = next(version for version in all_versions([LOCK]) if version[0] == "aiohttp")
GOOD_NEWS = "0 with known vulnerabilities"


def audit(*arguments: object) -> int:
    with pytest.raises(SystemExit) as ended:
        main(["audit", *map(str, arguments)])
    assert isinstance(ended.value.code, int)
    return ended.value.code


def test_every_locked_version_is_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    """Those for other platforms too, and each once."""
    with fake_osv({}) as osv:
        assert audit(LOCK, LOCK, "--database", osv.address) == 0
    query = sorted(osv.query)
    assert query == sorted([CONTROL, *all_versions([LOCK])])
    assert len([name for name, _ in query if name == "numpy"]) == 2
    assert f"{len(query) - 1} versions asked for" in (out := capsys.readouterr().out)
    assert GOOD_NEWS in out


def test_what_is_known_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    """From every page of the answer; an advisory that was withdrawn does not count."""
    known = {AIOHTTP: ["PYSEC-2026-3", "GHSA-aaaa-bbbb-0001", "PYSEC-2026-2"]}
    with fake_osv(known) as osv:
        assert audit(LOCK, "--database", osv.address + "/") == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == (
        f"{' '.join(AIOHTTP)}: a request smuggles another one (GHSA-aaaa-bbbb-0001, CVE-2026-0001); "
        "fixed in 99.1"
    )
    assert lines[1] == f"{' '.join(AIOHTTP)}: no summary, but details (PYSEC-2026-2)"
    assert lines[2].endswith("1 with known vulnerabilities")
    assert len(lines) == 3


def test_advisories_that_were_all_withdrawn_are_none() -> None:
    with fake_osv({AIOHTTP: ["PYSEC-2026-3"]}) as osv:
        assert audit(LOCK, "--database", osv.address) == 0


def batch(answer: Any) -> Break:
    """Another answer to the questions; advisories stay as they are."""
    return lambda path, right: answer(right) if path == "/v1/querybatch" else right


def advisory(answer: Any) -> Break:
    return lambda path, right: answer if path.startswith("/v1/vulns/") else right


BROKEN = {
    "HTTP 500": batch(lambda _: 500),
    "HTTP 429": batch(lambda _: 429),
    "HTTP 407": batch(lambda _: 407),
    "a page of HTML": batch(lambda _: b"<html>please log in</html>"),
    "nothing": batch(lambda _: b""),
    "not text": batch(lambda _: b"\xff\xfe\xff"),
    "nested": batch(lambda _: b"[" * 100_000),
    "a list": batch(lambda _: []),
    "an empty object": batch(lambda _: {}),
    "no result": batch(lambda _: {"results": []}),
    "results of another kind": batch(lambda right: {"results": "x" * len(right["results"])}),
    "one result too few": batch(lambda right: {"results": right["results"][:-1]}),
    "one result too many": batch(lambda right: {"results": [*right["results"], {}]}),
    "all empty": batch(lambda right: {"results": [{} for _ in right["results"]]}),
    "null": batch(lambda right: {"results": [None for _ in right["results"]]}),
    "advisories that are none": batch(lambda right: {"results": [{"vulns": 3} for _ in right["results"]]}),
    "no names": batch(lambda right: {"results": [{"vulns": [{}]} for _ in right["results"]]}),
    "no end": batch(lambda right: {"results": [r | {"next_page_token": "0"} for r in right["results"]]}),
    "an advisory is missing": advisory(404),
    "another advisory": advisory({"id": "GHSA-other"}),
    "an advisory of another form": advisory({"id": "GHSA-aaaa-bbbb-0001", "affected": [3]}),
}


@pytest.mark.parametrize("damage", BROKEN.values(), ids=BROKEN)
def test_an_answer_that_is_not_whole_is_no_good_news(
    damage: Break, capsys: pytest.CaptureFixture[str]
) -> None:
    with fake_osv({AIOHTTP: ["GHSA-aaaa-bbbb-0001"]}, damage) as osv:
        assert audit(LOCK, "--database", osv.address) == 3
    said = capsys.readouterr()
    assert said.out == ""
    assert "could not be asked" in said.err
    assert "NOTHING IS KNOWN" in said.err


def test_half_an_answer_is_no_good_news(capsys: pytest.CaptureFixture[str]) -> None:
    def answer_half(server: socket.socket) -> None:
        connection, _ = server.accept()
        with connection:
            connection.recv(65536)
            connection.sendall(b'HTTP/1.1 200 OK\r\nContent-Length: 999\r\n\r\n{"results": []}')

    with socket.create_server(("127.0.0.1", 0)) as server:
        thread = threading.Thread(target=answer_half, args=(server,))
        thread.start()
        assert audit(LOCK, "--database", f"http://127.0.0.1:{server.getsockname()[1]}") == 3
        thread.join()
    assert "NOTHING IS KNOWN" in capsys.readouterr().err


def test_silence_is_no_good_news(capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        assert audit(LOCK, "--database", f"http://127.0.0.1:{port}", "--timeout", 0.2) == 3
        assert "timed out" in capsys.readouterr().err
    assert audit(LOCK, "--database", f"http://127.0.0.1:{port}") == 3
    assert "refused" in capsys.readouterr().err


def test_a_database_without_the_right_certificate_is_not_asked(capsys: pytest.CaptureFixture[str]) -> None:
    with fake_osv({}) as osv:
        assert audit(LOCK, "--database", osv.address.replace("http:", "https:")) == 3
    assert osv.query == []
    assert "NOTHING IS KNOWN" in capsys.readouterr().err


@pytest.mark.parametrize("address", ["file:///etc/passwd", "osv.dev", ""])
def test_an_address_that_is_none_is_refused(address: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert audit(LOCK, "--database", address) == 2
    assert "https://" in capsys.readouterr().err


def test_where_nothing_is_locked_nothing_is_fine(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    empty = tmp_path / "empty.lock"
    empty.write_text("# nothing\n")
    with fake_osv({}) as osv:
        for lock in (empty, tmp_path / "missing.lock"):
            assert audit(lock, "--database", osv.address) == 2
            assert "make lock" in capsys.readouterr().err
    assert osv.query == []
