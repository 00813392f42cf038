"""The figures of a report as files of their own."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal, Unpack, get_args

from ppaurora.data import ColumnKeywords, Columns, Samples
from ppaurora.errors import InputError, MissingPackageError
from ppaurora.evaluation.report import Report
from ppaurora.owner.report import StudyReport
from ppaurora.pages.environment import environment
from ppaurora.pages.report.sources import ReportSource, source_of
from ppaurora.pages.report.writing import facts_of, own_samples, save

FigureFormat = Literal["svg", "png"]


def save_figures(
    result: StudyReport | Report | str | os.PathLike[str],
    folder: str | os.PathLike[str],
    *,
    formats: Sequence[FigureFormat] = ("svg", "png"),
    data: Any = None,
    study: str | None = None,
    **columns: Unpack[ColumnKeywords],
) -> list[Path]:
    """Save every figure of a result's report as SVG and PNG; returns the files.

    Both look the same: as on paper, on white. An SVG is of attributes alone, which word processors and
    editors of vector graphics understand; a PNG has 300 dots per inch.

    Parameters
    ----------
    result
        What `write_report` takes: a saved result, a kit, or what `Study.result()` or `ppaurora.evaluate`
        returned. If it has a receipt, it is verified first.
    folder
        Where to save them; it is made if it is not there. Files of the same names are replaced.
    formats
        "svg", "png" or both. PNG needs Matplotlib: `pip install 'ppaurora[plot]'`.
    data, study, **columns
        As for `write_report`. With the owner's own data, figures show that, too, and are not for others.

    Examples
    --------
    >>> import tempfile, ppaurora
    >>> owners = [([1, 0, 1, 0], [0.9, 0.4, 0.7, 0.2]), ([0, 1, 0], [0.3, 0.6, 0.6])]
    >>> report = ppaurora.evaluate(owners, metrics=["auroc", "reliability"], confidence_level=0.95)
    >>> [path.name for path in ppaurora.save_figures(report, tempfile.mkdtemp(), formats=["svg"])]
    ['values-and-their-uncertainty.svg', 'reliability-diagram.svg']
    """
    source = source_of(result if isinstance(result, StudyReport | Report) else Path(result), study=study)
    samples = None if data is None else own_samples(source, data, Columns.called(**columns))
    return save_charts(source, Path(folder), formats, samples)


def save_charts(
    source: ReportSource, folder: Path, formats: Sequence[FigureFormat], samples: Samples | None = None
) -> list[Path]:
    """Save the charts of a report; samples are the owner's own, as `own_samples` reads them."""
    unknown = sorted(set(formats) - set(get_args(FigureFormat)))
    if unknown:
        raise InputError(f"unknown format {unknown[0]!r} of figures; there are: svg, png")
    if "png" in formats:
        from ppaurora.plot.painting import png
    environment()  # charts need a package that it brings; it says so
    from ppaurora.pages.report.figures import all_charts, own_charts

    facts = facts_of(source, samples)
    charts = [*all_charts(facts), *([] if samples is None else own_charts(facts, samples))]
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"{folder}: cannot be made: {error.strerror or error}") from None
    saved = []
    taken: Counter[str] = Counter()
    for chart in charts:
        svg = chart.standalone
        taken[chart.file_name] += 1
        again = taken[chart.file_name]  # names of models that differ in signs only give the same
        for format in formats:
            saved.append(folder / f"{chart.file_name}{f'-{again}' if again > 1 else ''}.{format}")
            save(saved[-1], svg.encode() if format == "svg" else png(svg))
    return saved


def possible_formats() -> tuple[FigureFormat, ...]:
    """Return the formats that can be saved with what is installed."""
    try:
        import ppaurora.plot  # noqa: F401
    except MissingPackageError:
        return ("svg",)
    return ("svg", "png")
