"""`ppaurora verify` and `audit`."""

from __future__ import annotations

import json
from pathlib import Path

import click

from ppaurora.cli.examples import example
from ppaurora.cli.options import format_option
from ppaurora.cli.paths import FILE, KIT
from ppaurora.errors import NotVerifiedError
from ppaurora.io.models import to_builtins
from ppaurora.io.text import printable
from ppaurora.node.audit import CheckedLog, problem_with_head
from ppaurora.node.operating import read_log
from ppaurora.owner.verifying import verify_receipt
from ppaurora.study.kit import NodeKit
from ppaurora.study.receipt import Receipt


@click.command("verify", epilog=example("ppaurora verify kit/results/sepsis-2026.receipt.json"))
@click.argument("receipt", type=FILE)
@click.option(
    "--manifest-hash", help="Refuse any manifest without this hash; give at least its first 12 digits."
)
@format_option
def verify_command(receipt: Path, manifest_hash: str | None, output: str) -> None:
    """Verify RECEIPT, or a result with its receipt, from the file alone; exit code 7 if this fails."""
    try:
        found = verify_receipt(receipt, manifest_hash=manifest_hash)
    except NotVerifiedError as error:
        if output == "json":
            click.echo(json.dumps({"verified": False, "problem": str(error)}, indent=2))
        raise
    if output == "json":
        click.echo(json.dumps(found.to_dict(), indent=2))
        return
    click.echo(f"verified: {found.receipt.study}, manifest {found.receipt.manifest_hash}")
    for title, sentences in (("it proves:", found.proves), ("it does not prove:", found.does_not_prove)):
        click.echo(title)
        for sentence in sentences:
            click.echo(f"  - {printable(sentence)}")


@click.command("audit", epilog=example("ppaurora audit kit"))
@click.argument("kit", type=KIT)
@click.option("--receipt", type=FILE, help="Also compare with what this node has signed in a receipt.")
@format_option
def audit_command(kit: Path, receipt: Path | None, output: str) -> None:
    """Print the audit log of the node of KIT, and verify it; exit code 7 if it was truncated or edited.

    The node may be running.
    """
    own = NodeKit.read(kit)
    log = read_log(own)
    found, file = log.checked, log.file
    problem = found.problem
    if receipt is not None and not problem:
        problem = _problem_with_receipt(found, own, verify_receipt(receipt).receipt)
    if output == "json":
        entries = to_builtins(found.entries)
        click.echo(json.dumps({"verified": not problem, "problem": problem, "entries": entries}, indent=2))
    else:
        for entry in found.entries:
            click.echo(f"{entry.entry:>5}  {entry.time}  {printable(entry.text)}")
    if problem:
        raise NotVerifiedError(f"{file}: does not verify: {problem}")
    if output == "text":
        waiting = f"; {found.waiting} wait to be written to the file" if found.waiting else ""
        compared = "" if receipt is None else ", and what this node signed in the receipt fits them"
        click.echo(f"verified: {len(found.entries)} entries{compared}{waiting}", err=True)


def _problem_with_receipt(found: CheckedLog, own: NodeKit, receipt: Receipt) -> str:
    said = receipt.statement(own.server(receipt.manifest))
    if said is None:
        return "the receipt has no statement of this node"
    if receipt.manifest.node(own.server(receipt.manifest)).pin != own.pin:
        return "the receipt is signed by another node of the same role"
    return problem_with_head(found.entries, said.audit)
