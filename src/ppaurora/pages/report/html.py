"""The report as one page that loads nothing."""

from __future__ import annotations

from ppaurora.data import Samples
from ppaurora.pages.environment import environment, style_hash
from ppaurora.pages.report.facts import NO_CURVE, Facts
from ppaurora.pages.report.figures import own_charts, pooled_charts
from ppaurora.pages.report.numbers import capitalised
from ppaurora.pages.report.texts import (
    HEADINGS,
    OWN_TITLE,
    OWN_WORDS,
    cells_of,
    own_rows,
    receipt_pairs,
    rows_of,
    unfit_words,
    verified_sentence,
    without_empty_columns,
)
from ppaurora.pages.report.tripod import REFERENCE, REFERENCE_URL

_MOST_CARDS = 4


def as_html(facts: Facts, samples: Samples | None = None) -> str:
    """Render the page; with the owner's samples, which must be those of `facts.own`, also their curves."""
    page = environment().get_template("report.html")
    return page.render(
        facts=facts,
        policy=f"default-src 'none'; style-src '{style_hash()}'; base-uri 'none'; form-action 'none'",
        cards=[number for number in facts.single if number.value is not None][:_MOST_CARDS],
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
        charts=pooled_charts(facts),
        own_charts=[] if samples is None else own_charts(facts, samples),
        no_curve=NO_CURVE,
        reference=REFERENCE,
        reference_url=REFERENCE_URL,
    )
