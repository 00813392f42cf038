"""`ppaurora report`: a result as a page to keep, verified first."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from ppaurora.cli.examples import example
from ppaurora.cli.options import column_options, id_option
from ppaurora.cli.paths import FILE, FOLDER
from ppaurora.data import Columns, Samples
from ppaurora.errors import SUPPRESSED_EXIT_CODE
from ppaurora.pages.report.saving import possible_formats, save_charts
from ppaurora.pages.report.sources import ReportSource, source_of
from ppaurora.pages.report.texts import OWN_TITLE, OWN_WORDS
from ppaurora.pages.report.writing import FORMATS, format_of, make_report, own_samples, save


@click.command(
    "report",
    epilog=example(
        "ppaurora report kit --out report.html",
        "ppaurora report kit/results/sepsis-2026.json --out table.tex",
        "ppaurora report kit --data scores.csv --score risk --label died --out mine.html",
        "ppaurora report kit --figures figures",
    ),
)
@click.argument("result", type=click.Path(path_type=Path))
@click.option("--study", help="Which of the kit's results, if RESULT is a kit that holds several.")
@click.option("--out", type=FILE, help="The file to write; by default standard output.")
@click.option(
    "--format",
    "output",
    type=click.Choice(list(FORMATS)),
    help="By default the extension of --out, or html.",
)
@click.option(
    "--figures",
    type=FOLDER,
    help="A folder to save every figure in, as SVG, and as PNG if Matplotlib is installed. Without --out and "
    "--format, no report is written then.",
)
@click.option(
    "--manifest-hash", help="Refuse any manifest without this hash; give at least its first 12 digits."
)
@click.option(
    "--data", type=FILE, help="Your own data, to compare with the pooled values. Nothing of it is sent."
)
@column_options
@id_option
def report_command(
    result: Path,
    study: str | None,
    out: Path | None,
    output: str | None,
    figures: Path | None,
    manifest_hash: str | None,
    data: Path | None,
    columns: Columns,
) -> None:
    """Write a report of RESULT, a saved result or a kit that holds one, after verifying it.

    One self-contained file: numbers with intervals, charts, sentences for a paper, policy and receipt.
    Exit code 7 if the result does not verify; then nothing is written.
    """
    chosen = output or format_of(out)
    source = source_of(result, study=study, manifest_hash=manifest_hash)
    samples = None if data is None else own_samples(source, data, columns)
    if figures is None or out is not None or output is not None:
        text = make_report(source, chosen, samples)
        if out is None:
            # A file is in UTF-8, whatever the terminal's code page is.
            click.echo(text if sys.stdout.isatty() else text.encode(), nl=False)
        else:
            save(out, text.encode())
            click.echo(f"report: {out}", err=True)
    if figures is not None:
        _save_figures(figures, source, samples)
    if samples is not None:
        click.echo(f"{OWN_TITLE} {OWN_WORDS}", err=True)
    if source.result is not None and source.result.suppressed:
        click.get_current_context().exit(SUPPRESSED_EXIT_CODE)


def _save_figures(folder: Path, source: ReportSource, samples: Samples | None) -> None:
    formats = possible_formats()
    for path in save_charts(source, folder, formats, samples):
        click.echo(f"figure: {path}", err=True)
    if "png" not in formats:
        click.echo("figures are SVG only; as PNG, too, with: pip install 'ppaurora[plot]'", err=True)
