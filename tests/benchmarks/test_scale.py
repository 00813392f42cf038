"""The measurements: honest about results, patient with networks, clear about bad options."""

from __future__ import annotations

import json
import time
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from benchmarks import scale
from benchmarks.__main__ import cli
from benchmarks.plain import WrongResultError
from ppaurora.channel import Channel, memory_transports
from ppaurora.channel.shaped import Network, ShapedTransport
from ppaurora.errors import InputError
from ppaurora.local.threads import run_in_threads
from ppaurora.session import no_progress
from ppaurora.suites.role import Role


def ping_pong(shape: Network, payload: int, turns: int) -> float:
    """Seconds that proxy 0 and proxy 1 take to throw a payload to and fro."""
    transports = [ShapedTransport(transport, shape) for transport in memory_transports(Role, timeout=10)]

    def party(role: Role) -> float:
        channel = Channel(transports[role])
        start = time.monotonic()
        if role is not Role.HELPER:
            for turn in range(2 * turns):
                if turn % 2 == role:
                    channel.send(role.other_proxy, bytes(payload))
                else:
                    assert bytes(channel.receive(role.other_proxy, payload)) == bytes(payload)
        return time.monotonic() - start

    return max(run_in_threads(party, transports))


def test_latency_is_paid_once_per_message() -> None:
    """Ten round trips of 20 ms cannot take less; a loaded machine may take longer."""
    assert ping_pong(Network(0.020), payload=10, turns=10) >= 0.2


def test_bandwidth_is_paid_per_byte() -> None:
    """Four messages of 100 kB at 8 Mbit/s take 0.1 s each."""
    assert ping_pong(Network(0.0, 8e6), payload=100_000, turns=2) >= 0.4


def test_what_was_sent_early_is_not_delayed_again() -> None:
    """Twenty frames on their way at once arrive after one delay, not twenty."""
    transports = [
        ShapedTransport(transport, Network(0.2)) for transport in memory_transports(Role, timeout=10)
    ]

    def party(role: Role) -> float:
        channel = Channel(transports[role])
        start = time.monotonic()
        if role is Role.HELPER:
            for _ in range(20):
                channel.send(Role.PROXY_1, b"dealt")
        elif role is Role.PROXY_1:
            for _ in range(20):
                channel.receive(Role.HELPER, 5)
        return time.monotonic() - start

    took = run_in_threads(party, transports)[Role.PROXY_1]
    assert 0.1 <= took < 20 * 0.1


def test_the_meter_does_not_see_the_shaping() -> None:
    setting = scale.Setting(60, 3, "memory")
    plain = scale.measure(setting, None, no_progress)
    shaped = scale.measure(setting, Network(0.0005, 1e9), no_progress)
    assert (plain.bytes, plain.rounds) == (shaped.bytes, shaped.rounds)
    assert shaped.seconds >= plain.rounds * 0.00025


@pytest.mark.parametrize("text", ["10", "ms", "-3ms", "10 parsecs", "0ms"])
def test_a_bad_round_trip_time_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="round-trip"):
        Network.parse(text, None)


def test_shapes_are_parsed() -> None:
    assert Network.parse("10ms", "100mbit") == Network(0.01, 100e6)
    assert Network.parse(None, "1.5gbit") == Network(0.0, 1.5e9)
    assert Network.parse(None, None) is None


def test_a_wrong_result_stops_the_measurement(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = scale.pooled
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
