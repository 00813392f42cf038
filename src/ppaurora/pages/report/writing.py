"""From a result to a report in one of its formats."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Unpack

from ppaurora.data import ColumnKeywords, Columns, CountTable, Samples, read_dataset
from ppaurora.errors import InputError
from ppaurora.evaluation.report import Report
from ppaurora.io.files import replace_file
from ppaurora.owner.report import StudyReport
from ppaurora.pages.environment import environment
from ppaurora.pages.report.facts import Facts, evaluation_facts, study_facts
from ppaurora.pages.report.numbers import numbers_of
from ppaurora.pages.report.own import OwnFacts, own_facts
from ppaurora.pages.report.sources import ReportSource, source_of
from ppaurora.pages.report.texts import as_json, as_latex, as_markdown

FORMATS = {
    "html": (".html", ".htm"),
    "markdown": (".md", ".markdown"),
    "json": (".json",),
    "latex": (".tex",),
}


def write_report(
    result: StudyReport | Report | str | os.PathLike[str],
    path: str | os.PathLike[str],
    *,
    format: str | None = None,
    data: Any = None,
    study: str | None = None,
    **columns: Unpack[ColumnKeywords],
) -> None:
    """Write a report of a result: released numbers, sentences for a paper, receipt, policy, charts.

    Parameters
    ----------
    result
        A saved result or receipt, an owner's kit that holds one, or what `Study.result()` or
        `ppaurora.evaluate` returned. If it has a receipt, it is verified first; `NotVerifiedError` is
        raised if that fails.
    path
        The file to write, or to replace.
    format
        "html" (one self-contained page), "markdown", "json" or "latex" (a table). By default the extension
        of `path`.
    data
        The owner's own data, as for `Study.submit`, to compare with the pooled values. Its values are
        computed locally and sent nowhere; the report says that it is not for others.
    study
        Which of a kit's results, if there are several.
    **columns
        Columns of the data, and its positive label: `score`, `label`, `id`, `pos_label`.

    Examples
    --------
    >>> import pathlib, tempfile, ppaurora
    >>> owners = [([1, 0, 1, 0], [0.9, 0.4, 0.7, 0.2]), ([0, 1, 0], [0.3, 0.6, 0.6])]
    >>> page = pathlib.Path(tempfile.mkdtemp()) / "report.md"
    >>> ppaurora.write_report(ppaurora.evaluate(owners, metrics=["auroc"]), page)
    >>> "AUROC was 0.9583" in page.read_text()
    True
    """
    path = Path(path)
    chosen = format or format_of(path)
    source = source_of(result if isinstance(result, StudyReport | Report) else Path(result), study=study)
    samples = None if data is None else own_samples(source, data, Columns.called(**columns))
    save(path, make_report(source, chosen, samples).encode())


def format_of(path: Path | None) -> str:
    """Return the format by the file's ending; HTML if there is no file."""
    if path is None:
        return "html"
    for name, endings in FORMATS.items():
        if path.suffix.lower() in endings:
            return name
    known = ", ".join(endings[0] for endings in FORMATS.values())
    raise InputError(
        f"{path}: its ending does not say which format; name one with --format, or end it in {known}"
    )


def make_report(source: ReportSource, format: str, samples: Samples | None = None) -> str:
    """Return the text of the report. Samples are the owner's own, as `own_samples` reads them."""
    facts = facts_of(source, samples)
    if format == "html":
        environment()  # needs Jinja2, which other formats do not; it says so
        from ppaurora.pages.report.html import as_html

        return as_html(facts, samples)
    formats = {"markdown": as_markdown, "json": as_json, "latex": as_latex}
    if format not in formats:
        raise InputError(f"unknown format {format!r}; there are: {', '.join(FORMATS)}")
    return formats[format](facts)


def facts_of(source: ReportSource, samples: Samples | None = None) -> Facts:
    """Gather everything that the report says."""
    found, result = source.verification, source.result
    if found is None:
        if not isinstance(result, Report):
            raise InputError("a result without a receipt is one of 'ppaurora evaluate'")
        return evaluation_facts(result)
    study = result if isinstance(result, StudyReport) else None
    return study_facts(found, study, _own(source, study, samples))


def own_samples(source: ReportSource, data: Any, columns: Columns) -> Samples:
    """Read the owner's own data as the study reads it."""
    if source.verification is None or not isinstance(source.result, StudyReport):
        raise InputError("own data is compared with the result of a study: name the result that it has filed")
    if isinstance(data, CountTable):
        raise InputError(f"{data.source}: a report computes with the rows of your own data; give these")
    is_file = isinstance(data, str | os.PathLike)
    if not isinstance(data, Samples):
        design = source.result.receipt.manifest.terms
        read = read_dataset(data, columns, design=design, name=None if is_file else source.result.owner)
        data = read.samples(columns.pos_label)
    study = source.result
    return study.receipt.manifest.protocol.read(study.evaluation.read(data))


def _own(source: ReportSource, study: StudyReport | None, samples: Samples | None) -> OwnFacts | None:
    if study is None or samples is None:
        return None
    manifest = study.receipt.manifest
    return own_facts(
        samples,
        manifest.terms.metrics,
        manifest.terms.confidence_level,
        study.receipt.samples[study.owner],
        numbers_of(study.metrics, {}),
    )


def save(path: Path, content: bytes) -> None:
    """Whole or not at all; readable by its owner only, as results are."""
    try:
        replace_file(path, content, mode=0o600)
    except OSError as error:
        raise InputError(f"{path}: cannot be written: {error.strerror or error}") from None
