"""`ppaurora preflight`, `submit`, `withdraw`, `status` and `result`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path

import click
from rich.console import Console
from rich.table import Table

from ppaurora.check import DataCheck
from ppaurora.cli.asking import ask, ask_positive
from ppaurora.cli.check import ask_despite, leave_with
from ppaurora.cli.examples import example
from ppaurora.cli.options import (
    column_options,
    expect_hash_option,
    format_option,
    id_option,
    study_option,
    yes_option,
)
from ppaurora.cli.paths import FILE, KIT
from ppaurora.cli.preview import show_check
from ppaurora.cli.study import as_told, show
from ppaurora.cli.tables import print_metrics
from ppaurora.data import Columns, read_dataset
from ppaurora.errors import SUPPRESSED_EXIT_CODE, InputError, PeerLostError, PpauroraError
from ppaurora.io.models import to_builtins
from ppaurora.io.system import command_line
from ppaurora.io.text import printable
from ppaurora.messages.findings import Finding
from ppaurora.messages.owners import StudyStatus
from ppaurora.owner.agreeing import amended_since
from ppaurora.owner.report import StudyReport, receipt_path
from ppaurora.owner.study import NodeStatus, Study
from ppaurora.setup.preflight import check_node, check_owner
from ppaurora.study.kit import NodeKit, read_kit
from ppaurora.version import Versions


@click.command("preflight", epilog=example("ppaurora preflight kit"))
@click.argument("kit", type=KIT)
@study_option
@format_option
def preflight_command(kit: Path, study: str | None, output: str) -> None:
    """Check KIT before it is needed: files, certificate, clock, connections to the servers, versions."""
    found = read_kit(kit)
    if output == "text":
        click.echo(f"kit of {found.title if isinstance(found, NodeKit) else found.name}")
    checks: list[Finding] = []
    for check in check_node(found) if isinstance(found, NodeKit) else check_owner(found, study):
        checks.append(check)
        if output == "text":
            click.echo(f"{'ok ' if check.ok else 'BAD'}  {check.name}: {check.detail}")
            if check.fix:
                click.echo(f"     -> {check.fix}")
    if output == "json":
        click.echo(json.dumps([check.to_dict() for check in checks], indent=2))
    failed = sum(not check.ok for check in checks)
    if failed:
        raise InputError(f"{failed} of {len(checks)} checks failed")


@click.command(
    "submit",
    epilog=example(
        "ppaurora submit kit scores.csv --score risk --label died",
        "ppaurora submit kit corrected.csv --score risk --label died --replace",
    ),
)
@click.argument("kit", type=KIT)
@click.argument("data", type=FILE)
@study_option
@expect_hash_option
@column_options
@id_option
@yes_option
@click.option("--despite-warnings", is_flag=True, help="With --yes: even if the data check has warnings.")
@click.option("--dry-run", is_flag=True, help="Show what would be submitted; keep and send nothing.")
@click.option(
    "--replace",
    is_flag=True,
    help="Replace what was submitted before; possible until the computation starts.",
)
@click.option("--wait", is_flag=True, help="Wait for the result, and save it as 'ppaurora result' does.")
def submit_command(
    kit: Path,
    data: Path,
    study: str | None,
    expect_hash: str | None,
    columns: Columns,
    yes: bool,
    despite_warnings: bool,
    dry_run: bool,
    replace: bool,
    wait: bool,
) -> None:
    """Split DATA into shares and send each server its own. If interrupted, run it again.

    Before it asks, it shows the study and what 'ppaurora check' reports about the data.
    """
    own = Study(kit, study, expect_hash=expect_hash)
    grid = own.manifest.protocol.counting_grid
    dataset = read_dataset(data, columns, design=own.design, grid=grid)
    columns = ask_positive(columns, dataset.description)
    if dry_run:
        check = own.check(dataset, pos_label=columns.pos_label)
        _show_all(own, check)
        click.echo("dry run: nothing was sent, and nothing was kept", err=True)
        leave_with(check)
        return
    prepared = own.prepare(dataset, pos_label=columns.pos_label, replace=replace)
    if not prepared.is_begun:
        check = prepared.check
        _show_all(own, check)
        if not check.refusal:
            ask_despite(check, f"Submit {check.samples} samples to this study?", yes, despite_warnings)
    submission = own.send(prepared)
    click.echo(
        f"{own.kit.name} has submitted {submission.samples} samples to {own.manifest.study}; "
        f"{_takers(own)} have acknowledged",
        err=True,
    )
    leader = own.manifest.protocol.leader.title
    if note := own.status()[leader].note:
        click.echo(f"{leader}: {as_told(note).plain}", err=True)
    if wait:
        _deliver(own, own.wait(lambda said: click.echo(as_told(said).plain, err=True)), None, "text")


def _show_all(own: Study, check: DataCheck) -> None:
    """Show the study, and what the check says of the data."""
    show(own.manifest, [check.samples] * len(own.manifest.owners))
    click.echo(err=True)
    show_check(check, err=True, plan=False)


def _takers(own: Study) -> str:
    return " and ".join(server.title for server in own.manifest.protocol.input_servers)


@click.command("withdraw", epilog=example("ppaurora withdraw kit"))
@click.argument("kit", type=KIT)
@study_option
@expect_hash_option
@yes_option
def withdraw_command(kit: Path, study: str | None, expect_hash: str | None, yes: bool) -> None:
    """Withdraw what was submitted, until the computation starts. If interrupted, run it again."""
    own = Study(kit, study, expect_hash=expect_hash)
    name = own.manifest.study
    question = f"Withdraw what {own.kit.name} has submitted to {name}?"
    ask(question, yes=yes, declined="not withdrawn; nothing was changed")
    own.withdraw()
    click.echo(
        f"{own.kit.name} has withdrawn its submission to {name}; {_takers(own)} have acknowledged, and "
        "deleted their shares. 'ppaurora submit' submits again",
        err=True,
    )


@click.command("status", epilog=example("ppaurora status kit"))
@click.argument("kit", type=KIT)
@study_option
@format_option
def status_command(kit: Path, study: str | None, output: str) -> None:
    """Show the progress of a study, as its servers see it."""
    own = Study(kit, study)
    answers = own.status()
    if output == "json":
        _print_status_as_json(own, answers)
    else:
        _print_status(own, answers)
    if not any(isinstance(answer, StudyStatus) for answer in answers.values()):
        silent = [title for title, answer in answers.items() if not getattr(answer, "refused", False)]
        error: PpauroraError = InputError("no server reports the state of the study; the notes say why")
        if silent:
            preflight = command_line(["ppaurora", "preflight", str(kit), "--study", own.manifest.study])
            problem = f"gave no answer; the notes say why, and '{preflight}' what to do"
            error = PeerLostError(" and ".join(silent), problem)
        raise error


def _print_status_as_json(own: Study, answers: Mapping[str, NodeStatus]) -> None:
    submission = own.submitted
    mine = None
    if submission is not None and (submission.sent or submission.withdrawal):
        mine = {
            "complete": own.is_submitted,
            "samples": submission.samples,
            "withdrawn": bool(submission.withdrawal),
        }
    content = {
        "owner": own.kit.name,
        "submitted": mine,
        "sent": own.sent(answers),
        "submissions_until": own.manifest.evaluation.submissions_until,
        "nodes": {title: to_builtins(answer) for title, answer in answers.items()},
        "versions": {"study": own.manifest.version, **asdict(Versions())},
    }
    click.echo(json.dumps(content, indent=2))


def _print_status(own: Study, answers: Mapping[str, NodeStatus]) -> None:
    click.echo(f"{own.manifest.study} {own.manifest.hash}")
    table = Table()
    for heading in ("", "state", "missing", "note"):
        table.add_column(heading)
    for title, answer in answers.items():
        missing, progress = "", ""
        if isinstance(answer, StudyStatus):
            withdrawn = set(answer.withdrawn)
            missing = ", ".join(f"{one} (withdrawn)" if one in withdrawn else one for one in answer.missing)
            progress = answer.progress
        table.add_row(title, *map(as_told, (answer.state, missing, progress or answer.note)))
    Console().print(table)
    click.echo(f"sent from this kit, of {own.kit.name}: {own.sent(answers)}")
    if amended_since(own.manifest, own.kit.name, answers.values()):
        click.echo(
            f"the coordinator has amended the study: 'ppaurora accept {own.kit.folder} --study "
            f"{own.manifest.study}' shows how, and asks for your agreement"
        )
    until = own.manifest.evaluation.submissions_until
    if until is not None:
        click.echo(f"submissions are taken until {until.described}")
    there = {answer.version for answer in answers.values() if isinstance(answer, StudyStatus)}
    nodes = f"; ppaurora {' and '.join(sorted(map(printable, there)))} at the nodes" if there else ""
    click.echo(f"the study has wire version {own.manifest.version}; here {Versions()}{nodes}")


@click.command("result", epilog=example("ppaurora result kit --out result.json"))
@click.argument("kit", type=KIT)
@study_option
@expect_hash_option
@click.option("--out", type=FILE, help="File for result and receipt; by default KIT/results/STUDY.json.")
@format_option
def result_command(
    kit: Path, study: str | None, expect_hash: str | None, out: Path | None, output: str
) -> None:
    """Fetch the parts of the result, combine them, and save the result with its receipt."""
    own = Study(kit, study, expect_hash=expect_hash)
    _deliver(own, own.result(), out, output)


def _deliver(own: Study, report: StudyReport, out: Path | None, output: str) -> None:
    path = out or own.results  # where it is already
    if out is not None:
        report.save(out)
    if output == "json":
        click.echo(report.to_json())
    else:
        samples = report.receipt.samples
        print_metrics(report, sum(samples.values()), len(samples))
        click.echo(f"result and receipt: {path}; the receipt alone: {receipt_path(path)}")
    if report.suppressed:
        click.get_current_context().exit(SUPPRESSED_EXIT_CODE)
