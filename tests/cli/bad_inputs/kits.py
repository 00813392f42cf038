"""Kits of others, kits that others can read, and kits that are not whole."""

from __future__ import annotations

import shutil

from tests.cli.bad_inputs.plans import accepted
from tests.cli.bad_inputs.row import Place, Row, Step, changed, data, file, kit, study, without

SUBMIT = "submit kit data.csv --yes"


def key_of(name: str) -> Step:
    return lambda place: shutil.copy(place.nodes.kit(name) / "key.pem", place.folder / "kit/key.pem")


def readable(name: str) -> Step:
    return lambda place: (place.folder / name).chmod(0o644)


def folder(name: str) -> Step:
    return lambda place: (place.folder / name).mkdir()


def study_of_others(place: Place) -> None:
    """In a kit of somebody who takes no part."""
    shutil.copy(place.nodes.kit("north") / "studies/others.json", place.folder / "kit/studies/others.json")


NORTH = kit("north", "trial")
PROXY = kit("proxy-0")

ROWS = [
    Row(
        "no such folder", (data,), SUBMIT, "ppaurora: kit: there is no such folder; an owner's kit is needed"
    ),
    Row(
        "a folder that is no kit",
        (folder("kit"), data),
        SUBMIT,
        "ppaurora: kit: is not an owner's kit; it holds no owner.toml",
    ),
    Row(
        "a file for a kit",
        (file("kit", "x"), data),
        SUBMIT,
        "ppaurora: kit: is a file, and a kit is a folder; name the folder that 'ppaurora unpack' made",
    ),
    Row(
        "a packed kit",
        (file("north.kit", "x"), data),
        "submit north.kit data.csv --yes",
        "ppaurora: north.kit: is a packed kit; unpack it first: ppaurora unpack north.kit; then name the "
        "folder north",
    ),
    Row(
        "a packed kit, for the app",
        (file("north.kit", "x"),),
        "app north.kit",
        "ppaurora: north.kit: is a packed kit; unpack it first: ppaurora unpack north.kit; then name the "
        "folder north",
    ),
    Row(
        "a packed kit beside its folder",
        (file("kit.kit", "x"), NORTH),
        "preflight kit.kit",
        "ppaurora: kit.kit: is the packed kit; name the folder that it was unpacked into: kit",
    ),
    Row(
        "a packed kit, for a check",
        (file("north.kit", "x"), data),
        "check data.csv --kit north.kit",
        "ppaurora: north.kit: is a packed kit; unpack it first: ppaurora unpack north.kit; then name the "
        "folder north",
    ),
    *(
        Row(
            f"a packed kit, for {command}",
            (file("north.kit", "x"),),
            f"{command} north.kit",
            "ppaurora: north.kit: is a packed kit; unpack it first: ppaurora unpack north.kit; then name the "
            "folder north",
        )
        for command in ("disclosure", "verify")
    ),
    Row(
        "a folder that is not called kit",
        (NORTH, data),
        "submit hospital data.csv --yes",
        "ppaurora: hospital: there is no such folder; an owner's kit is needed. Kits here: kit",
    ),
    Row(
        "the folder above the kit",
        (NORTH,),
        "preflight .",
        "ppaurora: .: is not a kit folder; it holds neither node.toml nor owner.toml. Kits here: kit",
    ),
    Row(
        "a kit that was not unpacked yet",
        (file("north.kit", "x"),),
        "preflight north",
        "ppaurora: north: there is no such folder; a kit is needed. To set up the kit that is here: ppaurora "
        "unpack north.kit",
    ),
    Row(
        "a node's kit for an owner's command",
        (PROXY, data),
        SUBMIT,
        "ppaurora: kit: is a node's kit, and this command takes an owner's kit",
    ),
    Row(
        "a node's kit, for status",
        (PROXY,),
        "status kit",
        "ppaurora: kit: is a node's kit, and this command takes an owner's kit",
    ),
    Row(
        "an owner's kit for a node's command",
        (NORTH,),
        "serve kit",
        "ppaurora: kit: is an owner's kit, and this command takes a node's kit",
    ),
    Row(
        "an owner's kit, for its studies",
        (NORTH,),
        "studies kit",
        "ppaurora: kit: is an owner's kit, and this command takes a node's kit",
    ),
    Row(
        "an owner's kit, for an audit",
        (NORTH,),
        "audit kit",
        "ppaurora: kit: is an owner's kit, and this command takes a node's kit",
    ),
    Row(
        "a folder that is no kit, for preflight",
        (folder("kit"),),
        "preflight kit",
        "ppaurora: kit: is not a kit folder; it holds neither node.toml nor owner.toml",
    ),
    Row(
        "an owner's key that others can read",
        (NORTH, data, readable("kit/key.pem")),
        SUBMIT,
        "ppaurora: kit/key.pem: others on this machine can read it; run: chmod 600 kit/key.pem",
    ),
    Row(
        "a node's key that others can read",
        (PROXY, readable("kit/key.pem")),
        "serve kit",
        "ppaurora: kit/key.pem: others on this machine can read it; run: chmod 600 kit/key.pem",
    ),
    Row(
        "another hospital's key",
        (NORTH, data, key_of("harbour")),
        SUBMIT,
        "ppaurora: kit/key.pem: is not the key of kit/certificate.pem",
    ),
    Row(
        "no key",
        (NORTH, data, without("kit/key.pem")),
        SUBMIT,
        "ppaurora: kit/key.pem: cannot be read: No such file or directory; put the key of "
        "kit/certificate.pem there",
    ),
    Row(
        "no certificate",
        (NORTH, data, without("kit/certificate.pem")),
        SUBMIT,
        "ppaurora: kit/certificate.pem: cannot be read: No such file or directory",
    ),
    Row(
        "a certificate that is none",
        (NORTH, data, file("kit/certificate.pem", "x")),
        SUBMIT,
        "ppaurora: kit/certificate.pem: holds no certificate in PEM form",
    ),
    Row(
        "another hospital's kit",
        (study("others"), kit("valley"), study_of_others, data),
        SUBMIT,
        "ppaurora: study others: the manifest does not name this owner's key as 'valley'; its "
        "owners are: north, harbour. Take the kit of one of them",
    ),
    Row(
        "another hospital's settings",
        (NORTH, data, changed("kit/owner.toml", '"north"', '"harbour"')),
        SUBMIT,
        "ppaurora: kit/owner.toml: name: is 'harbour', but the key of this kit is that of 'north' "
        "in study trial; take the kit as it was handed over",
    ),
    Row(
        "settings that are no TOML",
        (NORTH, data, file("kit/owner.toml", "name = north\n")),
        SUBMIT,
        "ppaurora: kit/owner.toml: is not TOML: Invalid value (at line 1, column 8)",
    ),
    Row(
        "an unknown setting of an owner",
        (NORTH, data, file("kit/owner.toml", 'nam = "north"\n')),
        SUBMIT,
        "ppaurora: kit/owner.toml: nam: there is no such setting; did you mean 'name'?",
    ),
    Row(
        "an unknown setting of a node",
        (PROXY, changed("kit/node.toml", "jobs", "job")),
        "serve kit",
        "ppaurora: kit/node.toml: job: there is no such setting; did you mean 'jobs'?",
    ),
    Row(
        "a kit without a study",
        (kit("north"), data),
        SUBMIT,
        "ppaurora: kit: its studies: none yet; add one: ppaurora accept kit MANIFEST",
    ),
    Row(
        "several studies",
        (study("second"), kit("north", "trial", "second"), data),
        SUBMIT,
        "ppaurora: kit: name one of its studies with --study: second, trial",
    ),
    Row(
        "an unknown study",
        (NORTH, data),
        f"{SUBMIT} --study sepsis",
        "ppaurora: kit: there is no study 'sepsis'; there are: trial",
    ),
    Row(
        "a manifest in the kit that is no JSON",
        (NORTH, data, file("kit/studies/trial.json", "x")),
        SUBMIT,
        "ppaurora: kit/studies/trial.json: is not a manifest (not JSON); take the file STUDY.json "
        "that 'ppaurora provision' wrote",
    ),
    Row(
        "a manifest in the kit that was changed",
        (NORTH, data, changed("kit/studies/trial.json", '"attempts": 100', '"attempts":  100')),
        SUBMIT,
        "ppaurora: kit/studies/trial.json: was changed (it is not in canonical form); take the "
        "file STUDY.json that 'ppaurora provision' wrote",
    ),
    Row(
        "a manifest with another hash",
        (NORTH, data),
        f"{SUBMIT} --expect-hash 123456789abc",
        "ppaurora: study trial: its manifest has the hash HASH, which is not the expected one; "
        "nothing was done",
    ),
    Row(
        "a record that the disk has changed",
        (NORTH, data, file("kit/outbox/trial/submission.json", "{}")),
        SUBMIT,
        "ppaurora: kit/outbox/trial/submission.json: is damaged (it has changed since it was "
        "written); restore it from a backup",
    ),
    Row(
        "a study that the node has not accepted",
        (PROXY, accepted),
        "stop kit sepsis",
        "ppaurora: kit: has not accepted a study 'sepsis'; there are: trial",
    ),
]
