"""One model of facts: a page, Markdown, LaTeX and JSON say the same, whatever the names are."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ppaurora
from ppaurora.errors import InputError
from ppaurora.metrics import METRICS, Metric
from ppaurora.metrics.names import MetricName
from ppaurora.pages.environment import style_hash, style_sheet
from ppaurora.pages.report.facts import NO_CURVE, Facts
from ppaurora.pages.report.html import as_html
from ppaurora.pages.report.numbers import capitalised
from ppaurora.pages.report.sources import ReportSource, source_of
from ppaurora.pages.report.texts import as_json, as_latex, as_markdown, escape_latex, escape_markdown
from ppaurora.pages.report.writing import facts_of, format_of, make_report
from ppaurora.statistics.estimates import Estimate
from tests.support.command_line import CommandLine
from tests.support.oracles import defined, exact_auroc, exact_average_precision, exact_delong_variance

THRESHOLDS = [0.2, 0.5]
HOSTILE = 'a<script>alert("x")</script>|*_`[b](c)\\input{/etc/passwd}%$#&~^'


def owners() -> list[tuple[Any, Any]]:
    random = np.random.default_rng(8)
    made = []
    for samples in (70, 40, 90):
        scores = random.random(samples).round(2)
        made.append(((random.random(samples) < scores).astype(int), scores))
    return made


def evaluated(**options: Any) -> ppaurora.Report:
    thresholds = {"thresholds": THRESHOLDS}
    metrics: list[MetricName | Metric] = [
        "auroc",
        "ap",
        "brier",
        METRICS["sensitivity"](**thresholds),
        METRICS["net_benefit"](**thresholds),
        "reliability",
    ]
    return ppaurora.evaluate(
        owners(), metrics=metrics, confidence_level=0.95, transport="memory", protocol="fast", **options
    )


@pytest.fixture(scope="module")
def report() -> ppaurora.Report:
    return evaluated()


@pytest.fixture(scope="module")
def rounded() -> ppaurora.Report:
    return evaluated(policy=ppaurora.Policy())


@pytest.fixture(scope="module")
def facts(rounded: ppaurora.Report) -> Facts:
    return facts_of(source_of(rounded))


class Page(HTMLParser):
    """What a browser would see: texts, elements, attributes."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str, str]] = []
        self.texts: list[str] = []
        self.style = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += [(tag, name, value or "") for name, value in attrs]

    def handle_data(self, data: str) -> None:
        if self.tags[-1:] == ["style"] and not self.style:
            self.style = data
        else:
            self.texts.append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.texts).split())


def test_numbers_are_those_of_the_definitions(report: ppaurora.Report) -> None:
    facts = facts_of(source_of(report))
    pooled = [
        (float(score), int(label))
        for labels, scores in owners()
        for label, score in zip(labels, scores, strict=True)
    ]
    auroc, ap = facts.single[0], facts.single[1]
    assert auroc.value == pytest.approx(float(defined(exact_auroc(pooled))), abs=1e-12)
    assert ap.value == pytest.approx(float(defined(exact_average_precision(pooled))), abs=1e-9)
    reach = 1.959963984540054 * float(defined(exact_delong_variance(pooled))) ** 0.5
    assert auroc.value is not None
    assert auroc.interval == pytest.approx((auroc.value - reach, auroc.value + reach), abs=1e-9)
    assert facts.positives == sum(label for _, label in pooled)
    assert f"AUROC was {auroc.value:.4g} (95% CI {auroc.value - reach:.4g} to " in facts.results
    assert "DeLong's method for AUROC" in facts.methods


def test_every_format_has_every_number(facts: Facts) -> None:
    formats = {
        "html": Page(as_html(facts)).text,
        "markdown": as_markdown(facts).replace("\\", ""),
        "latex": as_latex(facts).replace("\\", ""),
    }
    listed = json.loads(as_json(facts))["numbers"]
    assert len(facts.numbers) == len(listed) == 3 + 2 * 2 + 3 * 10
    for number, plain in zip(facts.numbers, listed, strict=True):
        assert (plain["value"], plain["shown"]) == (number.value, number.shown)
        for name, text in formats.items():
            assert number.shown in text, (name, number)
            assert number.shown_interval in text, (name, number)
    for said in (facts.results, facts.methods):
        for name, text in formats.items():
            assert said in text, name
    for name in ("html", "markdown"):
        assert NO_CURVE in formats[name]


def cells(text: str, pattern: str) -> list[list[str]]:
    return [re.split(pattern, line) for line in text.splitlines() if re.search(pattern, line)]


def test_tables_of_all_formats_are_the_same(facts: Facts) -> None:
    """Value by value, in the row and the column in which it belongs."""
    table = next(table for table in facts.tables if table.place == "threshold")
    assert table.columns == ("sensitivity", "net benefit")
    expected = [[place, *(one.text for one in row if one)] for place, row in table.rows]
    assert [row[0] for row in expected] == ["0.2", "0.5"]
    markdown = [[cell.strip() for cell in row[1:-1]] for row in cells(as_markdown(facts), r"(?<!\\)\|")]
    latex = [[cell.strip() for cell in row] for row in cells(as_latex(facts), r" & | \\\\$")]
    for row in expected:
        assert row in markdown
        assert [escape_latex(cell) for cell in row] in [one[:-1] for one in latex]
    page = as_html(facts)
    for place, *rest in expected:
        assert f'<tr><th scope="row">{place}</th>' + "".join(f"<td>{cell}</td>" for cell in rest) in page


def test_the_page_loads_nothing(facts: Facts) -> None:
    page = Page(as_html(facts))
    policy = next(value for tag, name, value in page.attributes if (tag, name) == ("meta", "content"))
    assert policy == (f"default-src 'none'; style-src '{style_hash()}'; base-uri 'none'; form-action 'none'")
    assert page.style == style_sheet()
    assert not {"script", "link", "img", "iframe", "object", "embed", "form", "base"} & set(page.tags)
    for tag, name, value in page.attributes:
        assert not name.startswith("on")
        assert name not in ("src", "srcset", "action", "data", "style", "background")
        if name == "href":
            assert tag == "a"
            assert value.startswith(("#", "https://doi.org/", "data:image/svg+xml;base64,"))
    links = [value for tag, name, value in page.attributes if name == "href" and value.startswith("data:")]
    saved = [value for tag, name, value in page.attributes if (tag, name) == ("a", "download")]
    assert (
        len(links) == len(saved) == page.tags.count("figure") > 1
    )  # which a browser saves, and does not open
    assert not re.search(r"https?://(?!doi\.org/|www\.w3\.org/2000/svg)", as_html(facts))


def test_the_page_has_landmarks_headings_in_order_and_captions(facts: Facts) -> None:
    page = Page(as_html(facts))
    assert [page.tags.count(tag) for tag in ("main", "header", "footer", "nav", "h1")] == [1] * 5
    levels = [int(tag[1]) for tag in page.tags if re.fullmatch(r"h\d", tag)]
    assert all(later <= earlier + 1 for earlier, later in pairwise(levels))
    assert page.tags.count("caption") == page.tags.count("table") > 3
    ids = [value for _, name, value in page.attributes if name == "id"]
    assert len(ids) == len(set(ids))
    targets = {value[1:] for tag, name, value in page.attributes if name == "href" and value.startswith("#")}
    assert targets <= set(ids)
    assert ("html", "lang", "en") in page.attributes


def test_hostile_names_stay_names(facts: Facts) -> None:
    """They cannot come from a verified manifest as code: as text in each of the formats."""
    number = replace(facts.single[0], title=HOSTILE, note=HOSTILE)
    hostile = replace(
        facts,
        study=HOSTILE,
        about=((HOSTILE, HOSTILE),),
        numbers=(number,),
        results=HOSTILE,
        methods=f"{HOSTILE}\n\\input{{x}}",
        warnings=(HOSTILE,),
        caption=HOSTILE,
    )
    page = Page(as_html(hostile))
    assert "script" not in page.tags
    assert page.text.count('<script>alert("x")</script>') >= 5
    markdown = as_markdown(hostile)
    assert not re.search(r"(?<!\\)<script|(?<!\\)\[b\]", markdown)
    row = next(line for line in markdown.splitlines() if line.startswith("| A\\<script"))
    assert len(re.findall(r"(?<!\\)\|", row)) == 5
    lines = [line for line in as_latex(hostile).splitlines() if not line.startswith("%")]
    assert r"\textbackslash{}input\{/etc/passwd\}\%\$\#\&\textasciitilde{}\textasciicircum{}" in "".join(
        lines
    )
    assert not any("\\input" in line for line in lines)
    assert json.loads(as_json(hostile))["study"] == HOSTILE


def test_escaping() -> None:
    assert (
        escape_latex("50 % of a_b & {c} \\ ~") == r"50 \% of a\_b \& \{c\} \textbackslash{} \textasciitilde{}"
    )
    assert escape_markdown("a|b *c* [d](e) <f>\n# g") == r"a\|b \*c\* \[d\](e) \<f\> \# g"


def test_what_is_suppressed_is_said_in_words() -> None:
    facts = facts_of(source_of(evaluated(policy=ppaurora.Policy(minimum_positives=5000))))
    assert facts.state == "suppressed"
    assert "no performance estimate was released" in facts.results
    assert all(number.value is None and number.shown == "withheld" for number in facts.numbers)
    for text in (as_markdown(facts), as_latex(facts), Page(as_html(facts)).text):
        assert "no performance estimate was released" in text
    page = as_html(facts)
    assert "The policy withholds this result" in page
    assert '<svg class="chart"' not in page


def test_what_is_undefined_or_withheld_alone_is_said_in_words(facts: Facts, report: ppaurora.Report) -> None:
    metrics = {
        **report.metrics,
        "ap": Estimate(None, note="undefined: why not"),
        "brier": Estimate(None, suppressed=True),
    }
    partly = facts_of(ReportSource(None, replace(report, metrics=metrics)))
    assert "Average precision is undefined." in partly.results
    assert "Brier score was withheld under the release policy." in partly.results
    page = Page(as_html(partly)).text
    assert "undefined: why not" in page
    assert "Average precision undefined" in page


def test_no_receipt_is_said(facts: Facts) -> None:
    page = Page(as_html(facts)).text
    assert "There is no receipt: one person held all data" in page
    assert "although no data was pooled" not in page
    assert "nothing was protected from them" in page


def test_every_metric_has_a_title_that_a_sentence_can_have() -> None:
    from ppaurora.pages.report.numbers import title_of

    titles = {name: title_of(name) for name in METRICS}
    assert all("_" not in title for title in titles.values())
    assert len(set(titles.values())) == len(titles)
    assert capitalised(titles["ap"]) == "Average precision"


def test_what_evaluate_prints_is_read_as_it_was(report: ppaurora.Report, tmp_path: Path) -> None:
    path = tmp_path / "r.json"
    path.write_text(report.to_json())
    assert facts_of(source_of(path)) == facts_of(source_of(report))
    ppaurora.write_report(path, tmp_path / "a.html")
    ppaurora.write_report(report, tmp_path / "b.htm")
    assert (tmp_path / "a.html").read_text() == (tmp_path / "b.htm").read_text()
    assert (tmp_path / "a.html").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    "change",
    [
        lambda content: content["metrics"]["auroc"].update(value="0.9"),
        lambda content: content["metrics"]["auroc"].update(value=None),
        lambda content: content["metrics"]["auroc"].pop("note"),
        lambda content: content["metrics"].update({"<script>": content["metrics"]["auroc"]}),
        lambda content: content["metrics"].update(auroc=7),
        lambda content: content.update(metrics=[]),
        lambda content: content.update(protocol="<b>"),
        lambda content: content.update(samples="many"),
        lambda content: content.update(samples=True),
        lambda content: content["policy"].update(digits=99),
        lambda content: content.update(more=1),
        lambda content: content.pop("cost"),
    ],
)
def test_what_evaluate_did_not_print_is_refused(change: Any, report: ppaurora.Report, tmp_path: Path) -> None:
    content = json.loads(report.to_json())
    change(content)
    path = tmp_path / "r.json"
    path.write_text(json.dumps(content))
    with pytest.raises(InputError, match=r"r\.json: is not what 'ppaurora evaluate --format json' prints"):
        source_of(path)


def test_the_ending_says_the_format() -> None:
    named = [format_of(Path(name)) for name in ("a.html", "a.HTM", "a.md", "a.json", "a.tex")]
    assert named == ["html", "html", "markdown", "json", "latex"]
    assert format_of(None) == "html"
    with pytest.raises(InputError, match=r"a.docx: its ending .* end it in .html, .md, .json, .tex"):
        format_of(Path("a.docx"))


def test_formats_are_those_that_there_are(report: ppaurora.Report) -> None:
    with pytest.raises(InputError, match="unknown format 'pdf'; there are: html, markdown, json, latex"):
        make_report(source_of(report), "pdf")
    assert make_report(source_of(report), "json") == make_report(source_of(report), "json")


def test_from_the_command_line(
    report: ppaurora.Report, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command, path = CommandLine(capsys), tmp_path / "r.json"
    path.write_text(report.to_json())
    for name in ("page.html", "text.md", "table.tex", "facts.json"):
        ended = command("report", path, "--out", tmp_path / name)
        assert (ended.code, ended.out, ended.err) == (0, "", f"report: {tmp_path / name}\n")
        printed = command("report", path, "--format", format_of(Path(name)))
        assert (printed.code, printed.out) == (0, (tmp_path / name).read_text())
    assert command("report", path).out == (tmp_path / "page.html").read_text()


def test_without_jinja2_other_formats_are_written(
    report: ppaurora.Report, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import sys

    for name in [one for one in sys.modules if one.startswith(("ppaurora.pages", "jinja2", "markupsafe"))]:
        monkeypatch.delitem(sys.modules, name)
    for name in ("jinja2", "markupsafe"):
        monkeypatch.setitem(sys.modules, name, None)
    for name in ("a.md", "a.tex", "a.json"):
        ppaurora.write_report(report, tmp_path / name)
    with pytest.raises(InputError, match=r"pip install 'ppaurora\[report\]'"):
        ppaurora.write_report(report, tmp_path / "a.html")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.json", "a.md", "a.tex"]
