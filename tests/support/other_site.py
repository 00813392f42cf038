"""Somebody else's page in the same browser: another local port, which browsers call the same site."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@contextmanager
def other_site(content: str) -> Iterator[str]:
    """Serves this one page; its origin is yielded."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = content.encode()
            self.send_response(200)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            return

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def posting_page(action: str, fields: dict[str, str]) -> str:
    """A form that sends itself."""
    inputs = "".join(f'<input name="{name}" value="{value}">' for name, value in fields.items())
    return (
        '<!doctype html><html lang="en"><title>Win a prize</title><link rel="icon" href="data:,">'
        f'<form method="post" action="{action}">{inputs}</form>'
        "<script>document.forms[0].submit()</script>"
    )


QUIET_PAGE = '<!doctype html><html lang="en"><title>A page</title><link rel="icon" href="data:,"><p>Hello'
