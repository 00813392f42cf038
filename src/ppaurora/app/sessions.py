"""The links that let a browser in, and the sessions that they have opened.

This is needed to print the first link, before the web server is loaded.
"""

from __future__ import annotations

import hmac
import secrets
from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ppaurora.app.accounts import account_of

if TYPE_CHECKING:
    from aiohttp import web

LOGIN_PATH = "/enter"
_MOST_LINKS = _MOST_SESSIONS = 16


@dataclass(frozen=True, repr=False)
class Session:
    """A browser's session: `key` is in its cookie, `csrf_token` in its forms; it runs as `account`."""

    key: str
    csrf_token: str
    account: int | None


class Sessions:
    """Links that are good for one use, and the sessions that they have opened."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.hosts = frozenset({f"127.0.0.1:{port}", f"localhost:{port}"})
        # Cookies belong to a host, whatever the port: another app on this machine has its own name.
        self.cookie = f"ppaurora-{port}"
        self._tokens: deque[str] = deque(maxlen=_MOST_LINKS)
        self._sessions: deque[Session] = deque(maxlen=_MOST_SESSIONS)

    def new_link(self) -> str:
        """Return an address that lets in the first browser that opens it."""
        token = secrets.token_urlsafe(32)
        self._tokens.append(token)
        return f"http://127.0.0.1:{self.port}{LOGIN_PATH}?token={token}"

    def enter(self, token: str, account: int | None) -> Session | None:
        """Return a new session for a token that was never used, and None for another one."""
        known = [one for one in self._tokens if same_secret(one, token)]
        if not known:
            return None
        self._tokens.remove(known[0])
        session = Session(secrets.token_urlsafe(32), secrets.token_urlsafe(32), account)
        self._sessions.append(session)
        return session

    def session(self, request: web.Request) -> Session | None:
        """Return the session of the browser that sent this request."""
        key = request.cookies.get(self.cookie, "")
        found = [session for session in self._sessions if same_secret(session.key, key)]
        return found[0] if found and found[0].account == account_of(request) else None

    def admit(self, response: web.StreamResponse, session: Session) -> None:
        """Set the session's cookie until the browser is closed, out of reach of scripts."""
        response.set_cookie(self.cookie, session.key, path="/", httponly=True, samesite="Strict")


def same_secret(known: str, given: str) -> bool:
    """Return whether two secrets are equal, in a time that tells nothing."""
    return hmac.compare_digest(known.encode(), given.encode("utf-8", "surrogatepass"))
