"""The layers that ARCHITECTURE.md lists are those of the code: everything imports only what lies below it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.repository import ROOT

PACKAGE = ROOT / "src/ppaurora"


def listed_layers(text: str) -> list[list[str]]:
    """The first column of the table under "## Layers", from the bottom to the top."""
    section = text.split("\n## Layers\n")[1].split("\n## ")[0]
    rows = re.findall(r"^\| (`.*?`) \|", section, flags=re.MULTILINE)
    return [re.findall(r"`([a-z_]+)/?`", row) for row in rows][::-1]


def rooms_of_the_code() -> set[str]:
    return {
        path.stem if path.is_file() else path.name
        for path in PACKAGE.iterdir()
        if (path.suffix == ".py" and not path.stem.startswith("__")) or (path / "__init__.py").exists()
    }


def imports(root: Path = PACKAGE) -> Iterator[tuple[str, str, str]]:
    """(room, room that it imports, where): of every import in the package, wherever it stands."""
    for path in sorted(root.rglob("*.py")):
        where = path.relative_to(root)
        room = where.parts[0].removesuffix(".py")
        if room in ("__init__", "__main__"):
            continue  # the public names, and the command: on top of everything
        for node in ast.walk(ast.parse(path.read_text())):
            names: list[str] = []
            if isinstance(node, ast.ImportFrom) and node.module is not None and node.level == 0:
                top = node.module == "ppaurora"
                names = [f"ppaurora.{alias.name}" for alias in node.names] if top else [node.module]
            elif isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            for name in names:
                parts = name.split(".")
                if parts[0] == "ppaurora" and len(parts) > 1 and parts[1] != room:
                    yield room, parts[1], f"{where}:{getattr(node, 'lineno', 0)}"


def breaches(layers: list[list[str]], found: Iterator[tuple[str, str, str]]) -> list[str]:
    height = {room: number for number, rooms in enumerate(layers) for room in rooms}
    return [
        f"{where}: {room} imports {other}, which is not below it"
        for room, other, where in found
        if other in height and height[other] >= height[room]
    ]


@pytest.fixture(scope="module")
def layers() -> list[list[str]]:
    return listed_layers((ROOT / "ARCHITECTURE.md").read_text())


def test_every_room_is_listed_once(layers: list[list[str]]) -> None:
    listed = [room for rooms in layers for room in rooms]
    assert sorted(listed) == sorted(rooms_of_the_code())


def test_everything_imports_only_what_lies_below_it(layers: list[list[str]]) -> None:
    found = list(imports())
    assert len(found) > 300
    assert breaches(layers, iter(found)) == []


def test_nothing_imports_the_top_of_the_package() -> None:
    """`import ppaurora` inside of it would be a circle."""
    for path in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                assert "ppaurora" not in [alias.name for alias in node.names], path


def test_an_upward_import_is_found(layers: list[list[str]], tmp_path: Path) -> None:
    """The positive control: a suite that imports a protocol, one inside of a function."""
    (tmp_path / "suites").mkdir()
    (tmp_path / "suites/bad.py").write_text(
        "def f():\n    from ppaurora.protocols import Fast\n    return Fast\n"
    )
    assert breaches(layers, imports(tmp_path)) == [
        "suites/bad.py:2: suites imports protocols, which is not below it"
    ]
