"""The licence of every package that a lock installs, compared with a list of those that are allowed."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Collection, Mapping
from importlib.metadata import Distribution
from pathlib import Path

from packaging.licenses import InvalidLicenseExpression, canonicalize_license_expression

_LIST = tomllib.loads((Path(__file__).parent / "licences.toml").read_text())
ALLOWED: Mapping[str, str] = _LIST["allowed"]
_WORDS: Mapping[str, str] = _LIST["words"]


def licence_of(package: Distribution) -> str | None:
    """As an SPDX expression; None if the package says nothing that we understand.

    What it says in `License-Expression` counts before `License`, and that before a classifier. Of several
    classifiers nobody knows whether all hold or one may be chosen: then a person must look.
    """
    metadata = package.metadata
    classifiers = [c for c in metadata.get_all("Classifier") or () if c.startswith("License :: ")]
    only = classifiers[0] if len(classifiers) == 1 else None
    for said in (*(metadata.get_all("License-Expression") or ()), *(metadata.get_all("License") or ()), only):
        if said and (expression := _as_expression(said)):
            return expression
    return None


def _as_expression(said: str) -> str | None:
    try:
        return str(canonicalize_license_expression(_WORDS.get(said, said)))
    except InvalidLicenseExpression:
        return None


def is_allowed(expression: str, allowed: Collection[str] = ALLOWED) -> bool:
    """Look it up: of `A OR B` one must be allowed, of `A AND B` both; `A WITH exception` is one name."""
    words = re.findall(r"[()]|[^\s()]+", expression.replace(" WITH ", "\0WITH\0"))
    return _either(words, {name.replace(" WITH ", "\0WITH\0") for name in allowed})


def _either(words: list[str], allowed: Collection[str]) -> bool:
    found = _both(words, allowed)
    while words and words[0] == "OR":
        words.pop(0)
        found = _both(words, allowed) or found
    return found


def _both(words: list[str], allowed: Collection[str]) -> bool:
    found = _single(words, allowed)
    while words and words[0] == "AND":
        words.pop(0)
        found = _single(words, allowed) and found
    return found


def _single(words: list[str], allowed: Collection[str]) -> bool:
    word = words.pop(0)
    if word != "(":
        return word in allowed
    found = _either(words, allowed)
    words.pop(0)  # the bracket that closes
    return found
