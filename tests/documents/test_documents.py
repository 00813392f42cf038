"""What the documents say is what the code does."""

from __future__ import annotations

import ast
import importlib
import re
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner

from benchmarks.__main__ import cli
from benchmarks.documents import stale_documents, stale_figures
from ppaurora.agreement.figures import figures_at
from ppaurora.errors import InputError
from ppaurora.metrics import METRICS, Query
from ppaurora.node.store.database import SCHEMA_VERSION
from ppaurora.policy.rules import COUNT_STEP, Policy
from ppaurora.version import WIRE_VERSION
from tests.support.guide import FENCE
from tests.support.repository import DOCUMENTS, README, ROOT

LONGEST_LINE = 110


def test_the_readmes_python_runs_as_pasted(capsys: pytest.CaptureFixture[str]) -> None:
    """It prints what README says, but for numbers with noise."""
    ((example, printed),) = re.findall(r"```python\n(.*?)```.*?```\n(.*?)```", README, flags=re.DOTALL)
    exec(compile(example, "README.md", "exec"), {})  # noqa: S102
    *alike, noisy = capsys.readouterr().out.splitlines()
    *lines, with_noise = printed.splitlines()
    assert alike == lines
    assert [line.split()[0] for line in (*lines, with_noise)] == ["exact", "publication", "private"]
    numbers = re.compile(r"\d\.\d+")
    assert numbers.sub("...", noisy) == numbers.sub("...", with_noise)


@pytest.mark.parametrize("column", range(4))
def test_the_readmes_intervals_are_as_wide_as_it_says(column: int) -> None:
    """Those of simulated studies, as `ppaurora disclosure` shows them; they differ by a few percent."""
    samples, *widths = (row[column] for row in _widths())
    third = int(samples.replace(",", "")) // 3
    query = Query((METRICS["auroc"](),), (third,) * 3, Policy(), confidence_level=0.95)
    for prevalence, shown in zip((0.05, 0.2), widths, strict=True):
        figures = figures_at(prevalence, query, studies=30)
        assert figures.released == (shown != "no result")
        if figures.released:
            assert figures.widths["AUROC"] == pytest.approx(float(shown), abs=0.015)


def _widths() -> list[list[str]]:
    """The rows of the table, without their names; the heads of its columns first."""
    table = README.split("| samples of all owners |")[1].split("\n\n")[0]
    head, _, *rows = ("|" + table).splitlines()
    return [[cell.strip() for cell in line.strip("|").split("|")][-4:] for line in (head, *rows)]


def test_the_readme_says_which_digits_a_publication_has() -> None:
    policy, words = Policy(), " ".join(README.split())
    assert (policy.digits, policy.counts, COUNT_STEP) == (3, "rounded", 5)
    assert "results have three decimals, standard errors four, and counts are to the nearest five" in words
    assert (policy.minimum_positives, policy.minimum_negatives) == (10, 10)
    assert "nothing is released about fewer than ten positives or negatives" in words


def test_paths_have_the_version_of_what_nodes_say() -> None:
    named = re.findall(r"/v(\d+)/", "\n".join(path.read_text() for path in DOCUMENTS))
    assert set(named) == {str(WIRE_VERSION)}


def test_tables_and_figures_are_what_was_measured() -> None:
    assert stale_documents(ROOT) == {}
    assert stale_figures(ROOT) == []


def copy_of_the_documents(folder: Path) -> Path:
    for name in ("README.md", "docs", "benchmarks"):
        source = ROOT / name
        (shutil.copytree if source.is_dir() else shutil.copy)(source, folder / name)
    return folder


@pytest.mark.long
def test_other_measurements_make_documents_and_figures_stale(tmp_path: Path) -> None:
    root = copy_of_the_documents(tmp_path)
    for file in (root / "benchmarks/results").glob("*.json"):
        file.write_text(re.sub(r"(\"seconds\": |\"median\": )(?=\d)", r"\g<1>1", file.read_text()))
    check = CliRunner().invoke(cli, ["docs", "--check", "--root", str(root)])
    assert isinstance(check.exception, InputError)
    for name in (
        "README.md",
        "docs/performance.md",
        "docs/figures/paper-samples.svg",
        "docs/figures/stability.svg",
    ):
        assert name in str(check.exception)
    assert CliRunner().invoke(cli, ["docs", "--root", str(root)]).exit_code == 0
    assert CliRunner().invoke(cli, ["docs", "--check", "--root", str(root)]).exit_code == 0


def test_a_block_of_unknown_name_is_refused(tmp_path: Path) -> None:
    root = copy_of_the_documents(tmp_path)
    (root / "README.md").write_text("<!-- generated: nonsense -->\n<!-- end of generated -->\n")
    with pytest.raises(InputError, match="nonsense"):
        stale_documents(root)


def test_missing_results_are_named(tmp_path: Path) -> None:
    root = copy_of_the_documents(tmp_path)
    (root / "benchmarks/results/scale.json").unlink()
    with pytest.raises(InputError, match=r"scale\.json is missing"):
        stale_documents(root)


def headings(document: Path) -> set[str]:
    """As links name them: in small letters, without punctuation, with hyphens for spaces."""
    titles = re.findall(r"^#+ (.*)$", FENCE.sub("", document.read_text()), flags=re.MULTILINE)
    return {re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in titles}


@pytest.mark.parametrize("document", [*DOCUMENTS, ROOT / "CHANGELOG.md"], ids=lambda path: path.name)
def test_links_between_documents_lead_somewhere(document: Path) -> None:
    for target, place in re.findall(r"\]\(([^)#]*)(?:#([^)]*))?\)", document.read_text()):
        if not target.startswith("http"):
            assert (document.parent / target).exists(), target
            # The API reference is made from docstrings: tests/documents/test_site.py looks at its anchors.
            if place and not place.startswith("ppaurora."):
                assert place in headings(document.parent / target if target else document), place


def test_headings_are_found_as_links_name_them() -> None:
    """The positive control: there are headings, and comments of code are none."""
    found = headings(ROOT / "docs/reference.md")
    assert {"retention-refusals-and-exit-codes", "what-is-kept-and-for-how-long", "refusals"} <= found
    assert not any("three-hospitals" in place for place in headings(ROOT / "docs/engineers.md"))


@pytest.mark.parametrize("document", [*DOCUMENTS, ROOT / "CHANGELOG.md"], ids=lambda path: path.name)
def test_lines_are_short(document: Path) -> None:
    """But for rows of tables, which cannot be broken, and what is generated."""
    lines = re.sub(r"<!-- generated.*?<!-- end", "", document.read_text(), flags=re.DOTALL).splitlines()
    assert [line for line in lines if len(line) > LONGEST_LINE and not line.startswith("|")] == []


def openings_in_the_code() -> set[str]:
    """The names that calls of `open_comparison` carry."""
    names = set()
    for source in (ROOT / "src/ppaurora").rglob("*.py"):
        for node in ast.walk(ast.parse(source.read_text())):
            if isinstance(node, ast.Call) and re.search(
                r"\b(suite|self|s)\.open(_\w+)?$", ast.unparse(node.func)
            ):
                names |= {
                    a.value for a in node.args if isinstance(a, ast.Constant) and isinstance(a.value, str)
                }
    return names


def test_every_opening_in_the_code_is_explained_and_no_other() -> None:
    leakage = (ROOT / "docs/leakage.md").read_text()
    section = leakage.split("## Openings, by name")[1].split("##")[0]
    explained = set(re.findall(r"^\| `([^`]+)`", section, flags=re.MULTILINE))
    assert openings_in_the_code() == explained == {"merge: which of two tops is larger"}


def resolves(dotted: str) -> bool:
    """Whether it is a module, or something that a module has."""
    parts = dotted.split(".")
    for end in range(len(parts), 0, -1):
        try:
            found: object = importlib.import_module(".".join(parts[:end]))
        except ModuleNotFoundError:
            continue
        for name in parts[end:]:
            if not hasattr(found, name):
                return False
            found = getattr(found, name)
        return True
    return False


PACKAGES = sorted(path.name for path in (ROOT / "src/ppaurora").iterdir() if (path / "__init__.py").exists())


@pytest.mark.parametrize("document", ["docs/protocol.md", "ARCHITECTURE.md"])
def test_what_documents_name_exists(document: str) -> None:
    text = (ROOT / document).read_text()
    names = set(re.findall(rf"`((?:{'|'.join(PACKAGES)})(?:\.[A-Za-z_]+)+)", text))
    files = set(re.findall(r"\b((?:[a-z]+/)+[a-z_]+\.py)\b", text))
    assert names | files
    for name in names:
        assert resolves(f"ppaurora.{name}"), name
    for file in files:
        assert (ROOT / file).exists() or any((ROOT / "src/ppaurora").rglob(file)), file


def test_names_that_do_not_exist_are_noticed() -> None:
    assert resolves("ppaurora.metrics.roc.Auroc")
    assert not resolves("ppaurora.metrics.roc.no_such_metric")
    assert not resolves("ppaurora.algorithms.no_such_module.auroc")


def named_places(text: str) -> set[tuple[str, str]]:
    """Pages that a source names, and where it also names one, the heading: docs/operating.md, 'Upgrading'."""
    text = re.sub(r'"\s*\n\s*f?"', "", text)  # strings that go on in the next line
    return set(re.findall(r"\b(docs/\w+\.md)(?:, '([^']+)')?", text))


def missing_pages(text: str) -> list[str]:
    return [
        f"{page}, {heading!r}" if heading else page
        for page, heading in sorted(named_places(text))
        if not (ROOT / page).exists()
        or (heading and not re.search(rf"^#+ {re.escape(heading)}$", (ROOT / page).read_text(), re.MULTILINE))
    ]


def test_pages_that_the_code_names_are_there() -> None:
    sources = [*(ROOT / "src").rglob("*.py"), *(ROOT / "src").rglob("*.html")]
    sources += [ROOT / name for name in ("Containerfile", "pyproject.toml", "install.sh")]
    texts = {path: path.read_text() for path in sources}
    assert sum(len(named_places(text)) for text in texts.values()) > 10
    assert {path.name: missing_pages(text) for path, text in texts.items() if missing_pages(text)} == {}


def test_pages_that_are_not_there_are_noticed() -> None:
    """The positive control."""
    text = """see docs/gone.md and docs/data.md, or "docs/operating.md, "
    f"'Upgrading'", not docs/operating.md, 'Nowhere'"""
    assert missing_pages(text) == ["docs/gone.md", "docs/operating.md, 'Nowhere'"]


def test_the_changelog_begins_with_this_version() -> None:
    """Every heading says first what to do when upgrading, but for the first version of all."""
    text = (ROOT / "CHANGELOG.md").read_text()
    headings = re.findall(r"^## Wire version (\d+) \(.*\), databases? (\d+)", text, re.MULTILINE)
    versions = [int(version) for version, _ in headings]
    assert headings[0] == (str(WIRE_VERSION), str(SCHEMA_VERSION))
    assert versions == list(range(WIRE_VERSION, 0, -1))
    sections = text.split("\n## ")[1:]
    assert all("\n\n**When upgrading.** " in section for section in sections[:-1])
