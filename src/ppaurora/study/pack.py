"""A kit as one file, to be handed over: `hospital-a.kit`.

It is JSON: texts by name, each with its digest, and nothing else, so that unpacking it can write no other
file than those of a kit. What it is worth is decided by its manifest, whose hash people compare: the
certificate must be the one that the manifest names for this participant, and the key that certificate's.
Units, which say what a machine runs, are not taken from it, but written anew where it is unpacked.
"""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import shutil
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.kdf.scrypt import Scrypt

from ppaurora.errors import InputError
from ppaurora.io.files import put_in_place, write_secret
from ppaurora.io.models import StrictModel, checked, to_json
from ppaurora.io.text import printable
from ppaurora.study.kit import STUDIES, NodeKit, OwnerKit, read_kit
from ppaurora.study.manifest import Manifest
from ppaurora.study.names import Name, Pin
from ppaurora.study.units import UNITS, unit_file

PACKED = ".kit"
KEY = "key.pem"
_PLAIN, _ENCRYPTED = "ppaurora kit", "ppaurora kit, encrypted"
_NEEDED = ("certificate.pem", "authority.pem")
_SETTINGS = ("node.toml", "owner.toml")
_NO_KIT = "is not a kit written by 'ppaurora provision --pack', or is incomplete; ask for it again"
MOST_BYTES = 16 << 20
# No letters that look alike; 20 of them are some 99 bits.
_LETTERS = "abcdefghjkmnpqrstuvwxyz23456789"
_GROUPS, _GROUP = 4, 5


class PackedFile(StrictModel):
    """One file of a kit."""

    sha256: Pin
    content: str

    def __repr__(self) -> str:
        return f"PackedFile({self.sha256[:12]})"  # it may be a key

    def __rich_repr__(self) -> list[tuple[str, Any]]:
        """Without this, `rich` would print the fields of any model."""
        return [("sha256", self.sha256[:12])]


class PackedKit(StrictModel):
    """Whose kit it is, for which study, and its files by name."""

    format: Literal["ppaurora kit"] = "ppaurora kit"
    version: Literal[1] = 1
    participant: Name
    study: Name
    hash: Pin
    files: dict[str, PackedFile]


class EncryptedKit(StrictModel):
    """A packed kit under a pass phrase: AES-256-GCM with a key by scrypt."""

    format: Literal["ppaurora kit, encrypted"] = "ppaurora kit, encrypted"
    version: Literal[1] = 1
    participant: Name
    salt: bytes
    iv: bytes
    sealed: bytes

    def __repr__(self) -> str:
        return f"EncryptedKit({self.participant})"


@dataclass(frozen=True)
class Unpacked:
    """A kit that was set up."""

    kit: NodeKit | OwnerKit
    participant: str
    manifest: Manifest
    has_key: bool


def write_kit(folder: Path, files: Mapping[str, bytes]) -> None:
    """Write a kit into a new folder, for its owner's eyes only."""
    folder.mkdir(mode=0o700)
    (folder / STUDIES).mkdir(mode=0o700)
    for name, content in files.items():
        write_secret(folder / name, content)


def new_passphrase() -> str:
    groups = ("".join(secrets.choice(_LETTERS) for _ in range(_GROUP)) for _ in range(_GROUPS))
    return "-".join(groups)


def pack(
    path: Path,
    participant: str,
    manifest: Manifest,
    files: Mapping[str, bytes],
    passphrase: str | None = None,
) -> None:
    """Write a kit to one file that only its owner can read; it holds the key, if the kit has one."""
    packed = PackedKit(
        participant=participant,
        study=manifest.study,
        hash=manifest.hash,
        files={
            name: PackedFile(sha256=hashlib.sha256(content).hexdigest(), content=content.decode())
            for name, content in files.items()
        },
    )
    raw = to_json(packed)
    if passphrase is not None:
        salt, iv = os.urandom(16), os.urandom(12)
        sealed = AESGCM(_key_of(passphrase, salt)).encrypt(iv, raw, participant.encode())
        raw = to_json(EncryptedKit(participant=participant, salt=salt, iv=iv, sealed=sealed))
    write_secret(path, raw + b"\n")


def unpack(
    path: Path,
    into: Path,
    ask_passphrase: Callable[[], str],
    *,
    key: Path | None = None,
    expect_hash: str | None = None,
) -> Unpacked:
    """Set the kit up in a new folder, once everything about it was checked; else nothing is written.

    `key` is that of a certificate of the participant's own; a copy goes into the kit.
    """
    _check_free(into)
    return unpack_content(_content(path), path, into, ask_passphrase, key=key, expect_hash=expect_hash)


def unpack_content(
    content: bytes,
    path: Path,
    into: Path,
    ask_passphrase: Callable[[], str],
    *,
    key: Path | None = None,
    expect_hash: str | None = None,
) -> Unpacked:
    """Set up a kit from the content of its file, as `unpack` does. `path` is only what the file is called."""
    _check_free(into)
    packed = _read(content, path, ask_passphrase)
    files = _checked_files(path, packed)
    if key is not None:
        files[KEY] = _own_key(path, key, files)
    try:
        manifest = _set_up(path, into, packed, files, expect_hash)
    except OSError as error:
        raise InputError(f"{into}: cannot be written: {error.strerror}; nothing was unpacked") from None
    return Unpacked(read_kit(into), packed.participant, manifest, KEY in files)


def is_locked(content: bytes, path: Path) -> bool:
    """Return whether a pass phrase is needed to unpack it; raises if it is no packed kit at all."""
    said = _parsed(path, content).get("format")
    if said not in (_PLAIN, _ENCRYPTED):
        raise InputError(f"{path}: {_NO_KIT}")
    return bool(said == _ENCRYPTED)


def _check_free(into: Path) -> None:
    if into.exists() or into.is_symlink():
        raise InputError(f"{into}: exists; name a new folder with --into, so that no kit is overwritten")


def _set_up(
    path: Path, into: Path, packed: PackedKit, files: Mapping[str, bytes], expect_hash: str | None
) -> Manifest:
    """Beside the folder, and put in its place when it is whole."""
    building = Path(tempfile.mkdtemp(prefix=f".{into.name}.", dir=_parent(into)))
    kit = building / "kit"
    try:
        write_kit(kit, files)
        try:
            manifest = _check_kit(kit, packed, expect_hash)
        except InputError as error:
            told = str(error).replace(f"{kit}{os.sep}", "")
            raise InputError(f"{path}: {told}; nothing was unpacked") from None
        _check_file_name(path, packed, manifest)
        for unit in packed.files.keys() & UNITS:
            node = manifest.nodes[packed.participant]
            write_secret(kit / unit, unit_file(unit, packed.participant, node))
        put_in_place(kit, into)
    finally:
        shutil.rmtree(building, ignore_errors=True)
    return manifest


def _own_key(path: Path, key: Path, files: Mapping[str, bytes]) -> bytes:
    if KEY in files:
        raise InputError(f"{path}: has a key already; leave out --key {key}; nothing was unpacked")
    try:
        return key.read_bytes()
    except OSError as error:
        raise InputError(f"{key}: cannot be read: {error.strerror}; nothing was unpacked") from None


def _parent(into: Path) -> Path:
    if not into.absolute().parent.is_dir():
        raise InputError(f"{into}: the folder {into.absolute().parent} does not exist")
    return into.absolute().parent


def _key_of(passphrase: str, salt: bytes) -> bytes:
    """Derive the key of a pass phrase, however it was typed: in capitals, with spaces or without hyphens."""
    letters = "".join(letter for letter in passphrase.lower() if letter.isalnum())
    return Scrypt(salt=salt, length=32, n=1 << 15, r=8, p=1).derive(letters.encode())


def _read(raw: bytes, path: Path, ask_passphrase: Callable[[], str]) -> PackedKit:
    content = _parsed(path, raw)
    if content.get("format") == _ENCRYPTED:
        locked = checked(EncryptedKit, content, str(path))
        passphrase = ask_passphrase()
        try:
            key = _key_of(passphrase, locked.salt)
            opened = AESGCM(key).decrypt(locked.iv, locked.sealed, locked.participant.encode())
        except (InvalidTag, ValueError):
            raise InputError(
                f"{path}: the pass phrase does not open it, or the file was changed; ask whoever sent it"
            ) from None
        content = _parsed(path, opened)
    if content.get("format") != _PLAIN:
        raise InputError(f"{path}: {_NO_KIT}")
    return checked(PackedKit, content, str(path))


def _content(path: Path) -> bytes:
    if not path.is_file():
        raise InputError(f"{path}: there is no such file")
    try:
        with path.open("rb") as file:
            raw = file.read(MOST_BYTES + 1)
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from None
    if len(raw) > MOST_BYTES:
        raise InputError(f"{path}: is larger than any kit ({MOST_BYTES >> 20} MB)")
    return raw


def _parsed(path: Path, raw: bytes) -> dict[str, Any]:
    try:
        content = json.loads(raw)
    except (ValueError, RecursionError):
        content = None
    if not isinstance(content, dict):
        raise InputError(f"{path}: {_NO_KIT}")
    return content


def _checked_files(path: Path, packed: PackedKit) -> dict[str, bytes]:
    """Return the files of a kit and no other, each as it was packed; without units, which are not needed."""
    manifest = f"{STUDIES}/{packed.study}.json"
    settings = [name for name in _SETTINGS if name in packed.files]
    needed = {*_NEEDED, manifest, *settings}
    allowed = {*needed, KEY, *(UNITS if "node.toml" in settings else ())}
    for name in packed.files:
        if name not in allowed:
            raise InputError(
                f"{path}: holds '{printable(name)}', which is not part of a kit; nothing was unpacked"
            )
    missing = sorted(needed - set(packed.files))
    if missing or len(settings) != 1:
        lacks = ", ".join(missing) or "either node.toml or owner.toml"
        raise InputError(f"{path}: lacks {lacks}; ask for a new one; nothing was unpacked")
    files = {name: file.content.encode(errors="replace") for name, file in packed.files.items()}
    for name, content in files.items():
        if hashlib.sha256(content).hexdigest() != packed.files[name].sha256:
            raise InputError(f"{path}: {name} was changed on the way; ask for it again; nothing was unpacked")
    return {name: content for name, content in files.items() if name not in UNITS}


def _check_kit(folder: Path, packed: PackedKit, expect_hash: str | None) -> Manifest:
    """Is it what it says: this participant's, for this manifest, with the key that belongs to it?"""
    kit = read_kit(folder)
    name = kit.settings.role if isinstance(kit, NodeKit) else kit.name
    if name != packed.participant:
        raise InputError(f"says that it is for {packed.participant}, and holds the settings of {name}")
    manifest = Manifest.read(folder / STUDIES / f"{packed.study}.json")
    if (manifest.study, manifest.hash) != (packed.study, packed.hash):
        raise InputError("holds another manifest than it says")
    kit.expect(manifest, expect_hash)
    kit.check_own(manifest)
    if kit.key.exists():
        kit.check_key()
    return manifest


def _check_file_name(path: Path, packed: PackedKit, manifest: Manifest) -> None:
    """A file that is called like one participant and is another's was mixed up by whoever sent it."""
    named = path.name.removesuffix(PACKED)
    if named != packed.participant and named in {*manifest.nodes, *manifest.owner_names}:
        raise InputError(
            f"{path}: is the kit of {packed.participant}, not of {named}; if it is meant for you, give the "
            "file another name; nothing was unpacked"
        )
