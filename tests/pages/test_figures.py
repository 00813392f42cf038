"""Figures as files: an SVG that needs no style sheet, and a PNG that looks like it."""

from __future__ import annotations

import io
import re
import stat
import sys
from pathlib import Path
from xml.etree import ElementTree

import matplotlib.image
import numpy as np
import pytest

import ppaurora
from ppaurora.errors import InputError
from ppaurora.metrics import METRICS
from ppaurora.pages.charts import Chart, intervals
from ppaurora.pages.environment import style_sheet
from ppaurora.plot.painting import png
from tests.pages.test_charts import CHARTS, HOSTILE, ROWS
from tests.support.command_line import CommandLine

DRAWN = {"line", "polyline", "polygon", "rect", "circle", "text"}


def shapes(svg: str) -> list[ElementTree.Element]:
    return list(ElementTree.fromstring(svg))  # noqa: S314 (our own)


def pixels(content: bytes) -> np.ndarray:
    return np.asarray(matplotlib.image.imread(io.BytesIO(content), format="png"))[:, :, :3]


def colour(code: str) -> np.ndarray:
    return np.array([int(code[at : at + 2], 16) for at in (1, 3, 5)]) / 255


@pytest.mark.parametrize("chart", CHARTS.values(), ids=CHARTS)
def test_a_picture_by_itself_has_attributes_for_all_that_the_style_sheet_says(chart: Chart) -> None:
    title, description, paper, *drawn = shapes(chart.standalone)
    assert title.text == chart.title
    assert (description.tag.endswith("desc"), paper.get("fill")) == (True, "#ffffff")
    assert drawn
    for one in drawn:
        kind = one.tag.split("}")[1]
        assert kind in DRAWN
        assert "class" not in one.attrib
        assert not any("var(" in value or value.endswith("px") for value in one.attrib.values())
        assert one.get("stroke") or one.get("fill"), ElementTree.tostring(one)
        if kind in ("line", "polyline"):
            assert one.get("stroke")
        if kind == "polyline":
            assert one.get("fill") == "none"
    before = shapes(str(chart.svg))[2:]
    for one in before:
        del one.attrib["class"]
    assert all(one.attrib.items() <= other.attrib.items() for one, other in zip(before, drawn, strict=True))
    assert [one.text for one in before] == [one.text for one in drawn]


def test_a_later_rule_of_the_style_sheet_wins() -> None:
    """A dotted guide is one whose dashes are dots; the interval of own data is dashed, its ends are not."""
    dotted = [one for one in shapes(CHARTS["decision curve"].standalone) if one.get("stroke-linecap")]
    assert [(one.get("stroke-dasharray"), one.get("stroke-width")) for one in dotted] == [("0.1 4", "2")]
    own = re.search(r"--chart-own: (#\w+);", style_sheet().split("@media print")[1])
    assert own is not None
    lines = [one for one in shapes(CHARTS["intervals"].standalone) if one.get("stroke") == own[1]]
    assert [one.get("stroke-dasharray") for one in lines] == ["6 3", "none", "none", None]


def test_hostile_texts_stay_texts() -> None:
    chart = intervals(ROWS, title=HOSTILE, caption=HOSTILE)
    assert {one.tag.split("}")[1] for one in shapes(chart.standalone)} <= {*DRAWN, "title", "desc"}
    assert re.fullmatch(r"[a-z0-9-]+", chart.file_name)


def bounds(own: ElementTree.Element) -> np.ndarray:
    """The least and the largest x and y of a shape, without the width of its line."""
    number = {name: float(value) for name, value in own.items() if re.fullmatch(r"-?[\d.]+", value)}
    if "points" in own.attrib:
        places = np.array([point.split(",") for point in own.attrib["points"].split()], dtype=float)
    elif "r" in number:
        x, y, r = number["cx"], number["cy"], number["r"]
        places = np.array([(x - r, y - r), (x + r, y + r)])
    elif "x1" in number:
        places = np.array([(number["x1"], number["y1"]), (number["x2"], number["y2"])])
    else:
        x, y = number["x"], number["y"]
        places = np.array([(x, y), (x + number["width"], y + number["height"])])
    return np.array([places.min(axis=0), places.max(axis=0)])


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("intervals", "line"),
        ("roc", "polyline"),
        ("reliability", "polygon"),
        ("reliability", "circle"),
        ("scores", "rect"),
    ],
)
def test_a_shape_is_painted_where_it_is(name: str, kind: str) -> None:
    """The last one of its kind, alone on white: its dots reach as far as it does, and the line's width."""
    root = ElementTree.fromstring(CHARTS[name].standalone)  # noqa: S314 (our own)
    paper, shape = root[2], [one for one in root if one.tag.endswith(f"}}{kind}")][-1]
    root[:] = [paper, shape]
    found = pixels(png(ElementTree.tostring(root, encoding="unicode")))
    ys, xs = np.nonzero((found < 0.9).any(axis=2))
    reached = np.array([(xs.min(), ys.min()), (xs.max(), ys.max())]) * 96 / 300
    assert np.abs(reached - bounds(shape)).max() <= 2.5


def test_a_png_has_300_dots_per_inch_and_the_colours_of_the_picture() -> None:
    chart = CHARTS["reliability"]
    content = png(chart.standalone)
    width, height = (float(size) for size in chart.standalone.split('viewBox="0 0 ')[1].split('"')[0].split())
    found = pixels(content)
    assert found.shape[:2] == (int(height / 96 * 300), int(width / 96 * 300))
    for code in ("#0d5f73", "#a8480b", "#ffffff"):
        assert (np.abs(found - colour(code)).max(axis=2) < 0.02).any(), code
    density = content.split(b"pHYs")[1]
    assert int.from_bytes(density[:4], "big") == round(300 / 0.0254)


@pytest.fixture(scope="module")
def report() -> ppaurora.Report:
    random = np.random.default_rng(3)
    owners = []
    for samples in (70, 60, 90):
        scores = random.random(samples).round(2)
        owners.append(((random.random(samples) < scores).astype(int), scores))
    return ppaurora.evaluate(
        owners,
        metrics=["auroc", METRICS["net_benefit"](thresholds=[0.2, 0.5]), "reliability", "histogram"],
        confidence_level=0.95,
    )


NAMES = ["values-and-their-uncertainty", "decision-curve", "reliability-diagram", "scores-by-class-pooled"]


def test_every_figure_of_a_report_is_saved_in_both_formats(report: ppaurora.Report, tmp_path: Path) -> None:
    folder = tmp_path / "a" / "figures"
    saved = ppaurora.save_figures(report, folder)
    assert saved == [folder / f"{name}.{format}" for name in NAMES for format in ("svg", "png")]
    assert sorted(folder.iterdir()) == sorted(saved)
    for path in saved:
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert path.read_bytes().startswith(b"<svg" if path.suffix == ".svg" else b"\x89PNG")
    ppaurora.write_report(report, tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text()
    assert re.findall(r'download="(.*?)"', page) == [f"{name}.svg" for name in NAMES]


def test_the_command_saves_them_and_names_them(
    report: ppaurora.Report, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cli = CommandLine(capsys)
    (tmp_path / "result.json").write_text(report.to_json())
    done = cli("report", str(tmp_path / "result.json"), "--figures", str(tmp_path / "figures"))
    assert done.code == 0
    assert done.out == ""
    assert done.err.splitlines() == [
        f"figure: {tmp_path}/figures/{name}.{format}" for name in NAMES for format in ("svg", "png")
    ]
    both = ("--figures", str(tmp_path / "more"), "--format", "markdown")
    assert cli("report", str(tmp_path / "result.json"), *both).out.startswith("# ")


def test_without_matplotlib_figures_are_svg_and_it_says_how_to_get_more(
    report: ppaurora.Report,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    cli = CommandLine(capsys)
    for name in [name for name in sys.modules if name.startswith("ppaurora.plot")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    (tmp_path / "result.json").write_text(report.to_json())
    done = cli("report", str(tmp_path / "result.json"), "--figures", str(tmp_path / "figures"))
    assert done.code == 0
    assert "pip install 'ppaurora[plot]'" in done.err
    assert sorted(path.name for path in (tmp_path / "figures").iterdir()) == sorted(f"{n}.svg" for n in NAMES)
    with pytest.raises(InputError, match=r"pip install 'ppaurora\[plot\]'"):
        ppaurora.save_figures(report, tmp_path / "none")
    assert not (tmp_path / "none").exists()


def test_where_figures_cannot_be_saved(report: ppaurora.Report, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="file: cannot be made: File exists"):
        ppaurora.save_figures(report, tmp_path / "file", formats=["svg"])
    with pytest.raises(InputError, match="unknown format 'gif' of figures; there are: svg, png"):
        ppaurora.save_figures(report, tmp_path, formats=["gif"])  # type: ignore[list-item]
