"""`ppaurora check`: a look at data before it is sent, without a connection to anybody."""

from __future__ import annotations

import json
from pathlib import Path

import click

from ppaurora.check import DataCheck, check_data
from ppaurora.cli.asking import ask, ask_positive, is_person_there
from ppaurora.cli.examples import example
from ppaurora.cli.options import (
    column_options,
    format_option,
    id_option,
    levels_option,
    study_option,
    subgroup_fields,
)
from ppaurora.cli.paths import FILE, KIT
from ppaurora.cli.preview import show_candidates, show_check, show_description
from ppaurora.data import Columns, Design, read_dataset
from ppaurora.data.columns import NO_SUCH_COLUMN
from ppaurora.data.deriving import ALL, design_with
from ppaurora.data.reading import read_candidates
from ppaurora.errors import WARNED_EXIT_CODE, DataError, InputError, WarnedError
from ppaurora.owner.study import Study


@click.command(
    "check", epilog=example("ppaurora check scores.csv --kit kit --score risk --label died --id patient")
)
@click.argument("data", type=FILE)
@click.option("--kit", type=KIT, help="The owner's kit, to compare the data with the study's plan as well.")
@study_option
@column_options
@id_option
@levels_option
@format_option
def check_command(
    data: Path,
    kit: Path | None,
    study: str | None,
    columns: Columns,
    levels: tuple[str, ...],
    output: str,
) -> None:
    """Check DATA before it is submitted: counts, scores by class, local AUROC, and anything unusual.

    Nothing leaves this machine. Exit codes: 0 no warnings, 6 warnings, 2 it cannot be submitted, 8
    studies would spend more epsilon on it than your floor allows.
    """
    if study is not None and kit is None:
        raise InputError("--study names one of a kit's studies: also give the kit, with --kit")
    own = None if kit is None else Study(kit, study)
    if own is not None and levels:
        raise InputError("--levels: the study's plan says which levels there are; leave it out with --kit")
    grid = None if own is None else own.manifest.protocol.counting_grid
    design = own.design if own is not None else _design(columns, levels)
    try:
        dataset = read_dataset(data, columns, design=design, grid=grid)
    except DataError as error:
        if error.problem == NO_SUCH_COLUMN and output == "text":
            show_candidates(read_candidates(data, sheet=columns.sheet, encoding=columns.encoding))
        raise
    columns = ask_positive(columns, dataset.description)
    try:
        if own is None:
            found = check_data(
                dataset.samples(columns.pos_label),
                dataset.description,
                pos_label=columns.pos_label,
                design=design,
            )
        else:
            found = own.check(dataset, pos_label=columns.pos_label)
    except DataError:
        if output == "text":
            show_description(dataset.description)
        raise
    if output == "json":
        click.echo(json.dumps(found.to_dict(), indent=2))
    else:
        show_check(found, err=False)
    leave_with(found)


def _design(columns: Columns, levels: tuple[str, ...]) -> Design:
    """Return the design that columns and levels say, without a plan: all models are compared."""
    comparisons = {"comparisons": ALL} if len(columns.scores) > 1 else {}
    return design_with(columns, subgroup_fields(levels) | comparisons, {})


def leave_with(check: DataCheck) -> None:
    """The exit code of a command that has only looked."""
    if check.spending is not None:
        check.spending.check()
    if check.refusal:
        raise InputError(check.refusal)
    if check.warnings:
        click.get_current_context().exit(WARNED_EXIT_CODE)


def ask_despite(check: DataCheck, question: str, yes: bool, despite_warnings: bool) -> None:
    """Ask a person; where there is none, warnings need an option of their own."""
    needs_both = bool(check.warnings) and not despite_warnings
    options = "--yes, and --despite-warnings if the data is correct" if needs_both else "--yes"
    ask(question, yes=yes, declined="not submitted; nothing was sent", options=options)
    if needs_both and (yes or not is_person_there()):
        codes = ", ".join(dict.fromkeys(concern.code for concern in check.warnings))
        raise WarnedError(
            f"not submitted; nothing was sent. The data check has warnings ({codes}): fix the data or, if "
            "it is correct, add --despite-warnings"
        )
