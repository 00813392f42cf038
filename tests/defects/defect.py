"""What a deliberate defect is."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path, PurePosixPath

PACKAGE = PurePosixPath("src/ppaurora")


@dataclass(frozen=True)
class Defect:
    """One place of one file in which something else is written.

    Attributes
    ----------
    name
        What it is called on the command line and in tables.
    what
        What goes wrong with it, in words.
    file
        From the root of the tree.
    old, new
        The text that is there exactly once, and what is written in its place.
    tests
        The smallest selection for pytest, files or single tests, of which one must fail.
    """

    name: str
    what: str
    file: str
    old: str
    new: str
    tests: tuple[str, ...]

    @property
    def room(self) -> str:
        """The package or module of `src/ppaurora` that it is in."""
        path = PurePosixPath(self.file)
        inside = path.relative_to(PACKAGE) if path.is_relative_to(PACKAGE) else path
        return inside.parts[0].removesuffix(".py")

    def problem_in(self, root: Path) -> str:
        """Why it cannot be put into the tree at this folder; nothing if it can."""
        path = root / self.file
        if not path.is_file():
            return f"there is no {self.file}"
        times = path.read_text().count(self.old)
        if times != 1:
            return f"{self.file}: the text to be replaced is there {times} times"
        missing = [test for test in self.tests if not (root / test.partition("::")[0]).exists()]
        return f"there is no {missing[0]}" if missing else ""

    def changed(self, text: str) -> str:
        """The file's text with the defect in it."""
        return text.replace(self.old, self.new)
