"""The report as one page that loads nothing."""

from __future__ import annotations

from ppaurora.data import Samples
from ppaurora.pages.environment import environment, style_hash
from ppaurora.pages.report.facts import NO_CURVE, Facts
from ppaurora.pages.report.figures import own_charts, pooled_charts, section_charts
from ppaurora.pages.report.numbers import Number, capitalised
from ppaurora.pages.report.sections import without_empty_columns
from ppaurora.pages.report.texts import (
    AMENDED,
    HEADINGS,
    OWN_TITLE,
    OWN_WORDS,
    amendment_pairs,
    cells_of,
    own_rows,
    receipt_pairs,
    rows_of,
    unfit_words,
    verified_sentence,
)
from ppaurora.pages.report.tripod import REFERENCE, REFERENCE_URL

_MOST_CARDS = 4


def as_html(facts: Facts, samples: Samples | None = None) -> str:
    """Render the page; with the owner's samples, which must be those of `facts.own`, also their curves."""
    page = environment().get_template("report.html")
    return page.render(
        facts=facts,
        policy=f"default-src 'none'; style-src '{style_hash()}'; base-uri 'none'; form-action 'none'",
        cards=cards_of(facts),
        section_charts=section_charts(facts),
        single=without_empty_columns(HEADINGS, rows_of(facts.single)),
        cells=cells_of,
        capitalised=capitalised,
        titles=lambda columns: [capitalised(column) for column in columns],
        own_rows=own_rows(facts, of_tables=False),
        own_places=own_rows(facts, of_tables=True),
        own_title=OWN_TITLE,
        own_words=OWN_WORDS,
        unfit=unfit_words(facts),
        verified=verified_sentence(facts),
        receipt_pairs=receipt_pairs(facts),
        amended=AMENDED,
        amendment_pairs=[(f"Amendment {number}", words) for number, words in amendment_pairs(facts)],
        charts=pooled_charts(facts),
        own_charts=[] if samples is None else own_charts(facts, samples),
        no_curve=NO_CURVE,
        reference=REFERENCE,
        reference_url=REFERENCE_URL,
    )


def cards_of(facts: Facts) -> list[tuple[str, Number]]:
    """Return the first numbers with their titles; of several models and outcomes, the first one of each."""
    if not facts.is_of_one_model:
        found = [(one.name, number) for one in facts.design.slices for number in one.single[:1]]
    else:
        found = [("", number) for number in facts.single]
    return [
        (", ".join(filter(None, (capitalised(number.title), name))), number)
        for name, number in found
        if number.value is not None
    ][:_MOST_CARDS]
