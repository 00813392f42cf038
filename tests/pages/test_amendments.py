"""A report of a study that was amended says so, in all its forms."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

import ppaurora
from ppaurora.pages.report.facts import AmendmentFacts, Facts, ReceiptFacts, amended_sentence
from ppaurora.pages.report.html import as_html
from ppaurora.pages.report.sources import source_of
from ppaurora.pages.report.texts import as_json, as_markdown
from ppaurora.pages.report.writing import facts_of
from ppaurora.study.amendments import Change

GONE = Change("owner valley", "key 0123", "")
SIGNED = AmendmentFacts(1, "valley has <closed>.", (GONE,), ("north", "harbour"))
BEFOREHAND = AmendmentFacts(2, "", (Change("submissions", "until June", "until July"),), ())


@pytest.fixture(scope="module")
def facts() -> Facts:
    report = ppaurora.evaluate(
        [([1, 0, 1], [0.9, 0.1, 0.3]), ([0, 1], [0.2, 0.4])], transport="memory", protocol="fast"
    )
    receipt = ReceiptFacts("0" * 64, 1, "today", ("proxy 0",), (), (), (), ())
    return replace(facts_of(source_of(report)), receipt=receipt)


def test_all_forms_tell_of_amendments(facts: Facts) -> None:
    amended = replace(facts, amendments=(SIGNED, BEFOREHAND))
    page, markdown = as_html(amended), as_markdown(amended)
    assert "valley has &lt;closed&gt;; agreed to by the signatures of north and harbour." in page
    assert "<closed>" not in page
    assert "no reason was given; agreed to beforehand by all owners." in page
    assert "owner valley: no longer (before: key 0123)" in page
    assert "submissions: until July (before: until June)" in markdown
    [first, second] = json.loads(as_json(amended))["amendments"]
    assert first["reason"] == "valley has <closed>."
    assert first["changes"] == [{"what": "owner valley", "before": "key 0123", "after": ""}]
    assert (first["signed_by"], second["signed_by"]) == (["north", "harbour"], [])


def test_other_studies_say_nothing_of_them(facts: Facts) -> None:
    assert "mendment" not in as_html(facts)
    assert "amended" not in as_markdown(facts)
    assert json.loads(as_json(facts))["amendments"] == []


@pytest.mark.parametrize(
    ("amendments", "said"),
    [
        ((), ""),
        ((SIGNED,), "was amended once (valley has <closed>); all owners agreed, with their signatures."),
        ((BEFOREHAND,), "was amended once; all owners agreed, beforehand."),
        (
            (SIGNED, BEFOREHAND),
            "was amended twice (valley has <closed>); all owners agreed, with their sig",
        ),
        ((SIGNED,) * 3, "was amended 3 times (valley has <closed>; valley has <closed>; valley has"),
    ],
)
def test_the_methods_say_it_in_a_sentence(amendments: tuple[AmendmentFacts, ...], said: str) -> None:
    sentence = amended_sentence(amendments)
    assert said in sentence
    assert bool(sentence) == bool(amendments)
