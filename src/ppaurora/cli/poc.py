"""`ppaurora poc start`, `status`, `stop` and `clean`."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from ppaurora.cli.asking import ask
from ppaurora.cli.examples import LONGEST_SENTENCE, example
from ppaurora.cli.options import format_option, one_model_options, parameter_options, yes_option
from ppaurora.cli.paths import FILE, FOLDER
from ppaurora.data import Columns
from ppaurora.errors import InputError, PartyFailedError
from ppaurora.io.system import check_posix
from ppaurora.io.text import printable
from ppaurora.messages.owners import StudyState
from ppaurora.metrics import DEFAULT_METRICS, default_metrics
from ppaurora.poc.background import interruptions
from ppaurora.poc.consortium import ProofOfConcept, find_poc, make_poc, owners_of
from ppaurora.poc.machine import program, web_proxy_in_between
from ppaurora.policy.rules import EXACT, KINDS, PRIVATE, PUBLICATION, Kind, Policy
from ppaurora.protocols import DEFAULT_PROTOCOL, find_protocol, protocols

_DEFAULT = "ppaurora-poc"

folder_option = click.option(
    "--folder",
    type=FOLDER,
    default=_DEFAULT,
    show_default=True,
    help="Folder for everything; by default ppaurora-poc.",
)


class _InOrder(click.Group):
    """Lists its commands in the order in which they are run, each with its first sentence, uncut."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.commands)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(
                [
                    (name, command.get_short_help_str(LONGEST_SENTENCE))
                    for name, command in self.commands.items()
                ]
            )


@click.group(
    "poc",
    cls=_InOrder,
    epilog=example("ppaurora poc start", "ppaurora poc status", "ppaurora poc clean"),
)
def poc_command() -> None:
    """Proof of concept: a whole consortium on this machine, a node per server and an owner per file.

    Kits, TLS and commands are those of production; no root and no containers are needed. Whoever controls
    this machine sees all data: it is a rehearsal, and protects nobody.
    """
    check_posix("ppaurora poc")


@poc_command.command(
    "start", epilog=example("ppaurora poc start a.csv b.csv c.csv --score risk --label died --submit")
)
@click.argument("files", nargs=-1, type=FILE)
@folder_option
@one_model_options
@click.option(
    "--metrics",
    help=f"Names separated by commas; by default {','.join(DEFAULT_METRICS)}, or those of them that "
    "--policy allows.",
)
@click.option(
    "--policy",
    type=click.Choice(KINDS),
    help=f"What may be released: what studies release by default ({PUBLICATION}), numbers with noise that "
    f"protects every person ({PRIVATE}), or everything ({EXACT}, the default here).",
)
@click.option(
    "--protocol",
    type=click.Choice(list(protocols())),
    help=f"How it is computed, and by which servers; by default {DEFAULT_PROTOCOL}.",
)
@parameter_options
@click.option("--submit", is_flag=True, help="Also submit for every owner, wait, and print the result.")
def start_command(
    files: tuple[Path, ...],
    folder: Path,
    columns: Columns,
    metrics: str | None,
    policy: Kind | None,
    protocol: str | None,
    parameters: dict[str, Any],
    submit: bool,
) -> None:
    """Start the nodes, with an owner for each of FILES, or three made-up hospitals.

    The nodes run on when this command has ended. Run again, it starts those that do not run.
    """
    began = time.monotonic()
    is_new = not (folder / "poc.json").exists()
    chosen = find_protocol(protocol or DEFAULT_PROTOCOL)(**parameters)
    owners = owners_of(files, columns, chosen) if files and is_new else ()
    with interruptions() as interrupted:
        if is_new:
            allowed = Policy(kind=policy or EXACT)
            names = tuple((metrics or ",".join(default_metrics(allowed))).replace(" ", "").split(","))
            poc = make_poc(folder, owners, columns, names, allowed, chosen)
        else:
            poc = find_poc(folder)
            _check_the_same(poc, files, columns, bool(metrics or policy or protocol or parameters))
        try:
            started = poc.start(interrupted)
            interrupted()
        except KeyboardInterrupt:
            if is_new:
                poc.remove()
            raise
    _say_what_runs(poc)
    if started:
        click.echo(
            f"ready in {time.monotonic() - began:.1f} s; they keep running until: {_poc('stop', folder)}"
        )
    else:
        click.echo("all of them were running already")
    if submit:
        _take_all_steps(poc)
    _say_what_is_next(poc)


def _check_the_same(poc: ProofOfConcept, files: Sequence[Path], columns: Columns, others: bool) -> None:
    """Raise unless the plan is that of the folder; another one needs another folder."""
    other_files = files and [file.resolve() for file in files] != [p.resolve() for p in poc.data.values()]
    if other_files or others or (files and columns != poc.columns):
        raise InputError(
            f"{poc.folder}: is there already, with its own files and plan; to begin anew, first run: "
            f"{_poc('clean', poc.folder)}; to keep it, name another folder with --folder"
        )


@poc_command.command("status", epilog=example("ppaurora poc status --format json"))
@folder_option
@format_option
def status_command(folder: Path, output: str) -> None:
    """Show what is running, how far the study is, and what comes next."""
    poc = find_poc(folder)
    nodes, study = poc.nodes(), poc.study()
    if output == "json":
        told = {
            "study": study.name,
            "hash": study.study,
            "state": study.state,
            "note": study.note,
            "missing": study.missing,
            "nodes": [{**asdict(node), "log": str(node.log)} for node in nodes],
            "results": {owner: str(path) for owner in poc.data if (path := poc.result(owner)).exists()},
        }
        click.echo(json.dumps(told, indent=2))
    else:
        _say_what_runs(poc)
        missing = f"; waiting for {', '.join(study.missing)}" if study.missing else ""
        note = f"; {printable(study.note)}" if study.note else ""
        click.echo(f"study {study.name}: {study.state}{missing}{note}")
    down = [node.title for node in nodes if node.process is None]
    if output == "text" and not down:
        _say_what_is_next(poc)
    if down:
        raise PartyFailedError(
            f"not running: {', '.join(down)}; start what is missing with: {_poc('start', folder)}"
        )


@poc_command.command("stop", epilog=example("ppaurora poc stop"))
@folder_option
def stop_command(folder: Path) -> None:
    """Stop the nodes; a study in progress continues when they are started again."""
    stopped = find_poc(folder).stop()
    names = ", ".join(name.replace("-", " ") for name in stopped)
    click.echo(f"stopped: {names}" if stopped else "nothing was running")
    click.echo(f"start again: {_poc('start', folder)}; remove everything: {_poc('clean', folder)}")


@poc_command.command("clean", epilog=example("ppaurora poc clean --yes"))
@folder_option
@yes_option
def clean_command(folder: Path, yes: bool) -> None:
    """Stop the nodes and remove everything: kits, keys, submissions, results and logs."""
    poc = find_poc(folder)
    question = f"Remove {folder}, with all keys, submissions and results in it?"
    ask(question, yes=yes, declined="not removed; nothing was changed")
    poc.remove()
    click.echo(f"removed {folder}")


def _say_what_runs(poc: ProofOfConcept) -> None:
    for node in poc.nodes():
        state = "is not running" if node.process is None else f"runs, process {node.process}"
        click.echo(f"{node.title}: {state}; log {_short(node.log)}")


def _say_what_is_next(poc: ProofOfConcept) -> None:
    """The commands to copy, as each participant would type them."""
    study, owners = poc.study(), list(poc.data)
    if study.state == StudyState.RELEASED:
        commands = [["result", _short(poc.kit(owner))] for owner in owners]
    else:
        commands = [["preflight", _short(poc.kit(owners[0]))]]
        commands += [_submission(poc, owner) for owner in study.missing]
        commands += [[word, _short(poc.kit(owners[0]))] for word in ("status", "result")]
    commands.append(["verify", _short(poc.result(owners[0]))])
    click.echo("next, as the participants would:")
    if web_proxy_in_between():
        click.echo('  export no_proxy="127.0.0.1,${no_proxy-}"')
    for command in commands:
        click.echo(f"  {_program()} {shlex.join(command)}")
    click.echo(f"or in a browser: {_program()} app {shlex.quote(_short(poc.kit(owners[0])))}")
    click.echo(f"results go to {_short(poc.kit('OWNER'))}/results; the plan: {_short(poc.folder)}/study.toml")
    click.echo(
        "everything is on this machine, so whoever controls it sees all data: a rehearsal, without protection"
    )


def _take_all_steps(poc: ProofOfConcept) -> None:
    """Run the very commands that are printed. The last owner waits for the result."""
    missing = poc.study().missing
    commands = [_submission(poc, owner) for owner in missing]
    if commands:
        commands[-1].append("--wait")
    else:
        commands = [["result", _short(poc.kit(next(iter(poc.data))))]]
    environment = os.environ | {"no_proxy": f"127.0.0.1,{os.environ.get('no_proxy', '')}"}
    for command in commands:
        click.echo(f"$ {_program()} {shlex.join(command)}")
        ours = program(*command)
        code = subprocess.run(ours, env=environment, check=False).returncode  # noqa: S603 (our own words)
        if code:
            click.echo(f"the nodes keep running; '{_poc('status', poc.folder)}' says what is next", err=True)
            click.get_current_context().exit(code)


def _submission(poc: ProofOfConcept, owner: str) -> list[str]:
    kit, data = _short(poc.kit(owner)), _short(poc.data[owner])
    return ["submit", kit, data, "--yes", *poc.columns.options]


def _short(path: Path) -> str:
    """Return the path from here, if it is below here."""
    relative = os.path.relpath(path)
    return str(path) if relative.startswith(os.pardir) else relative


def _poc(command: str, folder: Path) -> str:
    where = "" if str(folder) == _DEFAULT else f" --folder {shlex.quote(str(folder))}"
    return f"{_program()} poc {command}{where}"


def _program() -> str:
    """Return how this program can be called again from here."""
    found = shutil.which("ppaurora")
    here = Path(sys.argv[0])
    if found is not None and here.name == "ppaurora" and Path(found).resolve() == here.resolve():
        return "ppaurora"
    if here.name == "ppaurora":
        return shlex.quote(str(here))
    return f"{shlex.quote(sys.executable)} -m ppaurora"
