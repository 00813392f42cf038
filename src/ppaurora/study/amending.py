"""From a changed plan to an amendment: what the coordinator does, beside the kits of the study."""

from __future__ import annotations

import shutil
import time
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from msgspec import UNSET

from ppaurora.credentials.certificates import pin_of_pem
from ppaurora.errors import InputError
from ppaurora.io.files import replace_file
from ppaurora.study.amendments import Amendments, amended, sign_amendment
from ppaurora.study.kit import amendments_path
from ppaurora.study.manifest import Manifest
from ppaurora.study.pack import PACKED, pack, write_kit
from ppaurora.study.plan import read_plan
from ppaurora.study.provision import (
    authority_key,
    credentials_of,
    kit_files,
    load_authority,
    manifest_of,
    participants,
)


@dataclass(frozen=True)
class Amending:
    """A study as it was amended by its coordinator: the file to hand on, and new kits."""

    amendments: Amendments
    file: Path
    kits: tuple[Path, ...]  # of participants with a new key, each one file to hand over


def amend(
    plan_path: Path,
    kits: Path,
    *,
    reason: str = "",
    new_keys: Collection[str] = (),
    force: bool = False,
) -> Amending:
    """Make an amendment of what a plan says other than before; all of it stands in the folder of the kits.

    Participants keep their certificates, but for those that a plan names a certificate of, and those in
    `new_keys`, who get another kit: what they had before is beside it.
    """
    plan = read_plan(plan_path)
    first = _first(kits, plan.name)
    if first.coordinator is UNSET:
        raise InputError(
            f"{kits}: the study '{plan.name}' is of version {first.version}, and has no amendments"
        )
    authority = load_authority(kits)
    if pin_of_pem(authority.certificate) != first.coordinator:
        raise InputError(f"{kits}: the key of its authority is not the one that may amend '{plan.name}'")
    if not plan.evaluation.takes_submissions(time.time()):
        raise InputError(f"{plan_path}: evaluation.submissions_until: is over; name a later date")
    names = participants(plan, plan_path)
    unknown = sorted(set(new_keys) - set(names))
    if unknown:
        raise InputError(
            f"--new-key: nobody in {plan_path} is called '{unknown[0]}'; there are: {', '.join(names)}"
        )
    file = amendments_path(kits, plan.name)
    earlier = Amendments.read(file) if file.exists() else None
    before = first if earlier is None else earlier.latest
    credentials = {
        name: credentials_of(
            name, participant, plan_path.parent, None if name in new_keys else kits, authority
        )
        for name, participant in names.items()
    }
    planned = manifest_of(plan, credentials, str(plan_path), force, first.version, first.coordinator)
    if plan.agreed_changes != first.agreed_changes:
        raise InputError(f"{plan_path}: agreed_changes: were agreed on with the first manifest, and stay")
    try:
        manifest = amended(before, planned)
    except InputError as error:
        raise InputError(f"{plan_path}: {error}") from None
    step = sign_amendment(manifest, reason, authority_key(kits))
    made = Amendments(first=first, steps=(step,)) if earlier is None else earlier.with_step(step)
    packed = []
    for name in new_keys:
        files = kit_files(name, plan, credentials[name], manifest, ())
        _set_aside(kits / name, manifest.amendment)
        _set_aside(kits / f"{name}{PACKED}", manifest.amendment)
        write_kit(kits / name, files)
        packed.append(kits / f"{name}{PACKED}")
        pack(packed[-1], name, manifest, files)
    replace_file(file, made.text().encode())
    return Amending(made, file, tuple(packed))


def _first(kits: Path, study: str) -> Manifest:
    path = kits / f"{study}.json"
    if not path.exists():
        raise InputError(
            f"{kits}: holds no {study}.json; name the folder that 'ppaurora provision' wrote for this study"
        )
    return Manifest.read(path)


def _set_aside(path: Path, amendment: int) -> None:
    """Rename what is to be replaced; after a cut, what is there is the new one, unfinished."""
    aside = path.with_name(f"{path.name}.before-amendment-{amendment}")
    if not aside.exists() and path.exists():
        path.rename(aside)
    elif path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
