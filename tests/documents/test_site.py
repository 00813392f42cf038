"""The documentation as pages: built once, complete, and without anything from outside."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import urlsplit

import pytest

import ppaurora
from ppaurora import plot
from tests.support.repository import DOCUMENTS, ROOT
from tests.support.site import build_site, dead_ends, loaded_from_outside, read_pages

CHROMIUM = Path("/usr/bin/chromium")
AUDIENCES = {
    "hospitals": "for-hospitals",
    "owners": "for-data-managers",
    "coordinators": "for-coordinators",
    "operators": "for-node-operators",
    "statisticians": "for-statisticians",
    "engineers": "for-engineers",
}


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Strict: a page that is not in the navigation, or a link that leads nowhere, ends it."""
    return build_site(tmp_path_factory.mktemp("site"))


@pytest.mark.long
def test_every_document_is_a_page(site: Path) -> None:
    documents = [*(ROOT / "docs").glob("*.md"), *ROOT.glob("*.md")]
    assert {path.stem.lower() for path in documents} == {path.stem for path in site.glob("*.html")} - {"404"}


@pytest.mark.long
def test_every_audience_has_a_page_of_its_own_to_begin_with(site: Path) -> None:
    home = (site / "index.html").read_text()
    for page, heading in AUDIENCES.items():
        assert f'<h1 id="{heading}"' in (site / f"{page}.html").read_text()
        assert f'href="{page}.html"' in home


def test_no_two_pages_have_the_same_title() -> None:
    """Neither in the navigation nor at their top."""
    navigation = (ROOT / "mkdocs.yml").read_text().split("\nnav:\n")[1].split("\n\n")[0]
    titles = re.findall(r"^ +- (.*): .*\.md$", navigation, re.MULTILINE)
    tops = [path.read_text().split("\n", 1)[0] for path in DOCUMENTS]
    assert len(titles) == len(tops) + 1  # the changelog
    for named in (titles, tops):
        assert sorted(set(named)) == sorted(named)


@pytest.mark.long
def test_every_link_and_anchor_leads_somewhere(site: Path) -> None:
    assert sum(len(page.links) for page in read_pages(site).values()) > 1_000
    assert dead_ends(site) == []


@pytest.mark.long
def test_nothing_is_loaded_from_outside(site: Path) -> None:
    assert sum(len(page.loads) for page in read_pages(site).values()) > 100
    assert loaded_from_outside(site) == []


@pytest.mark.long
def test_links_to_elsewhere_are_well_formed(site: Path) -> None:
    links = {link for page in read_pages(site).values() for link in page.links if urlsplit(link).scheme}
    assert len(links) > 3
    assert [link for link in links if not re.fullmatch(r"https://[a-z0-9.-]+\.[a-z]+(/[!-~]*)?", link)] == []


def test_dead_ends_and_what_comes_from_outside_are_noticed(tmp_path: Path) -> None:
    """The positive control."""
    (tmp_path / "style.css").write_text(
        "@import 'https://a.example/a.css'; p { background: url(//b.example/b) }"
    )
    (tmp_path / "other.html").write_text("<h1 id=here>Here</h1>")
    (tmp_path / "page.html").write_text(
        '<link rel=stylesheet href=style.css><script src="https://c.example/c.js"></script>'
        '<style>@font-face { src: url("https://d.example/d") }</style><img srcset="https://e.example/e 2x">'
        '<a href="other.html#here">1</a><a href="other.html#there">2</a><a href="gone.html">3</a>'
        '<a href="#nowhere">4</a><a href="https://f.example/">5</a>'
    )
    assert dead_ends(tmp_path) == [
        f"page.html: {one}" for one in ("other.html#there", "gone.html", "#nowhere")
    ]
    outside = " ".join(loaded_from_outside(tmp_path))
    assert [name for name in "abcdef" if f"//{name}.example" in outside] == list("abcde")


@pytest.mark.long
def test_every_public_name_is_in_the_api_reference_and_no_private_one(site: Path) -> None:
    ids = read_pages(site)[site / "api.html"].ids
    assert [name for name in ppaurora.__all__ if f"ppaurora.{name}" not in ids] == []
    shown = {name for name in ids if name.startswith("ppaurora.")}
    of_plots = {name for name in shown if name.startswith("ppaurora.plot.")}
    assert {name.split(".")[2] for name in of_plots} == set(plot.__all__)
    assert {name.split(".")[1] for name in shown - of_plots} == set(ppaurora.__all__)
    assert [name for name in shown if "._" in name] == []


@pytest.mark.long
@pytest.mark.skipif(not CHROMIUM.exists(), reason=f"needs a browser: {CHROMIUM}")
def test_the_search_works_in_files_without_a_network(site: Path) -> None:
    from playwright.sync_api import sync_playwright

    query: list[str] = []
    wrong: list[str] = []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        page = browser.new_page()
        page.on("request", lambda request: query.append(request.url))
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.goto((site / "hospitals.html").as_uri())
        page.get_by_role("textbox", name="Search").click()
        page.get_by_text("Type to start searching").wait_for()
        page.keyboard.type("DeLong")
        page.locator(".md-search-result__link", has_text="Metrics and intervals").first.wait_for()
        browser.close()
    assert wrong == []
    assert [url for url in query if not url.startswith(("file:", "data:"))] == []
