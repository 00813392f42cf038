"""A hook of MkDocs: the documents of docs/ and those beside README.md as one site, without a second copy.

Pages keep the names that their files have in the repository, so that a link that leads somewhere there leads
to the same page here. The site itself is flat: docs/data.md is data.html, README.md is readme.html.
"""

from __future__ import annotations

from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

ROOT = Path(__file__).resolve().parents[1]
BESIDE_THE_README = (
    "README.md",
    "ARCHITECTURE.md",
    "SECURITY.md",
    "CONTRIBUTING.md",
    "CHANGELOG.md",
    "CITATION.cff",
)


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Those of docs/ under their names in the repository, those beside README.md, and the examples."""
    folder = Path(config.docs_dir)
    for file in [file for file in files if file.src_dir == config.docs_dir]:
        files.remove(file)
        files.append(_page(folder.name + "/" + file.src_uri, file.src_uri, config))
    paths = sorted(path for path in (ROOT / "examples").rglob("*.*") if "__pycache__" not in path.parts)
    examples = [path.relative_to(ROOT).as_posix() for path in paths]
    for name in (*BESIDE_THE_README, *examples):
        files.append(_page(name, name, config))
    return files


def _page(source: str, target: str, config: MkDocsConfig) -> File:
    if target.endswith(".md"):
        target = target.removesuffix(".md").lower() + ".html"
    return File(source, str(ROOT), config.site_dir, use_directory_urls=False, dest_uri=target)
