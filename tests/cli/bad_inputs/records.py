"""Packed kits, receipts, audit logs, nodes that do not start, proofs of concept."""

from __future__ import annotations

import json
import shutil
import socket
import tempfile
from collections.abc import Callable
from pathlib import Path

from ppaurora.data import Columns
from ppaurora.poc.consortium import make_poc
from ppaurora.policy.rules import Policy
from ppaurora.study.plan import SAMPLE
from ppaurora.study.provision import PASSPHRASES, provision
from tests.cli.bad_inputs.moments import done, fetched
from tests.cli.bad_inputs.row import GOOD, Place, Row, Step, changed, data, file, kit
from tests.support.deployment import free_ports

UNPACK = "unpack hospital-a.kit"


def packed(name: str = "hospital-a", *, encrypted: bool = False) -> Step:
    """As `provision --pack` writes it; here it is called hospital-a.kit."""

    def make(place: Place) -> None:
        with tempfile.TemporaryDirectory() as folder:
            plan, kits = Path(folder) / "study.toml", Path(folder) / "kits"
            plan.write_text(SAMPLE)
            provision(plan, kits, packed=True, encrypted=encrypted)
            (kits / f"{name}.kit").rename(place.folder / "hospital-a.kit")
            if encrypted:
                assert (kits / PASSPHRASES).exists()

    return make


def receipt(change: Callable[[dict], object] = lambda receipt: None) -> Step:  # type: ignore[type-arg]
    """Of a study that is done, with a change."""

    def write(place: Place) -> None:
        content = json.loads((place.folder / "kit/results/done.receipt.json").read_text())
        change(content)
        (place.folder / "receipt.json").write_text(json.dumps(content))

    return write


def value_of_result(place: Place) -> None:
    content = json.loads((place.folder / "kit/results/done.json").read_text())
    content["metrics"]["auroc"]["value"] = 0.99
    (place.folder / "result.json").write_text(json.dumps(content))


def port_in_use(setting: str) -> Step:
    def occupy(place: Place) -> None:
        taken = place.until_the_end.enter_context(socket.create_server(("127.0.0.1", 0))).getsockname()[1]
        path = place.folder / "kit/node.toml"
        kept = [line for line in path.read_text().splitlines() if not line.startswith("listen_")]
        for name in ("listen_nodes", "listen_owners", "listen_admin"):
            kept.insert(0, f'{name} = "127.0.0.1:{taken if name == setting else free_ports(1)[0]}"')
        path.write_text("\n".join(kept) + "\n")

    return occupy


def edited_log(place: Place) -> None:
    path = place.folder / "kit/data/audit.log"
    path.write_text(path.read_text().replace("accepted", "rejected", 1))


def audited(place: Place) -> None:
    """The kit of a node with what it has done."""
    shutil.copytree(place.nodes.kit("proxy-0"), place.folder / "kit")


def set_up(place: Place) -> None:
    """A proof of concept whose nodes do not run."""
    make_poc(Path("ppaurora-poc"), (), Columns(), ("auroc",), Policy())


FETCHED = (done, fetched)

ROWS = [
    Row("no packed kit", (), UNPACK, "ppaurora: hospital-a.kit: there is no such file"),
    Row(
        "another file, to unpack",
        (file("hospital-a.kit", GOOD),),
        UNPACK,
        "ppaurora: hospital-a.kit: is not a kit written by 'ppaurora provision --pack', or is "
        "incomplete; ask for it again",
    ),
    Row(
        "another name of a packed kit",
        (file("data.csv", GOOD),),
        "unpack data.csv",
        "ppaurora: data.csv: is not called NAME.kit; if it is a kit, name a new folder with --into",
    ),
    Row(
        "a packed kit that was changed",
        (packed(), changed("hospital-a.kit", "sepsis-2026", "sepsis-2027")),
        UNPACK,
        "ppaurora: hospital-a.kit: holds 'studies/sepsis-2026.json', which is not part of a kit; "
        "nothing was unpacked",
    ),
    Row(
        "a packed file that was changed",
        (packed(), changed("hospital-a.kit", "BEGIN CERTIFICATE", "BEGIN CERTIFICATION")),
        UNPACK,
        "ppaurora: hospital-a.kit: studies/sepsis-2026.json was changed on the way; ask for it "
        "again; nothing was unpacked",
    ),
    Row(
        "half a packed kit",
        (
            packed(),
            lambda place: (place.folder / "hospital-a.kit").write_bytes(
                (place.folder / "hospital-a.kit").read_bytes()[:500]
            ),
        ),
        UNPACK,
        "ppaurora: hospital-a.kit: is not a kit written by 'ppaurora provision --pack', or is "
        "incomplete; ask for it again",
    ),
    Row(
        "a packed kit of somebody else",
        (packed("hospital-b"),),
        UNPACK,
        "ppaurora: hospital-a.kit: is the kit of hospital-b, not of hospital-a; if it is meant for "
        "you, give the file another name; nothing was unpacked",
    ),
    Row(
        "a folder that is there, to unpack into",
        (packed(), file("hospital-a/letter.txt", "mine")),
        UNPACK,
        "ppaurora: hospital-a: exists; name a new folder with --into, so that no kit is overwritten",
    ),
    Row(
        "a pass phrase and nobody to ask",
        (packed(encrypted=True),),
        UNPACK,
        "ppaurora: hospital-a.kit: has a pass phrase; name a file that holds it: --passphrase-file FILE",
    ),
    Row(
        "a wrong pass phrase",
        (packed(encrypted=True), file("word", "abcde")),
        f"{UNPACK} --passphrase-file word",
        "ppaurora: hospital-a.kit: the pass phrase does not open it, or the file was changed; ask "
        "whoever sent it",
    ),
    Row(
        "no receipt",
        (),
        "verify receipt.json",
        "ppaurora: receipt.json: cannot be read: No such file or directory",
    ),
    Row(
        "something else, to verify",
        (data,),
        "verify data.csv",
        "ppaurora: data.csv: does not verify: it is not a receipt (not JSON, or a name is in it twice); "
        "take the file STUDY.receipt.json that 'ppaurora result' wrote",
        7,
    ),
    Row(
        "a manifest, to verify",
        (kit("north", "trial"),),
        "verify kit/studies/trial.json",
        "ppaurora: kit/studies/trial.json: does not verify: it is not a receipt; take the file "
        "STUDY.receipt.json that 'ppaurora result' wrote",
        7,
    ),
    Row(
        "a tampered receipt",
        (*FETCHED, receipt(lambda one: one["statements"][0]["statement"].update(attempt=7))),
        "verify receipt.json",
        "ppaurora: receipt.json: does not verify: proxy-0: the signature does not fit: what it "
        "signed was changed, or it never signed this",
        7,
    ),
    Row(
        "a tampered summary",
        (*FETCHED, receipt(lambda one: one.update(attempt=7))),
        "verify receipt.json",
        "ppaurora: receipt.json: does not verify: the summary at the beginning is not that of the "
        "manifest and the statements",
        7,
    ),
    Row(
        "a tampered result",
        (*FETCHED, value_of_result),
        "verify result.json",
        "ppaurora: result.json: does not verify: it is not the result that its parts give",
        7,
    ),
    Row(
        "a receipt of another manifest",
        (*FETCHED, receipt()),
        "verify receipt.json --manifest-hash 123456789abc",
        "ppaurora: receipt.json: does not verify: its manifest has the hash HASH, which is not the "
        "one that was given",
        7,
    ),
    Row(
        "an edited audit log",
        (audited, edited_log),
        "audit kit",
        "ppaurora: kit/data/audit.log: does not verify: line 1 is not as this node wrote it",
        7,
    ),
    Row(
        "a port in use",
        (kit("proxy-0"), port_in_use("listen_nodes")),
        "serve kit",
        "ppaurora: cannot listen at 127.0.0.1:PORT: Address already in use; another program, or "
        "another node, has this port; listen_nodes in kit/node.toml says where",
    ),
    Row(
        "a port in use, and no study",
        (kit("proxy-0"), port_in_use("listen_admin")),
        "serve kit",
        '{"time": "TIME", "level": "warning", "event": "no study was accepted yet", "do": '
        '"ppaurora accept kit MANIFEST"}\n'
        '{"time": "TIME", "level": "info", "event": "node stopped"}\n'
        "ppaurora: cannot listen at 127.0.0.1:PORT: Address already in use; another program, or "
        "another node, has this port; listen_admin in kit/node.toml says where",
    ),
    Row(
        "one file for a proof of concept",
        (data,),
        "poc start data.csv",
        "ppaurora: data.csv: is one owner's file; a study needs at least two, with a file each",
    ),
    Row(
        "one file twice",
        (data,),
        "poc start data.csv data.csv",
        "ppaurora: data.csv: is named twice; every owner has a file of its own",
    ),
    Row(
        "a proof of concept in a full folder",
        (file("ppaurora-poc/letter.txt", "mine"),),
        "poc start",
        "ppaurora: ppaurora-poc: exists, and is not a proof of concept; name another one with --folder",
    ),
    Row(
        "no proof of concept to stop",
        (),
        "poc stop",
        "ppaurora: ppaurora-poc: there is no proof of concept; begin one with: ppaurora poc start",
    ),
    Row(
        "another proof of concept in its place",
        (set_up, data, file("b.csv", GOOD)),
        "poc start data.csv b.csv",
        "ppaurora: ppaurora-poc: is there already, with its own files and plan; to begin anew, "
        "first run: ppaurora poc clean; to keep it, name another folder with --folder",
    ),
    Row(
        "a proof of concept that does not run",
        (set_up,),
        "poc status",
        "ppaurora: not running: proxy 0, proxy 1, helper; start what is missing with: ppaurora poc start",
        3,
    ),
    Row(
        "removing a proof of concept without a person",
        (set_up,),
        "poc clean",
        "Remove ppaurora-poc, with all keys, submissions and results in it? [y/N]: \n"
        "ppaurora: not removed; nothing was changed. The question was not answered: without a "
        "terminal, add --yes",
    ),
    Row(
        "no proof of concept to look at",
        (),
        "poc status",
        "ppaurora: ppaurora-poc: there is no proof of concept; begin one with: ppaurora poc start",
    ),
]
