"""Known vulnerabilities of exact versions, from OSV (osv.dev), which has the advisories on PyPI's packages.

An answer counts only if it is whole. Among the questions is one whose answer is known: if the database finds
nothing there, it is not the database, and what else it did not find means nothing.
"""

from __future__ import annotations

import http.client
import json
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Sequence
from typing import Any, NamedTuple

from ppaurora.errors import InputError, PpauroraError

PUBLIC = "https://api.osv.dev"
CONTROL = ("jinja2", "2.4.1")
_AT_ONCE = 500  # OSV takes 1,000 questions in one request
_MOST_REQUESTS = 100


class DatabaseError(PpauroraError):
    """The database could not be asked, or did not answer every question. Nothing is known."""

    exit_code = 3


class Finding(NamedTuple):
    name: str
    version: str
    advisory: str
    aliases: tuple[str, ...]
    summary: str
    fixed_in: tuple[str, ...]


class Database:
    """OSV, or a mirror of it that speaks the same API."""

    def __init__(self, address: str = PUBLIC, timeout: float = 30.0) -> None:
        if urllib.parse.urlsplit(address).scheme not in ("https", "http"):
            raise InputError(f"{address!r} is no address of a database; it begins with https://")
        self._address = address.rstrip("/")
        self._timeout = timeout

    def findings(self, versions: Sequence[tuple[str, str]]) -> list[Finding]:
        """Return findings of all these packages; advisories that were withdrawn are left out."""
        if not versions:
            raise InputError("there is no version to ask for")
        query = [CONTROL, *(version for version in versions if version != CONTROL)]
        advisories = self._advisories(query)
        if not advisories[CONTROL]:
            raise self._failed(f"it knows of nothing against {' '.join(CONTROL)}, which has known flaws")
        found = [
            self._finding(*version, advisory)
            for version in versions
            for advisory in sorted(advisories[version])
        ]
        return [finding for finding in found if finding is not None]

    def _advisories(self, query: Sequence[tuple[str, str]]) -> dict[tuple[str, str], set[str]]:
        """The names of the advisories on each version. A long answer comes in pages: they are followed."""
        found: dict[tuple[str, str], set[str]] = {version: set() for version in query}
        open_questions = [(version, "") for version in query]
        for _ in range(_MOST_REQUESTS):
            now, open_questions = open_questions[:_AT_ONCE], open_questions[_AT_ONCE:]
            for (version, _), answer in zip(now, self._answers(now), strict=True):
                found[version] |= {entry["id"] for entry in answer.get("vulns", [])}
                if token := answer.get("next_page_token"):
                    open_questions.append((version, token))
            if not open_questions:
                return found
        raise self._failed(f"its answer does not end after {_MOST_REQUESTS} requests")

    def _answers(self, questions: Sequence[tuple[tuple[str, str], str]]) -> list[dict[str, Any]]:
        queries = [
            {"package": {"name": name, "ecosystem": "PyPI"}, "version": version}
            | ({"page_token": token} if token else {})
            for (name, version), token in questions
        ]
        answer = self._ask("/v1/querybatch", {"queries": queries})
        results = answer.get("results")
        if not isinstance(results, list) or len(results) != len(queries):
            raise self._failed("it did not answer every question")
        for result in results:
            entries = result.get("vulns", []) if isinstance(result, dict) else None
            if not isinstance(entries, list) or not all(_is_entry(entry) for entry in entries):
                raise self._failed("its answer is not of the form that OSV's has")
        return results

    def _finding(self, name: str, version: str, advisory: str) -> Finding | None:
        record = self._ask(f"/v1/vulns/{urllib.parse.quote(advisory, safe='')}")
        if record.get("id") != advisory:
            raise self._failed(f"it did not answer what {advisory} is")
        if record.get("withdrawn"):
            return None
        try:
            summary = str(record.get("summary") or str(record.get("details", "")).partition("\n")[0])
            aliases = tuple(sorted(map(str, record.get("aliases", ()))))
            return Finding(name, version, advisory, aliases, summary, _fixed_in(record, name))
        except (AttributeError, KeyError, TypeError):
            raise self._failed(f"what it says of {advisory} is not of the form that OSV's has") from None

    def _ask(self, path: str, question: object = None) -> dict[str, Any]:
        # The scheme was checked when the address was given.
        request = urllib.request.Request(  # noqa: S310
            self._address + path,
            data=None if question is None else json.dumps(question).encode(),
            headers={"Content-Type": "application/json", "Accept": "application/json"},
        )
        try:
            with urllib.request.urlopen(request, timeout=self._timeout) as response:  # noqa: S310
                answer = json.load(response)
        except urllib.error.HTTPError as error:
            error.close()
            raise self._failed(f"it answers HTTP {error.code}") from None
        except (OSError, http.client.HTTPException) as error:
            raise self._failed(str(getattr(error, "reason", "") or error or type(error).__name__)) from None
        except (ValueError, RecursionError):
            raise self._failed("its answer is not JSON") from None
        if not isinstance(answer, dict):
            raise self._failed("its answer is not of the form that OSV's has")
        return answer

    def _failed(self, what: str) -> DatabaseError:
        return DatabaseError(
            f"{self._address} could not be asked: {what}. NOTHING IS KNOWN about vulnerabilities. "
            "Try again later, or where the database can be reached (HTTPS_PROXY, --database)"
        )


def _is_entry(entry: object) -> bool:
    return isinstance(entry, dict) and isinstance(entry.get("id"), str) and bool(entry["id"])


def _fixed_in(record: dict[str, Any], name: str) -> tuple[str, ...]:
    """Versions, as the advisory names them for this package."""
    events = [
        event
        for affected in record.get("affected", ())
        if affected.get("package", {}).get("name", "").lower() == name
        for span in affected.get("ranges", ())
        if span.get("type") == "ECOSYSTEM"
        for event in span.get("events", ())
    ]
    return tuple(sorted({event["fixed"] for event in events if "fixed" in event}))
