"""Keys are as wide as the data needs, or as asked for."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

import ppaurora
from ppaurora import DataError, InputError
from tests.support.evaluations import ALL_METRICS, GOOD, check_values, random_owners

WIDE = 0.1  # not a float32
NARROW = float(np.float32(WIDE))


@pytest.mark.parametrize(
    ("scores", "key_bits", "got"),
    [
        (([0.5, NARROW], [-1e30, 3.0]), None, 64),
        (([0.5, NARROW], [-(2.0**100), 3.0]), None, 32),
        (([0.5, NARROW], [-(2.0**100), 3.0]), 32, 32),
        (([0.5, NARROW], [-(2.0**100), 3.0]), np.int64(64), 64),
        (([0.5, WIDE], [0.25, NARROW]), None, 64),
        (([0.5, NARROW], [0.25, WIDE]), None, 64),
        (([0.5, NARROW], [0.25, WIDE]), 64, 64),
    ],
)
def test_keys_are_as_wide_as_the_data_needs_or_as_asked_for(
    scores: tuple[list[float], list[float]], key_bits: Any, got: int
) -> None:
    owners = [([0, 1], scores[0]), ([1, 0], scores[1])]
    report = ppaurora.evaluate(owners, metrics=ALL_METRICS, key_bits=key_bits)
    check_values(report, owners)
    assert json.loads(report.to_json())["parameters"] == report.parameters == {"key_bits": got}


def test_narrow_keys_give_the_same_values_for_less() -> None:
    owners = random_owners(5, (30, 70), 64)
    narrow, wide = (ppaurora.evaluate(owners, metrics=ALL_METRICS, key_bits=bits) for bits in (32, 64))
    assert narrow.metrics == wide.metrics
    check_values(narrow, owners)
    assert narrow.cost.bytes < wide.cost.bytes


def test_data_that_would_not_be_exact_is_refused() -> None:
    owners = [([0, 1], [0.5, NARROW]), ([0, 1, 0], [0.5, NARROW, WIDE])]
    with pytest.raises(DataError, match="owner 2, row 3, column 'y_score': the score is not a float32"):
        ppaurora.evaluate(owners, key_bits=32)


def test_paper_has_one_width() -> None:
    report = ppaurora.evaluate([GOOD, GOOD], metrics=["auroc"], protocol="paper")
    assert (report.auroc, report.parameters) == (1.0, {"delta": 1})
    widths: tuple[Any, ...] = (None, 32, 64)
    for key_bits in widths:
        with pytest.raises(InputError, match=r"^key_bits applies to the protocol 'fast' only; leave it out$"):
            ppaurora.evaluate([GOOD, GOOD], protocol="paper", key_bits=key_bits)
