"""Writes test_vectors/: `python -m tests.messages.make_vectors`.

Vectors of a version that has been released are never replaced: a changed wire format has another VERSION.
Before its release, while a version is still being made, `--unreleased` replaces them.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from tests.messages.vectors import FILES, VectorFile
from tests.messages.vectors.guard import CHANGED, changed_vectors


def main(arguments: Sequence[str] | None = None, files: Sequence[VectorFile] = FILES) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--unreleased", action="store_true", help="no release has had this VERSION yet")
    unreleased = parser.parse_args(arguments).unreleased
    changed = {file: changed_vectors(file) for file in files if file.path.exists()}
    if any(changed.values()) and not unreleased:
        for file, names in changed.items():
            if names:
                print(f"{file.path.name} ({'; '.join(names)}): {CHANGED}", file=sys.stderr)
        return 1
    for file in files:
        file.path.write_text(file.text(), encoding="utf-8")
        print(file.path.name)
    return 0


if __name__ == "__main__":
    sys.exit(main())
