"""The report as Markdown, as a LaTeX table and as JSON."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence

from ppaurora.io.text import listed
from ppaurora.pages.report.facts import NO_CURVE, Facts
from ppaurora.pages.report.numbers import Number, capitalised, place_of
from ppaurora.pages.report.sections import Section, without_empty_columns
from ppaurora.pages.report.tripod import REFERENCE, REFERENCE_URL

_MARKDOWN = re.compile(r"([\\`*_\[\]<>#|~$&])")
_MINUS = re.compile(r"(?<![\w.-])-(?=\d)|(?<= )-(?= )")  # of a number, or between two names
_LATEX = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "·": r"$\cdot$",
    "²": "$^2$",
    "τ": r"$\tau$",
    "<": "$<$",
    ">": "$>$",
    "|": r"\textbar{}",
    **{letter: f"\\{letter}" for letter in "&%$#_{}"},
}


def as_json(facts: Facts) -> str:
    return json.dumps(facts.to_dict(), indent=2, ensure_ascii=False) + "\n"


# Markdown


def as_markdown(facts: Facts) -> str:
    """Return the same facts as Markdown, without charts."""
    return "\n".join(_markdown(facts)).strip() + "\n"


def _markdown(facts: Facts) -> Iterator[str]:
    say = escape_markdown
    yield f"# {say(title_of_report(facts))}\n"
    if facts.own is not None:
        yield f"> **{say(OWN_TITLE)}** {say(OWN_WORDS)}\n"
    yield say(verified_sentence(facts)) + "\n"
    if facts.about:
        yield from _markdown_table(("", ""), facts.about)
    yield "## For the paper\n"
    results = "\n>\n> ".join(map(say, facts.paragraphs))
    yield f"Results:\n\n> {results}\n\nMethods:\n\n> {say(facts.methods)}\n"
    yield "## Results\n"
    if facts.is_of_one_model:
        yield from _markdown_table(*without_empty_columns(HEADINGS, rows_of(facts.single)))
        for table in facts.tables:
            yield from _markdown_table((table.place, *map(capitalised, table.columns)), cells_of(table.rows))
        yield from (say(words) + "\n" for words in facts.remarks)
    for section in facts.sections:
        yield from _section_markdown(section)
    yield say(facts.privacy) + "\n"
    yield say(NO_CURVE) + "\n"
    yield from _own_markdown(facts)
    if facts.owners:
        yield "## Participants\n"
        people = [(one.name, one.organisation or "not named", one.detail) for one in facts.owners]
        people += [(one.name, one.organisation or "not named", one.detail) for one in facts.servers]
        yield from _markdown_table(("who", "organisation", ""), people)
    yield "## Release policy\n"
    yield from _markdown_table(("rule", ""), facts.policy)
    yield from _bullets("What the release discloses:", facts.tells)
    yield from _bullets("Points to consider:", facts.warnings)
    if facts.reporting:
        yield "## Items of TRIPOD+AI\n"
        items = [(one.item, one.topic, one.status, one.words) for one in facts.reporting]
        yield from _markdown_table(("item", "topic", "", ""), items)
        yield f"{say(REFERENCE)}, <{REFERENCE_URL}>\n"
    yield "## What was protected from whom\n"
    rows = [
        (one.whom, "protected" if one.protected else "not protected", one.words) for one in facts.protection
    ]
    yield from _markdown_table(("from whom", "", ""), rows)
    yield from _receipt_markdown(facts)
    yield f"Created with ppaurora {say(facts.ppaurora)}.\n"


def _section_markdown(section: Section) -> Iterator[str]:
    say = escape_markdown
    yield f"### {say(section.title)}\n"
    yield from (say(words) + "\n" for words in section.words)
    for table in section.tables:
        yield f"{say(table.title)}:\n"
        yield from _markdown_table(table.headings, table.rows)
    yield from _bullets("Notes:", section.notes)


def _own_markdown(facts: Facts) -> Iterator[str]:
    if facts.own is None:
        return
    yield "## Comparison with your own data\n"
    yield escape_markdown(facts.own.words) + "\n"
    if not facts.own.fits:
        yield escape_markdown(unfit_words(facts)) + "\n"
    yield from _markdown_table(("number", "pooled", "your data alone"), own_rows(facts))


def _receipt_markdown(facts: Facts) -> Iterator[str]:
    if facts.receipt is None:
        return
    yield "## Receipt\n"
    yield from _markdown_table(("", ""), receipt_pairs(facts))
    if facts.amendments:
        yield f"{AMENDED}\n"
        yield from _markdown_table(("amendment", ""), amendment_pairs(facts))
    yield from _bullets("It proves:", facts.receipt.proves)
    yield from _bullets("It does not prove:", facts.receipt.does_not_prove)


def _bullets(title: str, sentences: Sequence[str]) -> Iterator[str]:
    if sentences:
        yield f"{title}\n\n" + "\n".join(f"- {escape_markdown(said)}" for said in sentences) + "\n"


def _markdown_table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    lines = ["| " + " | ".join(map(escape_markdown, row)) + " |" for row in (headings, *rows)]
    if len(lines) > 1:
        yield "\n".join([lines[0], "|---" * len(headings) + "|", *lines[1:]]) + "\n"


def escape_markdown(text: str) -> str:
    return _MARKDOWN.sub(r"\\\1", _on_one_line(text))


# LaTeX


def as_latex(facts: Facts) -> str:
    """Tables in the manner of booktabs, which is all that they need."""
    return "\n".join(_latex(facts)) + "\n"


def _latex(facts: Facts) -> Iterator[str]:
    say = escape_latex
    yield f"% {title_of_report(facts)}; by ppaurora {facts.ppaurora}; needs \\usepackage{{booktabs}}"
    if facts.own is not None:
        yield f"% {OWN_TITLE} {OWN_WORDS}"
    yield "% Results: " + "\n%\n% ".join(map(_on_one_line, facts.paragraphs))
    yield f"% Methods: {_on_one_line(facts.methods)}"
    yield f"% Privacy: {_on_one_line(facts.privacy)}"
    for caption, headings, rows in _latex_tables(facts, own_columns(facts)):
        yield from ("", r"\begin{table}", r"\centering", rf"\caption{{{say(caption)}}}")
        yield rf"\begin{{tabular}}{{l{'r' * (len(headings) - 1)}}}"
        yield r"\toprule"
        yield " & ".join(map(say, headings)) + r" \\"
        yield r"\midrule"
        yield from (" & ".join(map(say, row)) + r" \\" for row in rows)
        yield from (r"\bottomrule", r"\end{tabular}", r"\end{table}")
    yield from (f"% {remark}" for remark in facts.remarks)
    for section in facts.sections:
        yield from (f"% {section.title}: {_on_one_line(note)}" for note in section.notes)


def _latex_tables(
    facts: Facts, own: Callable[[Number], str] | None
) -> Iterator[tuple[str, Sequence[str], Sequence[Sequence[str]]]]:
    """Give captions, headings and rows."""
    if facts.is_of_one_model:
        yield from _plain_latex_tables(facts, own)
    for section in facts.sections:
        for table in section.tables:
            titles = [one if one in table.names else capitalised(one) for one in table.headings]
            yield f"{table.title}. {facts.table_caption}", titles, table.rows


def _plain_latex_tables(
    facts: Facts, own: Callable[[Number], str] | None
) -> Iterator[tuple[str, Sequence[str], Sequence[Sequence[str]]]]:
    headings = ("Number", "Value", "Interval", *(("Own data alone",) if own else ()))
    rows = [
        (titled(one), one.shown, one.shown_interval or "--", *((own(one),) if own else ()))
        for one in facts.single
    ]
    if rows:
        yield facts.caption, headings, rows
    for table in facts.tables:
        titles = (capitalised(table.place), *map(capitalised, table.columns))
        yield facts.caption, titles, list(cells_of(table.rows))


def escape_latex(text: str) -> str:
    return _MINUS.sub("$-$", "".join(_LATEX.get(letter, letter) for letter in _on_one_line(text)))


def _on_one_line(text: str) -> str:
    return " ".join(text.split())


# What all of them say

HEADINGS = ("number", "value", "interval", "note")
OWN_TITLE = "This report contains figures from your own data."
OWN_WORDS = "Keep it to yourself. For a version to publish or share, create it again without --data."


def title_of_report(facts: Facts) -> str:
    return f"Result of the study {facts.study}" if facts.study else "Result of an evaluation on one machine"


def verified_sentence(facts: Facts) -> str:
    if facts.receipt is None:
        return "There is no receipt: one person held all data, and the servers ran on one machine."
    what = "The receipt" if facts.state == "not here" else f"The result, as {facts.owner} got it,"
    return f"{what} was verified when this report was made: signed by {listed(facts.receipt.signed_by)}."


def unfit_words(facts: Facts) -> str:
    own = facts.own
    if own is None or own.fits:
        return ""
    return (
        f"The data given here has {own.samples:,} samples, but {facts.owner} submitted "
        f"{own.submitted:,}: it is not the same data."
    )


def titled(number: Number) -> str:
    """Return the title with the place that the number is at."""
    if not number.at:
        return capitalised(number.title)
    where = "in" if "low" in number.at else f"at {', '.join(number.at)}"
    return capitalised(f"{number.title} {where} {place_of(number.at)}")


def rows_of(numbers: Iterable[Number]) -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = []
    for one in numbers:
        interval = ", ".join(filter(None, (one.shown_interval, one.method)))
        rows.append((titled(one), one.shown, interval, one.remark))
    return rows


def cells_of(rows: Iterable[tuple[str, tuple[Number | None, ...]]]) -> Iterator[tuple[str, ...]]:
    for place, numbers in rows:
        yield (place, *("" if one is None else one.text for one in numbers))


def own_rows(facts: Facts, *, of_tables: bool | None = None) -> list[tuple[str, ...]]:
    """Return the owner's own numbers beside the pooled ones; only those of tables, or only the others."""
    pooled = {one.key: one.text for one in facts.numbers}
    own = () if facts.own is None else facts.own.numbers
    return [
        (titled(one), pooled.get(one.key, ""), one.text)
        for one in own
        if of_tables is None or of_tables == bool(one.at)
    ]


def own_columns(facts: Facts) -> Callable[[Number], str] | None:
    if facts.own is None:
        return None
    own = {one.key: one for one in facts.own.numbers}
    return lambda number: own[number.key].text if number.key in own else "--"


AMENDED = "Before anything was computed, the study was amended:"


def amendment_pairs(facts: Facts) -> list[tuple[str, str]]:
    """Return each amendment with its reason, what it changed, and how owners agreed."""
    return [
        (
            str(one.number),
            f"{one.reason.strip().rstrip('.') or 'no reason was given'}; {one.agreed}. Changes: "
            f"{'; '.join(map(str, one.changes))}.",
        )
        for one in facts.amendments
    ]


def receipt_pairs(facts: Facts) -> list[tuple[str, str]]:
    receipt = facts.receipt
    if receipt is None:
        return []
    return [
        ("manifest, SHA-256", receipt.manifest_hash),
        ("attempt", str(receipt.attempt)),
        ("released", receipt.released_at),
        ("signed by", listed(receipt.signed_by)),
        *((f"statement of {name}", "missing") for name in receipt.missing),
        *((f"commitments of {owner}", ", ".join(digests)) for owner, digests in receipt.commitments),
    ]
