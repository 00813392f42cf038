"""`python -m tools.screenshots`: the pictures in docs/images, made from the real app with made-up data."""

from __future__ import annotations

import hashlib
import io
import json
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import click
from PIL import Image
from playwright.sync_api import Browser, Page

from ppaurora.cli.main import run
from ppaurora.errors import InputError
from ppaurora.io.files import replace_file
from tools.browser.chromium import MISSING, PATIENCE, chromium, find_chromium
from tools.browser.scenes import CHECKED, REPORT, operator_scenes, owner_scenes, story_scenes
from tools.browser.shown import ShownConsortium

ROOT = Path(__file__).resolve().parent.parent
IMAGES = ROOT / "docs" / "images"
RECORD = "screenshots.json"
PICTURES = {CHECKED: ("app.png", "header"), REPORT: ("report.png", "#results")}  # and where they begin
WIDTH, HEIGHT, MARGIN = 1200, 1000, 24
VIEWS = {"desktop": (1280, 900), "phone": (390, 844)}
_SOURCES = ("src/ppaurora/pages", "src/ppaurora/app/static", "src/ppaurora/app/templates/owner")
_ENDINGS = (".css", ".html", ".js", ".py")
_COLOURS = 192


def hash_of_sources(root: Path = ROOT) -> str:
    """Hash whatever the two pictures are drawn from: templates, style sheets, charts, the report's texts."""
    found = hashlib.sha256()
    for folder in _SOURCES:
        for path in sorted((root / folder).rglob("*")):
            if path.suffix in _ENDINGS:
                content = hashlib.sha256(path.read_bytes()).hexdigest()
                found.update(f"{path.relative_to(root).as_posix()} {content}\n".encode())
    return found.hexdigest()


def make_pictures(browser: Browser, folder: Path) -> None:
    """The two of the documents, and a record of what they were made from."""
    with _consortium() as consortium, _context(browser) as page:
        for scene in owner_scenes(page.context, consortium, brief=True):
            if scene in PICTURES:
                file, first = PICTURES[scene]
                replace_file(folder / file, _as_palette(_from(page, first)))
    record = {"sources": hash_of_sources()}
    replace_file(folder / RECORD, json.dumps(record, indent=1).encode() + b"\n")


def make_all(browser: Browser, folder: Path) -> None:
    """Every page, whole, at two widths, light and dark."""
    folder.mkdir(parents=True, exist_ok=True)
    with _consortium() as consortium, _context(browser) as page:
        for scenes in (
            owner_scenes(page.context, consortium, brief=False),
            operator_scenes(page.context, consortium),
            story_scenes(page.context),
        ):
            for scene in scenes:
                _save_views(page, folder, scene)
                click.echo(scene)


def _save_views(page: Page, folder: Path, scene: str) -> None:
    for view, (width, height) in VIEWS.items():
        page.set_viewport_size({"width": width, "height": height})
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme=scheme)
            page.screenshot(path=folder / f"{scene}-{view}-{scheme}.png", full_page=True)
    page.emulate_media(color_scheme="light")
    if scene.startswith("report"):
        page.pdf(path=folder / f"{scene}.pdf", format="A4")


def _from(page: Page, first: str) -> bytes:
    """As much of the page as documents show, from this element on."""
    page.set_viewport_size({"width": WIDTH, "height": HEIGHT})
    top = page.locator(first).first.evaluate("one => one.getBoundingClientRect().top + scrollY")
    clip = {"x": 0.0, "y": max(0.0, top - MARGIN), "width": float(WIDTH), "height": float(HEIGHT)}
    return page.screenshot(full_page=True, clip=clip)  # type: ignore[arg-type]


def _as_palette(picture: bytes) -> bytes:
    """A page has few colours: a palette makes a third of the bytes."""
    with Image.open(io.BytesIO(picture)) as image:
        few = image.convert("RGB").quantize(_COLOURS, dither=Image.Dither.NONE)
    written = io.BytesIO()
    few.save(written, "PNG", optimize=True)
    return written.getvalue()


@contextmanager
def _consortium() -> Iterator[ShownConsortium]:
    with tempfile.TemporaryDirectory(prefix="ppaurora-") as folder:
        consortium = ShownConsortium(Path(folder))
        try:
            consortium.start()
            yield consortium
        finally:
            consortium.stop()


@contextmanager
def _context(browser: Browser) -> Iterator[Page]:
    context = browser.new_context(reduced_motion="reduce", color_scheme="light")
    context.set_default_timeout(PATIENCE)
    try:
        yield context.new_page()
    finally:
        context.close()


@click.command("screenshots", context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--out", type=click.Path(path_type=Path, file_okay=False), default=IMAGES, help="docs/images.")
@click.option(
    "--all",
    "everything",
    type=click.Path(path_type=Path, file_okay=False),
    help="A folder for every page at two widths, light and dark, and the report as PDF, instead.",
)
def cli(out: Path, everything: Path | None) -> None:
    """Take the pictures that the documents show, in Chromium, from the app with made-up data."""
    path = find_chromium()
    if path is None:
        raise InputError(MISSING)
    with chromium(path) as browser:
        if everything is not None:
            make_all(browser, everything)
        else:
            out.mkdir(parents=True, exist_ok=True)
            make_pictures(browser, out)
            click.echo(f"{', '.join(file for file, _ in PICTURES.values())} and {RECORD} are in {out}")


def main(arguments: Sequence[str] | None = None) -> None:
    run(cli, "python -m tools.screenshots", arguments)


if __name__ == "__main__":
    main()
