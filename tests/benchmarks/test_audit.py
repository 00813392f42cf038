"""The audit of private releases: what is built holds, and releases that tell more are caught."""

from __future__ import annotations

import pytest

from benchmarks import audit as audits
from benchmarks.audit import DEFECTS, STUDIES, Audit, at_least, at_most, audit, table

DRAWS = 2_000


@pytest.mark.parametrize("study", ["AUROC", "thresholds"])
def test_what_is_built_holds_and_the_attack_is_a_good_one(study: str) -> None:
    """The bound is five standard deviations away from either end, if the mechanism holds."""
    found = audit("as built", study, 2.0, DRAWS)
    assert 0.7 * found.epsilon < found.at_least < found.epsilon + 0.2
    assert 0.5 < found.right < found.most_right


@pytest.mark.parametrize("name", DEFECTS)
def test_a_release_that_tells_more_is_caught(name: str) -> None:
    found = audit(name, "AUROC", 2.0, DRAWS, DEFECTS[name])
    assert found.at_least > 1.25 * found.epsilon
    assert not found.holds


@pytest.mark.long
@pytest.mark.parametrize("study", STUDIES)
def test_every_mechanism_holds(study: str) -> None:
    assert audit("as built", study, 1.0, audits.DRAWS).at_least < 1.05


def test_bounds_of_a_probability() -> None:
    """By the definition: 8 of 20, Clopper and Pearson 1934."""
    assert at_least(8, 20) == pytest.approx(0.1912, abs=5e-5)
    assert at_most(8, 20) == pytest.approx(0.6395, abs=5e-5)
    assert (at_least(0, 20), at_most(20, 20)) == (0, 1)
    assert at_most(0, 20) == pytest.approx(1 - 0.025 ** (1 / 20))


def test_a_row() -> None:
    rows = table([Audit("as built", "AUROC", 2.0, 100, 1.234, 0.7, 0.8808)]).text().splitlines()
    assert rows[-1].split() == ["as", "built", "AUROC", "2", "1.23", "70.0", "88.1"]
