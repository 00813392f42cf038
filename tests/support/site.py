"""The documentation as pages: what each page loads, links to and can be linked to by."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

from tests.support.repository import ROOT

SECONDS = 600
_LOADING = ("script", "link", "img", "source", "iframe", "object", "embed", "audio", "video", "use", "image")
_IN_A_STYLE = re.compile(r"""url\(\s*["']?([^"')]*)|@import\s+["']([^"']*)""")


@dataclass
class Page:
    """One page of a site."""

    ids: set[str] = field(default_factory=set)
    links: list[str] = field(default_factory=list)
    loads: list[str] = field(default_factory=list)


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.page = Page()
        self._in_a_style = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attrs}
        self._in_a_style = tag == "style"
        self.page.ids |= {values[name] for name in ("id", "name") if name in values}
        if tag == "a" and "href" in values:
            self.page.links.append(values["href"])
        elif tag in _LOADING:
            named = [values[name] for name in ("src", "href", "data", "xlink:href") if name in values]
            named += [one.split()[0] for one in values.get("srcset", "").split(",") if one.strip()]
            self.page.loads += [
                one for one in named if values.get("rel") not in ("next", "prev", "canonical")
            ]
        self.page.loads += loaded_by_a_style(values.get("style", ""))

    def handle_data(self, data: str) -> None:
        if self._in_a_style:
            self.page.loads += loaded_by_a_style(data)

    def handle_endtag(self, tag: str) -> None:
        self._in_a_style = False


def build_site(folder: Path) -> Path:
    """As `make docs` does."""
    made = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--quiet", "--strict", "--site-dir", str(folder)],
        cwd=ROOT,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert made.returncode == 0, made.stdout + made.stderr
    return folder


def read_pages(site: Path) -> dict[Path, Page]:
    """All but the one that only a web server shows."""
    pages = {}
    for path in sorted(set(site.rglob("*.html")) - {site / "404.html"}):
        reader = _Reader()
        reader.feed(path.read_text())
        pages[path] = reader.page
    return pages


def loaded_by_a_style(text: str) -> list[str]:
    return [one or other for one, other in _IN_A_STYLE.findall(text)]


def is_outside(address: str) -> bool:
    parts = urlsplit(address)
    return bool(parts.netloc) or parts.scheme not in ("", "data")


def loaded_from_outside(site: Path) -> list[str]:
    """What a browser would fetch from elsewhere when it shows a page."""
    loads = [(path, one) for path, page in read_pages(site).items() for one in page.loads]
    loads += [(path, one) for path in site.rglob("*.css") for one in loaded_by_a_style(path.read_text())]
    loads += [(path, one) for path in site.rglob("*.svg") for one in loaded_by_a_style(path.read_text())]
    return [f"{path.name}: {address}" for path, address in loads if is_outside(address)]


def dead_ends(site: Path) -> list[str]:
    """Links and resources within the site that lead nowhere: no file, or no such place in it."""
    pages = read_pages(site)
    found = []
    for path, page in pages.items():
        for address in [*page.links, *page.loads]:
            parts = urlsplit(address)
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            place = unquote(parts.fragment)
            if not target.is_file() or (place and target in pages and place not in pages[target].ids):
                found.append(f"{path.name}: {address}")
    return found
