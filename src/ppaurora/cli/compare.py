"""`ppaurora compare`: two released results on different people, with an interval of their difference."""

from __future__ import annotations

import json
from pathlib import Path

import click

from ppaurora.cli.examples import example
from ppaurora.cli.options import format_option
from ppaurora.cli.paths import FILE
from ppaurora.errors import InputError, NotVerifiedError
from ppaurora.io.text import printable
from ppaurora.metrics import find_metric
from ppaurora.owner.comparing import NamedResult, ResultComparison, compare_results
from ppaurora.owner.verifying import read_json
from ppaurora.pages.report.sources import source_of
from ppaurora.study.receipt import FORMAT

_TAKE_A_RESULT = "take a file that 'ppaurora result' or 'ppaurora evaluate --format json' wrote"


@click.command(
    "compare",
    epilog=example(
        "ppaurora compare sepsis-2025.json sepsis-2026.json",
        "ppaurora compare a.json b.json --metric auroc --confidence-level 0.9",
    ),
)
@click.argument("a", type=FILE)
@click.argument("b", type=FILE)
@click.option(
    "--metric",
    "metrics",
    multiple=True,
    help="A metric to compare, may be repeated; by default all numbers that have an interval in both.",
)
@click.option(
    "--model",
    "models",
    multiple=True,
    help="Which model, of results with several; given twice, first that of A, then that of B.",
)
@click.option(
    "--outcome",
    "outcomes",
    multiple=True,
    help="Which outcome, of results with several; given twice, first that of A, then that of B.",
)
@click.option(
    "--confidence-level",
    type=float,
    help="Confidence level of intervals; by default that of both results, or 0.95 if they differ.",
)
@format_option
def compare_command(
    a: Path,
    b: Path,
    metrics: tuple[str, ...],
    models: tuple[str, ...],
    outcomes: tuple[str, ...],
    confidence_level: float | None,
    output: str,
) -> None:
    """Compare the results A and B of different people's data: differences with intervals and tests.

    Results with a receipt are verified first, exit code 7 if this fails. It refuses results of which
    receipts show that they are of the same data: compare models on the same people in one study.
    """
    sides = zip((a, b), _of_both("model", models), _of_both("outcome", outcomes), strict=True)
    one, other = (_read(*side) for side in sides)
    compared = compare_results(one, other, metrics, confidence_level)
    if output == "json":
        click.echo(json.dumps(compared.to_dict(), indent=2))
    else:
        _print(compared)


def _of_both(option: str, given: tuple[str, ...]) -> tuple[str, str]:
    """Return the names for A and B; one name is for both."""
    if len(given) > 2:
        raise InputError(f"--{option}: give it once for both results, or twice, for A and for B")
    return (given[0], given[-1]) if given else ("", "")


def _read(path: Path, model: str, outcome: str) -> NamedResult:
    try:
        content = read_json(path)
    except NotVerifiedError:
        raise InputError(
            f"{path}: is not a result (not JSON, or a name is in it twice); {_TAKE_A_RESULT}"
        ) from None
    if not isinstance(content, dict) or ("metrics" not in content and content.get("format") != FORMAT):
        raise InputError(f"{path}: is not a result; {_TAKE_A_RESULT}")
    if "metrics" not in content:
        raise InputError(
            f"{path}: is a receipt, which holds no result; take the file STUDY.json that is next to it"
        )
    result = source_of(path).result
    if result is None:
        raise InputError(f"{path}: holds no result; {_TAKE_A_RESULT}")
    return NamedResult(str(path), result, model, outcome)


def _print(compared: ResultComparison) -> None:
    sides = {"A": compared.a, "B": compared.b}
    for side, one in sides.items():
        study = "" if one.receipt is None else f", study {one.receipt.study}, verified"
        of = "" if one.whole is None else str(one.whole.slice)
        named = ", ".join(filter(None, (printable(f"{one.name}{study}"), printable(of))))
        click.echo(f"{side}: {named}: {one.result.samples:,} samples of {one.owners} owners")
    for name, difference in compared.differences.items():
        click.echo(f"\n{find_metric(name).title}")
        for side, one in sides.items():
            click.echo(f"  {one.estimate(name).line(side)}")
        click.echo(f"  {difference.line('A - B')}")
        for line in filter(None, (difference.test_line(), difference.note)):
            click.echo(f"  {printable(line)}")
    for warning in compared.warnings:
        click.echo(f"\nwarning: {printable(warning)}")
