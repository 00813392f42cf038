"""Groups of positive numbers, and sums with squares, under every suite."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from ppaurora.errors import MisuseError
from ppaurora.protocols import Paper
from ppaurora.sharing.spans import spans
from ppaurora.suites.base import Suite
from ppaurora.testing import World
from tests.support.bitsliced import masked, word_array
from tests.support.wide import in_the_clear

Runs = Callable[..., NDArray[Any]]

SUITES: dict[str, Runs] = {
    "bitsliced": lambda algorithm, *inputs: masked(algorithm, *inputs).value,
    "cecilia": lambda algorithm, *inputs: World(Paper()).run(algorithm, *inputs).value,
    "cleartext": in_the_clear,
}
each_suite = pytest.mark.parametrize("run", SUITES.values(), ids=SUITES)

EDGES = [0, 1, -1, 2, 2**62 - 1, 1 - 2**62]
lengths = st.lists(st.integers(0, 130), max_size=5)


def positive_groups(values: Sequence[int], groups: Sequence[Sequence[int]]) -> list[int]:
    return [int(all(values[position] > 0 for position in group)) for group in groups]


@each_suite
@settings(max_examples=12, deadline=None)
@given(data=st.data(), values=st.lists(st.sampled_from(EDGES) | st.integers(1, 9), min_size=1, max_size=80))
def test_all_positive_in_groups(run: Runs, data: st.DataObject, values: list[int]) -> None:
    """Positions may be in several groups, or several times in one; groups may be empty."""
    position = st.integers(0, len(values) - 1)
    groups = data.draw(st.lists(st.lists(position, max_size=9), max_size=70))
    x = word_array([value % 2**64 for value in values])
    found = run(lambda s, a: s.all_positive(a, groups), x)
    assert found.tolist() == positive_groups(values, groups)


@each_suite
def test_every_single_number_decides_its_group(run: Runs) -> None:
    for size in (1, 2, 3, 4, 5, 16, 17, 64, 65):
        values = [[int(place != zero) for place in range(size)] for zero in range(-1, size)]
        groups = [list(range(place, place + size)) for place in range(0, size * (size + 1), size)]
        x = word_array([value for row in values for value in row])
        found = run(lambda s, a, g=groups: s.all_positive(a, g), x)
        assert found.tolist() == [1] + [0] * size


@each_suite
@pytest.mark.parametrize("groups", [[], [[]], [[], []]], ids=str)
def test_groups_without_members_are_positive(run: Runs, groups: list[list[int]]) -> None:
    found = run(lambda s, a: s.all_positive(a, groups), word_array([0, 5]))
    assert found.tolist() == [1] * len(groups)


@each_suite
@pytest.mark.parametrize("position", [-1, 2])
def test_a_position_that_there_is_not_is_refused(run: Runs, position: int) -> None:
    def algorithm(s: Suite, x: Any) -> Any:
        with pytest.raises(MisuseError, match="not one of 2"):
            s.all_positive(x, [[0, position]])
        return x

    run(algorithm, word_array([1, 1]))


@each_suite
@settings(max_examples=12, deadline=None)
@given(lengths=lengths, seed=st.integers(0, 2**32))
def test_sums_of_products_with_squares(run: Runs, lengths: list[int], seed: int) -> None:
    random = np.random.default_rng(seed)
    x, y = random.integers(0, 1 << 64, (2, 700), dtype=np.uint64)
    x[:4], y[:4] = [0, 1, 2**63, 2**64 - 1], [2**64 - 1, 2**32, 2**63, 2**64 - 1]

    def algorithm(s: Suite, a: Any, b: Any) -> Any:
        return s.begin_dot_squares((a[place], b[place]) for place in spans(lengths))()

    used = slice(0, sum(lengths))
    total = sum(a * b * b for a, b in zip(x[used].tolist(), y[used].tolist(), strict=True))
    assert run(algorithm, x, y).tolist() == [total % 2**64]


@each_suite
def test_sums_that_are_begun_together_are_finished_in_order(run: Runs) -> None:
    x, y = word_array([3, 5, 7]), word_array([2, 4, 6])

    def algorithm(s: Suite, a: Any, b: Any) -> list[Any]:
        begun = [s.begin_dot([(a, b)]), s.begin_dot_squares([(a, b)]), s.begin_dot_squares([(b, a), (a, a)])]
        return [finish() for finish in begun]

    assert [part.tolist() for part in run(algorithm, x, y)] == [[68], [344], [412 + 495]]
