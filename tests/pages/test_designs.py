"""Reports of studies with models, comparisons, subgroups, sites and rows left out: all formats say all."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

import ppaurora
from ppaurora.errors import InputError
from ppaurora.pages.charts import Chart, ForestRow, forest
from ppaurora.pages.report.design_sentences import design_results
from ppaurora.pages.report.designs import DesignFacts
from ppaurora.pages.report.facts import Facts
from ppaurora.pages.report.figures import all_charts, pooled_charts, section_charts
from ppaurora.pages.report.html import as_html
from ppaurora.pages.report.sources import source_of
from ppaurora.pages.report.texts import as_json, as_latex, as_markdown
from ppaurora.pages.report.writing import facts_of
from ppaurora.plot.numbers import prevalence_of
from ppaurora.statistics.differences import ANYWHERE
from tests.pages.test_formats import Page
from tests.support.designed_reports import HOSTILE_LEVEL, THRESHOLDS, clustered, designed, plain

KINDS = ("publication", "exact", "private")
each_kind = pytest.mark.parametrize("kind", KINDS)


def facts(kind: str = "publication", **options: Any) -> Facts:
    return facts_of(source_of(designed(kind, **options)))


def texts(found: Facts) -> dict[str, str]:
    """Return every format as plain text, with escapes undone."""
    latex = as_latex(found)
    for escaped, letter in ((r"\textbackslash{}", "\\"), (r"\textasciitilde{}", "~"), (r"\textbar{}", "|")):
        latex = latex.replace(escaped, letter)
    latex = re.sub(r"\\([&%$#_{}])", r"\1", latex).replace("$-$", "-").replace("$^2$", "²")
    return {
        "html": Page(as_html(found)).text,
        "markdown": re.sub(r"\\(.)", r"\1", as_markdown(found)),
        "latex": latex.replace("$<$", "<").replace("$>$", ">").replace(r"\textasciicircum{}", "^"),
    }


def parsed(chart: Chart) -> ElementTree.Element:
    return ElementTree.fromstring(chart.svg)  # noqa: S314 (our own)


def numbers_in(content: Any) -> Iterator[dict[str, Any]]:
    """Give every number of a JSON report, wherever it is."""
    if isinstance(content, dict):
        if "shown_interval" in content:
            yield content
        for one in content.values():
            yield from numbers_in(one)
    elif isinstance(content, list):
        for one in content:
            yield from numbers_in(one)


@each_kind
def test_every_number_of_the_json_is_in_every_format(kind: str) -> None:
    found = facts(kind)
    content = json.loads(as_json(found))
    numbers = [one for key in ("slices", "comparisons", "subgroups", "sites", "left_out")
               for one in numbers_in(content[key])]  # fmt: skip
    singles, tables = (2, 1) if kind == "private" else (3, 2)
    each = singles + tables * len(THRESHOLDS)
    levels, apart = 5, 3
    assert len(numbers) >= 2 * each * (1 + levels) + 2 * apart * singles + 3
    for name, text in texts(found).items():
        for one in numbers:
            assert one["shown"] in text, (name, one)
            assert one["shown_interval"] in text, (name, one)
            assert one.get("test", "") in text, (name, one)
        for said in (*content["results"].split("\n\n"), content["methods"]):
            assert said in text, name


def test_numbers_are_those_of_the_result() -> None:
    report, found = designed(), facts()
    assert [one.model for one in found.design.slices] == ["risk_a", "risk_b"]
    for one in found.design.slices:
        own = report.models[one.model].metrics
        assert [number.value for number in one.single] == [own[number.metric].value for number in one.single]  # type: ignore[union-attr]
    compared = report.comparison("risk_a", "risk_b").auroc
    assert compared is not None
    number = found.design.comparisons[0].numbers[0]
    assert (number.value, number.z, number.p_value) == (compared.value, compared.z, compared.p_value)
    assert compared.test_line() in found.results
    for subgroup in found.design.subgroups:
        levels = report.subgroups[subgroup.variable].of(subgroup.model)
        for level in subgroup.levels:
            auroc = level.get("auroc")
            assert auroc is not None
            assert auroc.value == levels[level.level]["auroc"].value  # type: ignore[union-attr]
            assert (level.positives, level.negatives) == (
                levels[level.level].positives,
                levels[level.level].negatives,
            )
        for less in subgroup.differences:
            expected = levels.difference(less.level, less.reference)
            assert less.numbers[0].value == expected.value
    assert report.sites is not None
    for effect in found.design.sites[0].effects:
        variance = report.sites.effects[effect.quantity].tau2.shown_shortly()
        assert f" was {variance} (I² {effect.i2.value or 0:.0%}, 3 institutions)" in effect.words
        assert effect.words in found.results


def test_models_are_side_by_side() -> None:
    found = facts()
    (models,) = [section for section in found.sections if section.key == "models"]
    table = models.tables[0]
    assert table.headings == ("number", "risk_a", "risk_b", "interval by")
    a, b = (one.get("auroc") for one in found.design.slices)
    assert a is not None
    assert b is not None
    assert table.rows[0] == ("AUROC", a.text, b.text, "DeLong")
    assert '<th scope="col" class="as-named">risk_a</th>' in as_html(found)  # spelt as it is
    assert f"AUROC & {a.text} & {b.text} & DeLong" in as_latex(found).replace("\\%", "%")


def test_several_outcomes_have_a_table_each() -> None:
    found = facts(outcomes=True)
    (models,) = [section for section in found.sections if section.key == "models"]
    assert models.title == "Models and outcomes"
    assert [one.title for one in models.tables[:2]] == ["Released numbers, death", "Released numbers, stroke"]
    assert "for risk_a, outcome death (about " in found.results
    titles = [chart.title for chart in all_charts(found)]
    assert len(set(titles)) == len(titles)
    assert {"Differences between models: death", "Differences between models: stroke"} <= set(titles)


def test_suppressed_levels_are_withheld_and_others_are_not() -> None:
    report, found = designed(small=True), facts(small=True)
    assert all(one.suppressed for one in report.subgroups["age_group"].values())
    assert not any(one.suppressed for one in report.subgroups["sex"].values())
    (section,) = [one for one in found.sections if one.key == "subgroups"]
    rows = {table.title: table.rows for table in section.tables}
    assert rows["AUROC by age_group, risk_a"] == (
        ("under 50", *["withheld"] * 3, "reference"),
        ("50-70", *["withheld"] * 4),
        (HOSTILE_LEVEL, *["withheld"] * 4),
    )
    assert "withheld" not in str(rows["AUROC by sex, risk_a"])
    assert [note.partition(": ")[0] for note in section.notes if "too few people" in note] == [
        f"All levels by age_group, {model} are withheld" for model in ("risk_a", "risk_b")
    ]
    assert "By age_group, AUROC of risk_a was withheld under the release policy." in found.results
    for name, text in texts(found).items():
        assert "withheld" in text, name
    (chart, _) = section_charts(found)["subgroups"]
    assert ("age_group: under 50", "withheld") in chart.rows
    assert chart.svg.count("chart__pooled-mark") == 3  # all samples, f and m


def test_a_suppressed_study_has_no_sections() -> None:
    found = facts(small=True, floor=5000)
    assert (found.state, found.sections) == ("suppressed", ())
    for name, text in texts(found).items():
        assert "no performance estimate of risk_a and risk_b was released" in text, name
    assert not all_charts(found)


def test_private_numbers_say_that_they_have_noise() -> None:
    found = facts("private")
    for section in found.sections:
        if section.key in ("subgroups", "left-out"):
            assert "Numbers of samples are released with noise." in section.words
    assert "rows excluded for another reason (each with noise)." in found.results
    assert "as if the errors of both models were independent" in Page(as_html(found)).text
    assert not found.design.sites


def test_counts_say_how_near_they_are() -> None:
    for kind, said in (("publication", 3), ("exact", 0)):
        words = [words for section in facts(kind).sections for words in section.words]
        assert words.count("Numbers of samples are released to the nearest 5.") == said
    assert "11 rows excluded for another reason." in facts("exact").results
    assert "10 rows excluded for another reason (each to the nearest 5)." in facts().results


def test_methods_name_what_was_done() -> None:
    methods = facts().methods
    for said in (
        "Models were compared on the same samples: risk_a with risk_b.",
        "AUROC (DeLong, paired)",
        "Subgroups were by age_group (under 50, 50-70, ",
        "random-effects meta-analysis (DerSimonian-Laird, intervals by Hartung and Knapp",
    ):
        assert said in methods
    assert "compared" not in facts_of(source_of(plain())).methods


def test_one_person_who_holds_all_data_keeps_no_secrets_of_institutions() -> None:
    found = facts()
    assert found.receipt is None
    for name, text in texts(found).items():
        assert "Subgroups were by age_group" in text, name
        for said in ("own institution only", "secret of its institution", "fixed beforehand", "anybody saw",
                     "institution stated"):  # fmt: skip
            assert said not in text, (name, said)


def test_a_plain_study_has_nothing_of_this() -> None:
    found = facts_of(source_of(plain()))
    assert found.design == DesignFacts()
    assert found.sections == ()
    content = json.loads(as_json(found))
    assert [content[key] for key in ("slices", "comparisons", "subgroups", "sites", "left_out")] == [[]] * 5
    assert not {"slices", "comparisons", "subgroups"} & set(plain().to_dict())
    assert [chart.title for chart in all_charts(found)] == ["Values and their uncertainty"]


def test_the_page_has_headings_in_order_and_captions() -> None:
    page = Page(as_html(facts()))
    levels = [int(tag[1]) for tag in page.tags if re.fullmatch(r"h\d", tag)]
    assert all(later <= earlier + 1 for earlier, later in pairwise(levels))
    assert page.tags.count("caption") == page.tags.count("table") > 20
    ids = [value for _, name, value in page.attributes if name == "id"]
    assert len(ids) == len(set(ids))
    targets = {value[1:] for tag, name, value in page.attributes if name == "href" and value.startswith("#")}
    assert {"comparisons", "subgroups", "sites", "left-out"} <= targets <= set(ids)
    assert not {"b", "script"} & set(page.tags)  # a level is called <b>


def test_latex_is_balanced_and_escaped() -> None:
    latex = as_latex(facts())
    lines = [line for line in latex.splitlines() if not line.startswith("%")]
    commands = set(re.findall(r"\\[a-zA-Z]+", "\n".join(lines)))
    assert commands <= {
        *(r"\begin", r"\end", r"\centering", r"\caption", r"\toprule", r"\midrule", r"\bottomrule"),
        *(r"\textbackslash", r"\textasciitilde", r"\textasciicircum", r"\textbar", r"\tau", r"\cdot"),
    }
    assert not re.search(r"(?<!\\)[_%#&]", "\n".join(lines).replace(" & ", " "))
    columns = 0
    for line in lines:
        begun = re.match(r"\\begin\{tabular\}\{(l r*|lr*)\}", line)
        columns = len(begun[1]) if begun else columns
        if line.endswith(r" \\"):
            assert len(re.split(r"(?<!\\)&", line)) == columns, line
    plain_text = re.sub(r"\\[{}]", "", "\n".join(lines))
    assert plain_text.count("{") == plain_text.count("}")
    assert plain_text.count("$") - plain_text.count(r"\$") == 2 * len(
        re.findall(r"\$[^$\\]+\$|\$\\tau\$", plain_text)
    )


def test_charts_of_a_model_have_its_name() -> None:
    found = facts()
    titles = [chart.title for chart in pooled_charts(found)]
    assert "Decision curve: risk_a" in titles
    assert "Decision curve: risk_b" in titles
    assert len(set(titles)) == len(titles)
    for chart in all_charts(found):
        root = parsed(chart)
        assert root[0].text == chart.title


def test_the_forest_of_subgroups_has_a_line_at_all_samples() -> None:
    found = facts()
    chart = section_charts(found)["subgroups"][0]
    assert chart.title == "Subgroups: risk_a"
    lines = parsed(chart).findall(".//*[@class='chart__guide']")
    marks = parsed(chart).findall(".//*[@class='chart__pooled-mark']")
    first = marks[0].attrib["points"].split(",")[0]  # that of all samples
    assert len(lines) == len(marks)
    assert all(float(line.attrib["x1"]) == pytest.approx(float(first), abs=0.11) for line in lines)
    assert len(marks) == 1 + 2 + 3
    assert [label for label, _ in chart.rows][:2] == ["all samples", "age_group: under 50"]


def test_the_forest_of_differences_has_a_line_at_zero() -> None:
    (chart,) = section_charts(facts())["comparisons"]
    root = parsed(chart)
    line = root.findall(".//*[@class='chart__guide']")[0]
    labels = [
        one for one in root.iter("{http://www.w3.org/2000/svg}text") if one.text and float_of(one.text) == 0
    ]
    assert [one.attrib["x"] for one in labels] == [line.attrib["x1"]]
    assert [label for label, _ in chart.rows] == [
        f"risk_a - risk_b: {what}"
        for what in ("AUROC", "Brier score", *(f"Net benefit at {at:g}" for at in THRESHOLDS))
    ]


def float_of(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def test_a_forest_draws_rows_where_they_belong() -> None:
    rows = [
        ForestRow("a", 1.0, (0.0, 2.0), "1 (0 to 2)", group="first"),
        ForestRow("b", None, None, "withheld", group="first"),
        ForestRow("c", 3.0, None, "3", group="second"),
    ]
    chart = forest(rows, title="T", caption="C", reference=1.0, within=ANYWHERE)
    root = parsed(chart)
    assert root[1].text == "first: a: 1 (0 to 2); first: b: withheld; second: c: 3"
    marks = root.findall(".//*[@class='chart__pooled-mark']")
    x = [float(one.attrib["points"].split(",")[0]) for one in marks]
    lines = root.findall(".//*[@class='chart__guide']")
    assert len(x) == len(lines) == 2
    assert x[0] == float(lines[0].attrib["x1"]) == float(lines[1].attrib["x1"]) < x[1]
    (whisker,) = [
        one for one in root.findall(".//*[@class='chart__pooled']") if one.attrib["y1"] == one.attrib["y2"]
    ]
    low, high = float(whisker.attrib["x1"]), float(whisker.attrib["x2"])
    assert (low + high) / 2 == pytest.approx(x[0], abs=0.11)
    assert x[1] - x[0] == pytest.approx(high - low, abs=0.21)


def test_the_line_to_compare_with_does_not_run_into_texts() -> None:
    for chart in (one for some in section_charts(facts()).values() for one in some):
        root = parsed(chart)
        lines = root.findall(".//*[@class='chart__guide']")
        strips = [(float(one.attrib["y1"]), float(one.attrib["y2"])) for one in lines]
        baselines = [float(one.attrib["y"]) for one in root.iter("{http://www.w3.org/2000/svg}text")]
        assert strips
        for top, bottom in strips:
            assert not any(top - 3 < y < bottom + 10 for y in baselines)  # letters are some 10 units high


def test_axes_of_forests_say_what_they_show() -> None:
    charts = section_charts(facts(outcomes=True))
    titles = [[one.text for one in parsed(chart).iter("{http://www.w3.org/2000/svg}text")] for chart in
              (*charts["subgroups"], *charts["comparisons"])]  # fmt: skip
    for title in ("AUROC of risk_a, death", "AUROC of risk_b, stroke", "difference for stroke"):
        assert sum(title in some for some in titles) == 1
    rows = [ForestRow("a", 0.5, None, "0.5")]
    long = forest(rows, title="T", caption="C", axis=f"AUROC of {'m' * 40}, {'o' * 40}")
    short = forest(rows, title="T", caption="C", axis="AUROC")
    heights = [float(parsed(one).attrib["viewBox"].split()[3]) for one in (short, long)]
    assert heights[1] > heights[0]


def test_figures_are_saved_with_names_of_their_own(tmp_path: Path) -> None:
    saved = ppaurora.save_figures(designed(), tmp_path, formats=["svg"])
    names = [path.name for path in saved]
    assert len(set(names)) == len(names)
    assert {"subgroups-risk-a.svg", "subgroups-risk-b.svg", "differences-between-models.svg"} <= set(names)


@each_kind
def test_a_saved_result_is_read_as_it_was(kind: str, tmp_path: Path) -> None:
    report, path = designed(kind), tmp_path / "r.json"
    path.write_text(report.to_json())
    read = source_of(path).result
    assert isinstance(read, ppaurora.Report)
    assert read.to_dict() == report.to_dict()
    assert facts_of(source_of(path)) == facts_of(source_of(report))
    old = json.loads(plain().to_json())
    path.write_text(json.dumps(old))
    assert facts_of(source_of(path)) == facts_of(source_of(plain()))


@pytest.mark.parametrize(
    "change",
    [
        lambda content: content.pop("sites"),
        lambda content: content.update(slices=[]),
        lambda content: content["slices"][0].update(positives="many"),
        lambda content: content["slices"][0].update(suppressed=None),
        lambda content: content["slices"][0].update(more=1),
        lambda content: content["comparisons"][0]["differences"]["auroc"].update(z="2"),
        lambda content: content["comparisons"][0]["differences"]["auroc"].pop("error_bound"),
        lambda content: content["comparisons"][0]["differences"].update(ap=None),
        lambda content: content["subgroups"]["sex"]["levels"].pop(),
        lambda content: content["subgroups"].update(empty={"levels": []}),
        lambda content: content["sites"][0]["effects"]["auroc"].update(scale="<b>"),
        lambda content: content["sites"][0]["effects"]["auroc"].update(prediction_interval=[0.5]),
        lambda content: content["left_out"].update(other=content["left_out"]["excluded"]),
        lambda content: content["left_out"]["excluded"].update(value="1"),
    ],
)
def test_what_evaluate_did_not_print_is_refused(
    change: Callable[[dict[str, Any]], Any], tmp_path: Path
) -> None:
    content = json.loads(designed().to_json())
    change(content)
    path = tmp_path / "r.json"
    path.write_text(json.dumps(content))
    with pytest.raises(InputError, match=r"r\.json: is not what 'ppaurora evaluate --format json' prints"):
        source_of(path)


def test_many_levels_are_summed_up_in_the_sentence() -> None:
    found = facts()
    subgroup = found.design.subgroups[0]
    level = subgroup.levels[0]
    many = replace(subgroup, levels=tuple(replace(level, level=str(number)) for number in range(12)))
    auroc = level.get("auroc")
    assert auroc is not None
    design = replace(found.design, subgroups=(many,))
    said = design_results(found.numbers, design, "x", "", designed().policy, suppressed=False)
    assert f"By age_group, AUROC of risk_a was from {auroc.shown} to {auroc.shown} in 12 levels." in said


def test_weights_are_not_taken_for_samples() -> None:
    report = clustered("weight")
    whole = report.results.wholes[0]
    assert report.positives is not None
    assert whole.negatives is not None
    assert report.positives + whole.negatives > report.samples == 720
    found = facts_of(source_of(report))
    said = f"(n = 720; by weight {report.positives:,} positive and {whole.negatives:,} negative)"
    assert said in found.results
    assert "Every row counted as often as its weight says." in found.methods
    assert "Obuchowski's method for clustered data for AUROC" in found.methods
    assert prevalence_of(report) == report.positives / (report.positives + whole.negatives)


def test_patients_with_several_rows_are_in_the_methods() -> None:
    found = facts_of(source_of(clustered("patient")))
    assert "Intervals of AUROC allow for patients with several rows" in found.methods
    assert "weight" not in found.methods
