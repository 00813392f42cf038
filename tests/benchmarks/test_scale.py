"""Cost against samples and owners: honest about results, clear about bad options."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from benchmarks import plain, scale
from benchmarks.__main__ import cli
from benchmarks.plain import WrongResultError
from ppaurora.channel.shaped import Network
from ppaurora.errors import InputError
from ppaurora.session import no_progress


def test_the_meter_does_not_see_the_shaping() -> None:
    setting = scale.Setting(60, 3, "memory")
    plain = scale.measure(setting, None, no_progress)
    shaped = scale.measure(setting, Network(0.0005, 1e9), no_progress)
    assert (plain.bytes, plain.rounds) == (shaped.bytes, shaped.rounds)
    assert shaped.seconds >= plain.rounds * 0.00025


def test_a_wrong_result_stops_the_measurement(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = plain.pooled
    monkeypatch.setattr(
        scale,
        "pooled",
        lambda owners, metrics: ({name: v + 2e-9 for name, v in honest(owners, metrics)[0].items()}, 1.0),
    )
    with pytest.raises(WrongResultError, match="differs"):
        scale.measure(scale.Setting(60, 3, "memory"), None, no_progress)


def test_data_has_ties_and_both_widths() -> None:
    for key_bits in (32, 64):
        owners = scale.make_owners(scale.Setting(4000, 4, "memory", key_bits))
        scores = np.concatenate([scores for _, scores in owners])
        assert [len(labels) for labels, _ in owners] == [1000] * 4
        assert len(np.unique(scores)) < len(scores)
        assert (scores.astype(np.float32) == scores).all() == (key_bits == 32)


def test_scale_prints_and_saves(tmp_path: Path) -> None:
    out = tmp_path / "new"
    options = [
        "scale",
        "--sizes",
        "60",
        "--owners",
        "2,3",
        "--transports",
        "memory",
        "--out",
        str(out),
    ]
    first = CliRunner().invoke(cli, options)
    assert first.exit_code == 0, first.output
    assert "memory" in first.output
    again = CliRunner().invoke(cli, options)
    assert again.exit_code == 0
    runs = json.loads((out / "scale.json").read_text())["runs"]
    assert [[row["owners"] for row in run["measurements"]] for run in runs] == [[2, 3], [2, 3]]
    assert all(run["environment"]["cores"] >= 1 for run in runs)


def test_a_file_that_holds_something_else_is_not_overwritten(tmp_path: Path) -> None:
    precious = tmp_path / "scale.json"
    precious.write_text("{}")
    result = CliRunner().invoke(cli, ["scale", "--sizes", "60", "--out", str(tmp_path)])
    assert isinstance(result.exception, InputError)
    assert precious.read_text() == "{}"


@pytest.mark.parametrize(
    "options",
    [["--sizes", "many"], ["--sizes", "1"], ["--owners", ""], ["--transports", "pigeon"], ["--rtt", "soon"]],
)
def test_bad_options_are_refused(options: list[str]) -> None:
    result = CliRunner().invoke(cli, ["scale", *options])
    assert isinstance(result.exception, InputError)
