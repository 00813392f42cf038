"""How cost grows: known growth is found again."""

from __future__ import annotations

import pytest

from benchmarks.growth import Line, Projection, exponent
from benchmarks.scale import Measurement


def test_exponents_of_known_growth() -> None:
    assert exponent((n, 7 * n**2) for n in (10, 100, 1000)) == pytest.approx(2)
    assert Line.through([(1, 5), (2, 7), (3, 9)]).at(10) == pytest.approx(23)


def test_a_projection_of_n_log_n_is_exact() -> None:
    def measurement(bits: int) -> Measurement:
        n = 1 << bits
        sent = {"proxy 0": 10 * n, "proxy 1": 10 * n, "helper": 10 * n * (bits - 2)}
        return Measurement(
            n,
            8,
            "tls",
            64,
            "loopback",
            1e-6 * sum(sent.values()),
            1.0,
            sum(sent.values()),
            sent,
            {},
            1,
            {},
            {"helper": 500 * n},
            0.0,
        )

    projection = Projection.of([measurement(bits) for bits in (14, 17, 20, 23)], 1 << 27)
    expected = measurement(27)
    assert projection.bytes == pytest.approx(expected.bytes)
    assert projection.busiest_bytes == pytest.approx(expected.bytes - expected.bytes_by_party["proxy 1"])
    assert projection.computing_seconds == pytest.approx(expected.seconds)
    assert projection.peak_bytes == pytest.approx(500 * expected.samples)
