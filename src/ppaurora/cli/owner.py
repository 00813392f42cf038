"""`ppaurora preflight`, `submit`, `status` and `result`."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import click
from rich.console import Console
from rich.table import Table

from ppaurora.cli.options import (
    FILE,
    FOLDER,
    column_options,
    expect_hash_option,
    format_option,
    study_option,
    yes_option,
)
from ppaurora.cli.study import as_told, show
from ppaurora.cli.tables import print_metrics
from ppaurora.data import read_table
from ppaurora.errors import SUPPRESSED_EXIT_CODE, InputError
from ppaurora.messages.owners import StudyStatus
from ppaurora.models import to_builtins
from ppaurora.owner.study import Study, StudyReport
from ppaurora.preflight import Check, check_node, check_owner
from ppaurora.study.kit import NodeKit, read_kit


@click.command("preflight")
@click.argument("kit", type=FOLDER)
@study_option
@format_option
def preflight_command(kit: Path, study: str | None, output: str) -> None:
    """Check KIT before it is needed: files, certificate, clock, the way to the servers, versions."""
    found = read_kit(kit)
    checks: list[Check] = []
    for check in check_node(found) if isinstance(found, NodeKit) else check_owner(found, study):
        checks.append(check)
        if output == "text":
            click.echo(f"{'ok ' if check.ok else 'BAD'}  {check.name}: {check.detail}")
            if check.fix:
                click.echo(f"     -> {check.fix}")
    if output == "json":
        click.echo(json.dumps([asdict(check) for check in checks], indent=2))
    failed = sum(not check.ok for check in checks)
    if failed:
        raise InputError(f"{failed} of {len(checks)} checks failed")


@click.command("submit")
@click.argument("kit", type=FOLDER)
@click.argument("data", type=FILE)
@study_option
@expect_hash_option
@column_options
@yes_option
@click.option("--wait", is_flag=True, help="Wait for the result, and write it as 'ppaurora result' does.")
def submit_command(
    kit: Path,
    data: Path,
    study: str | None,
    expect_hash: str | None,
    score: str,
    label: str,
    pos_label: str | None,
    yes: bool,
    wait: bool,
) -> None:
    """Split DATA, a CSV file, into shares, and send each server its own. Run it again after a cut."""
    own = Study(kit, study, expect_hash=expect_hash)
    samples = read_table(data, score, label, pos_label)

    def review(concerns: Sequence[str]) -> None:
        show(own.manifest, [len(samples)] * len(own.manifest.owners))
        for said in concerns:
            click.echo(f"warning: {said}", err=True)
        if not yes and not click.confirm(f"Submit {len(samples)} samples to this study?"):
            raise InputError("not submitted; nothing was sent")

    submission = own.submit(samples, review)
    servers = " and ".join(server.title for server in own.manifest.protocol.input_servers)
    click.echo(f"submitted {submission.samples} samples; {servers} have acknowledged", err=True)
    if wait:
        _deliver(own, own.wait(lambda said: click.echo(as_told(said).plain, err=True)), None, "text")


@click.command("status")
@click.argument("kit", type=FOLDER)
@study_option
@format_option
def status_command(kit: Path, study: str | None, output: str) -> None:
    """How far a study is, as its servers see it."""
    own = Study(kit, study)
    answers = own.status()
    submission = own.submitted
    if output == "json":
        mine = None if submission is None else {"complete": own.is_submitted, "samples": submission.samples}
        nodes = {title: to_builtins(answer) for title, answer in answers.items()}
        until = own.manifest.evaluation.submissions_until
        click.echo(json.dumps({"submitted": mine, "submissions_until": until, "nodes": nodes}, indent=2))
        return
    click.echo(f"{own.manifest.study} {own.manifest.hash}")
    table = Table()
    for heading in ("", "state", "missing", "note"):
        table.add_column(heading)
    for title, answer in answers.items():
        missing, progress = (answer.missing, answer.progress) if isinstance(answer, StudyStatus) else ((), "")
        table.add_row(title, *map(as_told, (answer.state, ", ".join(missing), progress or answer.note)))
    Console().print(table)
    sent = "nothing" if submission is None else "everything" if own.is_submitted else "a part; submit again"
    click.echo(f"sent from this kit: {sent}")
    until = own.manifest.evaluation.submissions_until
    if until is not None:
        click.echo(f"submissions are taken until {until.described}")


@click.command("result")
@click.argument("kit", type=FOLDER)
@study_option
@expect_hash_option
@click.option("--out", type=FILE, help="For result and receipt; by default KIT/results/STUDY.json.")
@format_option
def result_command(
    kit: Path, study: str | None, expect_hash: str | None, out: Path | None, output: str
) -> None:
    """Fetch the parts of the result, put them together, and file it with a receipt."""
    own = Study(kit, study, expect_hash=expect_hash)
    _deliver(own, own.result(), out, output)


def _deliver(own: Study, report: StudyReport, out: Path | None, output: str) -> None:
    path = out or own.kit.folder / "results" / f"{own.manifest.study}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    report.save(path)
    if output == "json":
        click.echo(report.to_json())
    else:
        samples = report.receipt.samples
        print_metrics(report, sum(samples.values()), len(samples))
        click.echo(f"result and receipt: {path}")
    if report.suppressed:
        click.get_current_context().exit(SUPPRESSED_EXIT_CODE)
