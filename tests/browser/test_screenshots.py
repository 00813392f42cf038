"""The pictures in docs/images: small, of today's pages, and made by a command."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from PIL import Image
from playwright.sync_api import Browser

from tools.screenshots import HEIGHT, IMAGES, PICTURES, RECORD, ROOT, WIDTH, hash_of_sources, make_pictures

MOST_BYTES = 300_000


def check_pictures(folder: Path) -> None:
    assert json.loads((folder / RECORD).read_text()) == {"sources": hash_of_sources()}, (
        "the pages have changed since docs/images was made: run 'make screenshots'"
    )
    for file, _ in PICTURES.values():
        path = folder / file
        assert path.stat().st_size < MOST_BYTES
        with Image.open(path) as picture:
            assert picture.format == "PNG"
            assert picture.size == (WIDTH, HEIGHT)
            assert len(picture.convert("RGB").getcolors(1 << 20) or ()) > 20  # something is drawn


def test_the_pictures_in_docs_are_of_todays_pages() -> None:
    check_pictures(IMAGES)


@pytest.mark.long
def test_the_command_makes_them(browser: Browser, tmp_path: Path) -> None:
    make_pictures(browser, tmp_path)
    check_pictures(tmp_path)


def test_another_template_makes_them_stale(tmp_path: Path) -> None:
    """The positive control."""
    page = tmp_path / "src/ppaurora/app/templates/owner/data.html"
    page.parent.mkdir(parents=True)
    page.write_text((ROOT / page.relative_to(tmp_path)).read_text())
    before = hash_of_sources(tmp_path)
    page.write_text(page.read_text() + "<p>more</p>")
    assert hash_of_sources(tmp_path) != before
    (tmp_path / RECORD).write_text(json.dumps({"sources": before}))
    with pytest.raises(AssertionError, match="make screenshots"):
        check_pictures(tmp_path)
