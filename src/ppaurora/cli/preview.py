"""A preview of an owner's data before it is sent, as plain text for terminals and files alike."""

from __future__ import annotations

import shutil
import sys
import textwrap
from collections.abc import Iterator, Sequence

import click

from ppaurora.check import DataCheck, ScoreBin, shown_auroc
from ppaurora.data import Description
from ppaurora.data.candidates import Candidate
from ppaurora.io.text import printable

_WIDEST_BAR = 40
_MOST_LABELS = 5
_BLOCKS = " ▏▎▍▌▋▊▉█"  # from nothing to a whole letter, in eighths
_ASCII_BLOCKS = " #"


def show_check(check: DataCheck, *, err: bool, plan: bool = True) -> None:
    """The data and, below it, what to look at: on standard output, or the error output.

    Without `plan`, the study is only named, for whoever has just seen all of it.
    """
    stream = sys.stderr if err else sys.stdout
    _show([*_study(check, plan), *_facts(check)], err=err)
    click.echo(err=err)
    if check.design is not None and check.design.first_name:
        _echo(f"scores by class, {printable(check.design.first_name)}:", err=err)
    for line in chart(check.histogram, shutil.get_terminal_size().columns, _blocks(stream.encoding)):
        _echo(line, err=err)
    click.echo(err=err)
    for concern in check.concerns:
        kind = "warning" if concern.is_warning else "note"
        _echo(_wrapped(f"{kind}: ", f"{concern.text} [{concern.code}]", err=err), err=err)


def show_description(about: Description) -> None:
    """Print what was read of data that cannot be used, to find out why.

    Many different labels may be what another column holds, of patients perhaps: they are only counted.
    """
    values = about.label_values
    labels = ", ".join(f"'{printable(label)}' ({times:,})" for label, times in values.items()) or "none"
    if len(values) > _MOST_LABELS:
        labels = f"{len(values):,} different ones; is '{printable(about.label_column)}' the right column?"
    _show([*_read(about), ("labels", labels)], err=False)


def show_candidates(candidates: Sequence[Candidate]) -> None:
    """Print for every column what it may hold, and why not."""
    _show([(printable(one.name), one.in_words) for one in candidates], err=False)


def _show(lines: Sequence[tuple[str, str]], *, err: bool) -> None:
    indent = max(len(name) for name, _ in lines)
    for name, value in lines:
        _echo(_wrapped(f"{name:<{indent}}  ", value, err=err), err=err)


def _study(check: DataCheck, plan: bool) -> Iterator[tuple[str, str]]:
    manifest = check.manifest
    if manifest is None:
        return
    organisation = next((one.organisation for one in manifest.owners if one.name == check.owner), "")
    yield "as", f"{check.owner} ({organisation})" if organisation else f"{check.owner}"
    yield "for study", f"{manifest.study}, hash {manifest.hash}"
    if plan:
        yield from (*manifest.evaluation.describe(), *manifest.terms.reading())


def _facts(check: DataCheck) -> Iterator[tuple[str, str]]:
    if check.description is not None:
        yield from _read(check.description)
    else:
        yield "data", f"{printable(check.source)}, {check.samples:,} samples"
    first = None if check.design is None or check.design.first is None else check.design.first.slice
    of_outcome = f" of {printable(first.outcome)}" if first is not None and first.outcome else ""
    for name, count, positive in (
        (f"positives{of_outcome}", check.positives, True),
        (f"negatives{of_outcome}", check.negatives, False),
    ):
        spelt = [f"'{printable(one.label)}'" for one in check.labels if one.positive is positive]
        of_all = f"{count:,} ({count / check.samples:.1%})"
        yield name, f"{of_all}, spelt {' and '.join(spelt)}" if spelt else of_all
    of = f" of {printable(first.model)}" if first is not None and first.model else ""
    yield f"scores{of}", f"between {check.lowest:g} and {check.highest:g}"
    yield (
        f"ties{of}",
        f"{check.tied_samples:,} samples share a score; {check.distinct_scores:,} distinct scores",
    )
    if first is None:
        yield "local AUROC", shown_auroc(check.auroc)
    if check.design is not None:
        yield from ((printable(name), printable(text)) for name, text in check.design.facts())
    if check.design is None:
        yield "rows left out", check.left_out.in_words
    if check.single_precision is not None:
        at_edges = f"; {check.single_precision.at_edges:,} samples at a threshold or an edge"
        yield "precision", f"float32{at_edges if check.manifest is not None else ''}"
    if check.grid_effect is not None:
        yield "grid", f"{check.grid_effect.grid}; {check.grid_effect.in_words}"
    if check.grid_proposal is not None:
        yield "proposed grid", check.grid_proposal.in_words
    if check.saving:
        yield "for less", check.saving
    if check.of_others:
        yield "others need", check.of_others
    if check.spending is not None and check.spending.matters:
        yield "epsilon", f"{check.spending}"


def _read(about: Description) -> Iterator[tuple[str, str]]:
    yield "data", f"{printable(about.source)} ({about.kind})"
    yield "columns", printable(", ".join(about.columns))
    used = about.used or {"score": about.score_column, "label": about.label_column}
    yield "used", ", ".join(f"{role} '{printable(column)}'" for role, column in used.items())
    yield "rows", f"{about.rows:,}"
    rows = "row" if about.incomplete == 1 else "rows"
    missing = f"in {about.incomplete:,} {rows}, the first at row {about.first_incomplete}"
    yield "missing values", missing if about.incomplete else "none"
    if about.id_column is None:
        yield "duplicates", "not checked; --id names a column that identifies samples"
    else:
        among = (
            "" if about.ids_compared == about.rows else f", in the first {about.ids_compared:,} rows alone"
        )
        yield "duplicates", f"{about.duplicates:,} in column '{printable(about.id_column)}'{among}"


def chart(bins: Sequence[ScoreBin], width: int, blocks: str) -> Iterator[str]:
    """A line per bin, within the width, with a bar for each class; each class to its own scale."""
    names = [f"{one.low:g} to {one.high:g}" for one in bins]
    counts = [(f"{one.negatives:,}", f"{one.positives:,}") for one in bins]
    label = max(len("score"), *map(len, names))
    digits = [max(len(pair[side]) for pair in counts) for side in (0, 1)]
    bar = max(9, min(_WIDEST_BAR, (width - 1 - label - sum(digits) - 6) // 2))
    most = max(one.negatives for one in bins), max(one.positives for one in bins)
    yield f"{'score':<{label}}  {'negatives':<{digits[0] + 1 + bar}}  positives"
    for name, one, pair in zip(names, bins, counts, strict=True):
        bars = [_bar(n, of, bar, blocks) for n, of in zip((one.negatives, one.positives), most, strict=True)]
        yield (
            f"{name:<{label}}  {pair[0]:>{digits[0]}} {bars[0]:<{bar}}  {pair[1]:>{digits[1]}} {bars[1]}"
        ).rstrip()


def _bar(count: int, most: int, width: int, blocks: str) -> str:
    """Return a bar of this length; a single sample still shows."""
    if count == 0:
        return ""
    parts = len(blocks) - 1
    whole, rest = divmod(max(1, round(count / most * width * parts)), parts)
    return blocks[-1] * whole + (blocks[rest] if rest else "")


def _echo(line: str, *, err: bool) -> None:
    """Print a text; what the output has no letters for is escaped."""
    encoding = (sys.stderr if err else sys.stdout).encoding or "ascii"
    click.echo(line.encode(encoding, "backslashreplace").decode(encoding), err=err)


def _blocks(encoding: str | None) -> str:
    """Return the bar characters that the output can show."""
    try:
        _BLOCKS.encode(encoding or "ascii")
    except UnicodeEncodeError:
        return _ASCII_BLOCKS
    return _BLOCKS


def _wrapped(begins: str, text: str, *, err: bool) -> str:
    """Broken between words in a terminal, behind how it begins; in a file, one line."""
    if not (sys.stderr if err else sys.stdout).isatty():
        return begins + text
    width = max(20, shutil.get_terminal_size().columns - 1 - len(begins))
    lines = textwrap.wrap(text, width, break_long_words=False, break_on_hyphens=False)
    return begins + f"\n{' ' * len(begins)}".join(lines)
