"""The paper's evaluation run again: its settings, its figures, and what is measured beside them."""

from __future__ import annotations

import json
import re
from dataclasses import asdict
from pathlib import Path

import pytest
from click.testing import CliRunner

from benchmarks.__main__ import cli
from benchmarks.drawing import shows
from benchmarks.paper import experiments, figures
from benchmarks.paper.experiments import (
    Estimate,
    Experiment,
    Measured,
    all_experiments,
    quick_experiments,
)
from benchmarks.paper.printed import (
    DELTAS,
    METRICS,
    OWNERS,
    PRINTED,
    SAMPLES,
    SETTINGS,
    UNBALANCED,
    Setting,
)
from benchmarks.paper.tables import Measurements, cost_table, headline_table
from benchmarks.plain import pooled
from benchmarks.synthetic import synthetic_owners
from ppaurora.errors import InputError
from ppaurora.session import no_progress

ROOT = Path(__file__).resolve().parents[2]
EIGHT = OWNERS[-1]


def made_up(experiment: Experiment, seconds: float = 1.0) -> Measured:
    return Measured(
        **asdict(experiment.setting),
        metric=experiment.metric,
        network=experiment.network,
        protocol=experiment.protocol,
        seconds=seconds,
        plain_seconds=0.1,
        bytes=3_000_000,
        bytes_by_party=(1_000_000, 1_000_000, 1_000_000),
        rounds=100,
        peak_bytes=50_000_000,
        difference=0.0,
    )


def test_settings_are_the_papers() -> None:
    assert [setting.sizes for setting in SAMPLES] == [(n, n, n) for n in (64, 128, 256, 512, 1024)]
    assert [len(setting.sizes) for setting in OWNERS] == [2, 4, 8]
    assert {setting.sizes[0] for setting in OWNERS} == {1000}
    assert [setting.delta for setting in DELTAS] == [1, 3, 5, 11, 25, 51, 101]
    assert Setting((12, 18, 32, 58, 107, 258, 507, 1008)) in SETTINGS
    assert len(SETTINGS) == len(set(SETTINGS)) == 15


def test_printed_figures_add_up() -> None:
    """Typing errors in a table of 225 numbers would show: parties add up to the total."""
    assert len(PRINTED) == 45
    for printed in PRINTED.values():
        assert printed.proxy_0 + printed.proxy_1 + printed.helper == pytest.approx(printed.total, abs=0.011)


def test_every_setting_metric_network_and_protocol_is_measured() -> None:
    everything = all_experiments()
    assert len(everything) == len(set(everything)) == 15 * 3 * 2 + 9 * 3 * 2
    assert {e.protocol for e in everything} == {"paper", "fast"}
    assert set(quick_experiments()) < set(everything)
    assert Estimate().seconds(quick_experiments()) < 180 < 3600 < Estimate().seconds(everything)


def test_estimates_learn_from_a_slow_machine() -> None:
    estimate, experiment = Estimate(), all_experiments()[0]
    before = estimate.seconds([experiment])
    estimate.learn(experiment, 3 * before)
    assert estimate.seconds([experiment]) == pytest.approx(3 * before)


@pytest.mark.parametrize("protocol", ["paper", "fast"])
@pytest.mark.parametrize("metric", METRICS)
def test_a_measurement_is_checked_and_counted(protocol: str, metric: str) -> None:
    measured = experiments.measure(Experiment(Setting((20, 30)), metric, "LAN", protocol), no_progress)
    assert sum(measured.bytes_by_party) == measured.bytes > 0
    assert measured.rounds > 10
    assert measured.seconds > 0
    assert Measured.of_row(json.loads(json.dumps(asdict(measured)))) == measured


def test_data_without_ties_has_none() -> None:
    pooled(synthetic_owners(UNBALANCED, 1, ties=False), ["auroc_no_ties"])
    with pytest.raises(InputError, match="tied"):
        pooled(synthetic_owners(UNBALANCED, 1, ties=True), ["auroc_no_ties"])


def test_fast_stands_beside_every_delta() -> None:
    fast = made_up(Experiment(EIGHT, "auroc", "WAN", "fast"), seconds=2.0)
    measurements = Measurements([fast])
    assert measurements.get(DELTAS[-1], "auroc", "WAN", "fast") == fast
    assert measurements.get(DELTAS[-1], "auroc", "WAN", "paper") is None
    last = cost_table(measurements, "auroc").markdown().splitlines()[2 + SETTINGS.index(DELTAS[-1])]
    cells = [cell.strip() for cell in last.strip("|").split("|")]
    printed = PRINTED["auroc", DELTAS[-1]]
    assert cells[-2:] == [f"{printed.total / 3:.0f}", f"{printed.seconds / 2:.0f}"]


def test_the_headline_divides_what_it_says() -> None:
    runs = [
        made_up(Experiment(EIGHT, "aupr", "WAN", "fast"), seconds=2.0),
        made_up(Experiment(EIGHT, "aupr", "LAN", "fast"), seconds=0.5),
        made_up(Experiment(EIGHT, "aupr", "LAN", "paper"), seconds=100.0),
    ]
    line = headline_table(Measurements(runs)).markdown().splitlines()[-1]
    cells = [cell.strip() for cell in line.strip("|").split("|")]
    measured = ["7,607", "3.0", "3.0", "1,404", "", "2.00", "100.00", "0.50", "2,536", "702"]
    assert cells == ["AUPR", *measured]


def test_an_interrupted_run_goes_on_where_it_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    query: list[Experiment] = []

    def measure(experiment: Experiment, progress: object) -> Measured:
        query.append(experiment)
        if len(query) == 3:
            raise KeyboardInterrupt
        return made_up(experiment)

    monkeypatch.setattr("benchmarks.paper.command.measure", measure)
    options = ["paper", "--quick", "--only", "fast, LAN", "--out", str(tmp_path)]
    first = CliRunner().invoke(cli, options)
    assert first.exit_code != 0
    assert len(json.loads((tmp_path / "paper.json").read_text())["runs"][0]["measurements"]) == 2
    assert "27 runs, 0 measured before; about" in first.output
    second = CliRunner().invoke(cli, options)
    assert second.exit_code == 0, second.output
    assert "25 runs, 2 measured before" in second.output
    assert sorted(map(str, query)) == sorted([str(query[2]), *map(str, set(query))])
    assert (tmp_path / "paper.md").read_text() in second.output
    assert {path.name for path in tmp_path.glob("*.svg")} == {figure.file for figure in figures.FIGURES}


@pytest.mark.parametrize("only", ["(", "no such run"])
def test_a_choice_of_nothing_is_refused(only: str, tmp_path: Path) -> None:
    result = CliRunner().invoke(cli, ["paper", "--only", only, "--out", str(tmp_path / "out")])
    assert isinstance(result.exception, InputError)
    assert not (tmp_path / "out").exists()


def test_figures_know_what_they_show(tmp_path: Path) -> None:
    runs = Measurements(made_up(experiment) for experiment in all_experiments())
    path = figures.draw(figures.FIGURES[0], runs, tmp_path / "figure.svg")
    assert shows(path, figures.shown(figures.FIGURES[0], runs))
    slower = Measurements(made_up(experiment, 2.0) for experiment in all_experiments())
    assert not shows(path, figures.shown(figures.FIGURES[0], slower))
    first = path.read_bytes()
    assert figures.draw(figures.FIGURES[0], runs, path).read_bytes() == first


def test_the_committed_run_is_complete_and_reaches_its_goals() -> None:
    """`fast` below 1/100 of the paper's traffic and 1/500 of its time, at 8 x 1,000 and delta 1."""
    runs = json.loads((ROOT / "benchmarks/results/paper.json").read_text())["runs"]
    measured = [Measured.of_row(row) for run in runs for row in run["measurements"]]
    measurements = Measurements(measured)
    assert [e for e in all_experiments() if e not in measurements] == []
    for run in runs:
        assert re.fullmatch(r"[0-9a-f]{7,}", run["environment"]["commit"])
    for metric in METRICS:
        printed = PRINTED[metric, EIGHT]
        fast = measurements.get(EIGHT, metric, "WAN", "fast")
        assert fast is not None
        assert fast.bytes < printed.total * 1e6 / 100
        assert fast.seconds < printed.seconds / 500
