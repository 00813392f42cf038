"""Lock files, as `make lock` writes them, and the packages that they install here."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from importlib.metadata import Distribution, distributions
from pathlib import Path
from typing import NamedTuple

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from ppaurora.errors import InputError

_OWN = frozenset({"ppaurora", "pip", "setuptools"})  # the project itself, and what `venv` puts there
_HASH = re.compile(r"--hash=sha256:([0-9a-f]{64})")


class Pin(NamedTuple):
    """One entry of a lock: a version, where it is for, the SHA-256 of every file of it, and who needs it."""

    requirement: Requirement
    version: str
    hashes: tuple[str, ...]
    via: tuple[str, ...]

    @property
    def name(self) -> str:
        return canonicalize_name(self.requirement.name)

    @property
    def is_for_here(self) -> bool:
        marker = self.requirement.marker
        return marker is None or marker.evaluate()


def read_lock(path: Path) -> list[Pin]:
    """Every entry, also those for other platforms. A lock that does not fix versions and files is refused."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path} cannot be read ({error}); `make lock` writes it") from None
    entries = re.split(r"^(?=[^\s#])", text, flags=re.MULTILINE)[1:]
    pins = [_read_entry(path, entry) for entry in entries]
    if not pins:
        raise InputError(f"{path} is empty: it locks nothing; `make lock` writes it")
    return pins


def _read_entry(path: Path, entry: str) -> Pin:
    line = entry.splitlines()[0].removesuffix("\\").strip()
    try:
        requirement = Requirement(line)
    except InvalidRequirement:
        raise InputError(f"{path}: {line!r} is no locked version; `make lock` writes it anew") from None
    fixed = [specifier.version for specifier in requirement.specifier if specifier.operator == "=="]
    hashes = tuple(_HASH.findall(entry))
    if len(fixed) != 1 or len(requirement.specifier) != 1 or "*" in fixed[0] or not hashes:
        raise InputError(f"{path}: {line!r} has no single version with hashes; `make lock` writes it anew")
    via = re.findall(r"^ +# +(?:via +)?(\S.*)$", entry, flags=re.MULTILINE)
    return Pin(requirement, fixed[0], hashes, tuple(source for source in via if source != "via"))


def all_versions(paths: Iterable[Path]) -> list[tuple[str, str]]:
    """Every name and version that some lock names, for any platform; sorted, each once."""
    return sorted({(pin.name, pin.version) for path in paths for pin in read_lock(path)})


def installed_by(path: Path) -> list[tuple[Pin, Distribution]]:
    """What the lock installs on this platform, with the metadata of what is really installed here."""
    here: dict[str, Distribution] = {
        canonicalize_name(found.metadata["Name"]): found for found in reversed(list(distributions()))
    }
    pins = sorted((pin for pin in read_lock(path) if pin.is_for_here), key=lambda pin: pin.name)
    problems = _differences(pins, here)
    if problems:
        raise InputError(
            f"this environment is not what {path} installs: {'; '.join(problems)}. "
            f"Install it first: pip install --require-hashes -r {path}"
        )
    return [(pin, here[pin.name]) for pin in pins]


def check_nothing_else(path: Path, beside: Sequence[Path] = ()) -> None:
    """Refuse an environment with a package that neither this lock installs, nor another one beside it."""
    pins = [pin for lock in (path, *beside) for pin in read_lock(lock) if pin.is_for_here]
    locked = {(pin.name, pin.version) for pin in pins}
    names = {pin.name for pin in pins}
    problems = []
    for found in distributions():
        name = canonicalize_name(found.metadata["Name"])
        if name in names and (name, found.version) not in locked:
            problems.append(f"{name} {found.version} is another version than is locked")
        elif name not in names | _OWN:
            problems.append(f"{name} {found.version} is not locked")
    if problems:
        raise InputError(
            f"something else is installed here than {path} locks: {'; '.join(sorted(problems))}. Make an "
            f"environment of the lock alone, or name the other locks that it is made of with --beside"
        )


def _differences(pins: Sequence[Pin], here: dict[str, Distribution]) -> list[str]:
    missing = [f"{pin.name} is missing" for pin in pins if pin.name not in here]
    return missing + [
        f"{pin.name} is {here[pin.name].version}, not {pin.version}"
        for pin in pins
        if pin.name in here and here[pin.name].version != pin.version
    ]
