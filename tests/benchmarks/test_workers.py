"""What is said of several workers follows from what was measured."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import pytest

from benchmarks.scale import LOCAL, RAY, Measurement
from benchmarks.workers import WorkerModel, saved_tables


def row(
    workers: int, cpu_seconds: float, peak: int, engine: str = LOCAL, seconds: float = 10.0
) -> Measurement:
    return Measurement(
        samples=1000,
        owners=8,
        transport="tls",
        key_bits=64,
        network="loopback",
        seconds=seconds,
        plain_seconds=1.0,
        bytes=9_000_000_000,
        bytes_by_party={"proxy 0": 4_000_000_000, "proxy 1": 3_000_000_000, "helper": 2_000_000_000},
        bytes_by_step={},
        rounds=300,
        rounds_by_step={},
        peak_bytes={"proxy 0": peak},
        difference=0.0,
        workers=workers,
        engine=engine,
        inside_bytes=0,
        cpu_seconds=cpu_seconds,
    )


MEASURED = [row(1, 30.0, 900_000_000), row(2, 33.0, 500_000_000), row(4, 36.0, 300_000_000, seconds=8.0)]


def test_the_model_gives_back_what_was_measured_and_goes_on_from_there() -> None:
    model = WorkerModel.of(MEASURED)
    for one in MEASURED:
        assert model.computing(one.workers) == pytest.approx(one.cpu_seconds / 3 / one.workers)
        assert model.memory.at(1 / one.workers) == pytest.approx(one.peak_bytes["proxy 0"])
    assert model.computing(16) == pytest.approx((30 + 4 * 3) / 3 / 16)
    assert model.memory.at(1 / 64) == pytest.approx(1e8 + 8e8 / 64)
    assert model.on_the_wire(4) == pytest.approx(8 * 6e9 / 4 / 1e9)
    assert model.waiting() == pytest.approx(3.0)


def cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip("|").split("|")]


def test_several_workers_are_set_beside_one_of_the_same_size_and_the_latest_counts() -> None:
    rows: list[dict[str, Any]] = [asdict(row(4, 99.0, 1)), *map(asdict, MEASURED)]
    rows.append(asdict(row(2, 0.0, 600_000_000, RAY)))
    measured, projected = (table.splitlines()[2:] for table in saved_tables(rows).split("\n\n"))
    assert [cells(line)[1:7] for line in measured] == [
        ["1", "", "10.0", "1.00", "30.0", "1.00"],
        ["2", "local", "10.0", "1.00", "33.0", "1.10"],
        ["4", "local", "8.0", "0.80", "36.0", "1.20"],
        ["2", "ray", "10.0", "1.00", "", ""],
    ]
    assert [cells(line)[0] for line in projected] == [f"{number}, projected" for number in (1, 4, 16, 64)]
    assert [cells(line)[1] for line in projected] == ["900", "300", "150", "112"]
