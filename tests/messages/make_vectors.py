"""Writes test_vectors/: `python -m tests.messages.make_vectors`.

Vectors of a version that has been released are never replaced: a changed wire format has another VERSION.
Before its release, while a version is still being made, `--unreleased` replaces them.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence

from tests.messages.vectors import FILES, VectorFile
from tests.messages.vectors.guard import CHANGED, changed_vectors


def main(arguments: Sequence[str] | None = None, files: Sequence[VectorFile] = FILES) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--unreleased", action="store_true", help="no release has had this VERSION yet")
    unreleased = parser.parse_args(arguments).unreleased
    texts = {file: file.text() for file in files}
    refused = False
    for file, text in texts.items():
        changed = changed_vectors(file.recorded(), json.loads(text)) if file.path.exists() else []
        if changed and not unreleased:
            print(f"{file.path.name} ({'; '.join(changed)}): {CHANGED}", file=sys.stderr)
            refused = True
    if refused:
        return 1
    for file, text in texts.items():
        file.path.write_text(text, encoding="utf-8")
        print(file.path.name)
    return 0


if __name__ == "__main__":
    sys.exit(main())
