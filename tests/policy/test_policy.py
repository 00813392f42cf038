"""The release policy: digits that sizes allow, public rules, the strictest of all floors, and its words."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import permutations, product
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ppaurora.errors import InputError
from ppaurora.io.models import checked, from_json, to_builtins, to_json
from ppaurora.policy.rules import Counts, Floors, Policy, auto_digits

ANY_DIGITS: list[int | str] = ["auto", "exact", *range(1, 7)]
ANY_COUNTS = ["hidden", "rounded", "exact"]
SIZES = st.lists(st.integers(1, 60_000), min_size=2, max_size=6)


@pytest.mark.parametrize(
    ("others", "digits"),
    [
        (0, 0),
        (1, 0),
        (39, 0),
        (40, 1),
        (399, 1),
        (400, 2),
        (3_999, 2),
        (4_000, 3),
        (39_999, 3),
        (40_000, 4),
        (400_000, 4),
        (4_000_000_000, 4),
    ],
)
def test_digits_follow_from_the_samples_beside_the_largest_owner(others: int, digits: int) -> None:
    largest = max(others, 1)
    spread = [part for part in (others // 2, others - others // 2) if part]
    for sizes in ([largest, others] if others else [largest], [largest, *spread], [10 * largest, *spread]):
        assert auto_digits(sizes) == digits
        assert Policy(digits="auto").decimals(sizes) == digits
        assert auto_digits(list(reversed(sizes))) == digits


@given(SIZES)
def test_digits_are_the_most_of_which_a_step_has_four_samples(sizes: list[int]) -> None:
    others = sum(sizes) - max(sizes)
    assert auto_digits(sizes) == max((d for d in range(5) if d == 0 or 4 * 10**d <= others), default=0)


def test_of_two_equal_owners_one_is_the_largest() -> None:
    assert auto_digits([400, 400]) == 2
    assert auto_digits([400, 400, 3600]) == 2
    assert auto_digits([10**9]) == 0


@pytest.mark.parametrize("digits", range(1, 7))
def test_digits_that_are_a_number_are_that_number_whatever_the_sizes(digits: int) -> None:
    for sizes in ([1, 1], [10**6] * 3):
        assert Policy(digits=digits).decimals(sizes) == digits
        assert Policy(digits="exact").decimals(sizes) is None


# Public rules. Each case is just within and just beyond.

LENIENT: dict[str, Any] = {"minimum_owners": 2, "largest_owner_fraction": 1.0, "digits": 2}
PUBLIC: dict[str, tuple[dict[str, Any], Sequence[int], Sequence[int], str]] = {
    "owners": (
        {"minimum_owners": 4},
        [5, 5, 5, 5],
        [5, 5, 10],
        "the policy asks for at least 4 owners, there are 3",
    ),
    "samples": (
        {"minimum_samples": 1200},
        [400] * 3,
        [400, 400, 399],
        "there are fewer than 1,200 samples in all",
    ),
    "samples of an owner": (
        {"minimum_samples_per_owner": 1500},
        [1500, 9000],
        [1499, 9000],
        "an owner has fewer than 1,500 samples",
    ),
    "largest owner": (
        {"largest_owner_fraction": 0.85},
        [85, 10, 5],
        [86, 10, 4],
        "one owner has more than 0.85 of all samples",
    ),
    "digits": (
        {"digits": "auto"},
        [100, 20, 20],
        [100, 20, 19],
        "too few samples for even one decimal: without the largest owner 40 are needed, there are 39",
    ),
}


@pytest.mark.parametrize("name", PUBLIC)
def test_every_public_rule_holds_up_to_its_boundary(name: str) -> None:
    rule, within, beyond, says = PUBLIC[name]
    policy = checked(Policy, {**to_builtins(Policy.exact()), **LENIENT, **rule})
    for order in (within, list(reversed(within))):
        assert policy.problem_with(order) == ""
    for order in (beyond, list(reversed(beyond))):
        assert policy.problem_with(order) == says
    without = checked(Policy, {**to_builtins(policy), **{one: LENIENT.get(one, 2) for one in rule}})
    assert without.problem_with(beyond) == "", "another rule fails, too"


@pytest.mark.parametrize("name", PUBLIC)
def test_while_owners_are_awaited_only_what_cannot_become_right_is_a_problem(name: str) -> None:
    rule, _, beyond, says = PUBLIC[name]
    policy = checked(Policy, {**to_builtins(Policy.exact()), **LENIENT, **rule})
    assert policy.problem_with(beyond, awaited=1) == (says if name == "samples of an owner" else "")
    assert policy.problem_with([], awaited=3) == ""


@pytest.mark.parametrize("hundredths", range(1, 99))
def test_a_fraction_is_the_decimal_that_was_written(hundredths: int) -> None:
    """Of 100 samples one owner may have so many, whatever floats make of the fraction, and no more."""
    policy = checked(Policy, {**to_builtins(Policy.exact()), "largest_owner_fraction": hundredths / 100})
    for most, fits in ((hundredths, True), (hundredths + 1, False)):
        sizes = [most] + [1] * (100 - most)
        assert sum(sizes) == 100
        assert ("more than" not in policy.problem_with(sizes)) == fits


@given(SIZES, st.integers(1, 100))
def test_the_largest_fraction_by_its_definition(sizes: list[int], hundredths: int) -> None:
    policy = checked(Policy, {**to_builtins(Policy.exact()), "largest_owner_fraction": hundredths / 100})
    fits = Fraction(max(sizes), sum(sizes)) <= Fraction(hundredths, 100)
    assert (policy.problem_with(sizes) == "") == fits


# The strictest of all


def strictness(digits: int | str, sizes: Sequence[int]) -> float:
    """How many digits leave."""
    if digits == "exact":
        return 99
    return auto_digits(sizes) if digits == "auto" else int(digits)


@pytest.mark.parametrize("sizes", [[10, 40], [500, 500], [50_000] * 3], ids=str)
@pytest.mark.parametrize("one", ANY_DIGITS)
def test_the_fewest_digits_win(one: Any, sizes: list[int]) -> None:
    for other in ANY_DIGITS:
        joined = Policy(digits=one).strictest([Floors(digits=other)])  # type: ignore[arg-type]
        expected = min(strictness(one, sizes), strictness(other, sizes))
        assert joined.decimals(sizes) == (None if expected == 99 else expected)


@pytest.mark.parametrize(("one", "other"), list(product(ANY_COUNTS, repeat=2)))
def test_the_most_hidden_counts_win(one: Any, other: Any) -> None:
    hidden = min(one, other, key=ANY_COUNTS.index)
    assert Policy(counts=one).strictest([Floors(counts=other)]).counts == hidden


NUMBERS = {
    "minimum_owners": (3, 5),
    "largest_owner_fraction": (0.85, 0.6),
    "minimum_samples": (2, 900),
    "minimum_positives": (10, 25),
    "minimum_negatives": (10, 11),
    "minimum_per_cell": (10, 20),
}


@pytest.mark.parametrize("name", NUMBERS)
def test_the_stricter_number_wins_whoever_says_it(name: str) -> None:
    lenient, strict = NUMBERS[name]
    for mine, theirs in permutations((lenient, strict)):
        policy = checked(Policy, {name: mine})
        floors = checked(Floors, {name: theirs})
        expected = checked(Policy, {name: strict})
        assert policy.strictest([floors]) == expected
        assert policy.strictest([Floors(), floors, Floors()]) == expected


def test_every_rule_that_an_owner_may_set_is_one_of_the_policy() -> None:
    """But for the samples of every owner, which are no owner's business but its own. Digits that an owner
    allows are those that `auto` gives at most."""
    rules = set(Policy.__struct_fields__) - {"minimum_samples_per_owner", "most_digits"}
    assert set(Floors.__struct_fields__) == rules == {*NUMBERS, "digits", "counts"}


FLOORS = st.builds(
    Floors,
    minimum_owners=st.integers(0, 6),
    largest_owner_fraction=st.sampled_from([0.3, 0.5, 0.85, 1.0]),
    minimum_samples=st.integers(0, 500),
    minimum_positives=st.integers(0, 30),
    minimum_negatives=st.integers(0, 30),
    minimum_per_cell=st.integers(0, 30),
    digits=st.sampled_from(ANY_DIGITS),
    counts=st.sampled_from(ANY_COUNTS),
)


@given(st.lists(FLOORS, max_size=4), SIZES, st.randoms())
def test_the_order_of_owners_does_not_matter_and_nobody_makes_it_more_lenient(
    floors: list[Floors], sizes: list[int], random: Any
) -> None:
    policy = Policy(digits=3)
    joined = policy.strictest(floors)
    shuffled = random.sample(floors, len(floors))
    assert joined == policy.strictest(shuffled)
    for least in ("minimum_owners", "minimum_samples", "minimum_positives", "minimum_per_cell"):
        assert getattr(joined, least) == max(getattr(one, least) for one in (policy, *floors))
    assert joined.largest_owner_fraction <= policy.largest_owner_fraction
    given = [3, *(one.digits for one in floors)]
    left = joined.decimals(sizes)
    assert left is not None
    assert left <= min(strictness(digits, sizes) for digits in given)
    assert (joined.digits == "auto") == ("auto" in given), "what looks at secrets is not given up"
    assert joined.strictest(floors) == joined


def test_floors_that_demand_nothing_change_nothing() -> None:
    for policy in (Policy(), Policy.exact(), Policy(digits=2, counts="rounded")):
        assert policy.strictest([Floors()] * 3) == policy
        assert policy.strictest([]) == policy


# As people and files have it


def test_the_defaults_are_strict_and_none_lets_everything_out() -> None:
    assert (Policy().minimum_owners, Policy().largest_owner_fraction) == (3, 0.5)
    assert (Policy().minimum_positives, Policy().minimum_negatives, Policy().minimum_per_cell) == (10,) * 3
    assert (Policy().digits, Policy().counts) == ("auto", "hidden")
    assert Policy().has_floors
    none = Policy.exact()
    assert not none.has_floors
    assert (none.digits, none.counts, none.minimum_per_cell) == ("exact", "exact", 1)
    assert none.problem_with([1, 1]) == ""
    assert Policy(minimum_positives=0, minimum_negatives=1).has_floors


@pytest.mark.parametrize("kind", [Policy, Floors])
@pytest.mark.parametrize(
    ("rule", "value"),
    [
        ("digits", 0),
        ("digits", 10),
        ("digits", "all"),
        ("digits", None),
        ("digits", 2.0),
        ("digits", True),
        ("counts", "shown"),
        ("counts", None),
        ("largest_owner_fraction", 0),
        ("largest_owner_fraction", 1.01),
        ("minimum_owners", -1),
        ("minimum_positives", -1),
        ("minimum_negatives", 2.5),
        ("minimum_per_cell", -3),
        ("minimum_samples", "many"),
        ("minimum", 1),
    ],
)
def test_what_is_no_rule_is_refused(kind: type[Policy], rule: str, value: Any) -> None:
    with pytest.raises(InputError, match=rf"^here: {rule}: "):
        checked(kind, {rule: value}, "here")


@pytest.mark.parametrize(
    ("rule", "value"), [("minimum_owners", 1), ("minimum_per_cell", 0), ("minimum_samples_per_owner", 0)]
)
def test_a_policy_has_least_floors_of_its_own(rule: str, value: int) -> None:
    with pytest.raises(InputError, match=rf"^policy: {rule}: "):
        checked(Policy, {rule: value}, "policy")


@given(st.builds(Policy, digits=st.sampled_from(ANY_DIGITS), counts=st.sampled_from(ANY_COUNTS)))
def test_a_policy_survives_its_json(policy: Policy) -> None:
    assert from_json(Policy, to_json(policy)) == policy


def described(policy: Policy) -> dict[str, str]:
    return dict(policy.described())


def test_what_is_described_names_every_rule() -> None:
    policy = Policy(
        minimum_owners=4,
        largest_owner_fraction=0.6,
        minimum_samples=1234,
        minimum_samples_per_owner=17,
        minimum_positives=21,
        minimum_negatives=22,
        minimum_per_cell=23,
        digits=3,
        counts="rounded",
    )
    assert described(policy) == {
        "owners": "at least 4, none with more than 0.6 of all samples",
        "samples": "at least 1,234 in all and 17 of every owner",
        "positives, negatives": "at least 21 and 22, in all and without any one owner",
        "cells of tables": "at least 23 samples, likewise",
        "digits": "3",
        "class counts": "rounded, to multiples of 5",
    }
    nothing = described(Policy.exact())
    assert nothing["owners"] == "at least 2, each with any fraction of all samples"
    assert nothing["cells of tables"] == "at least 1 sample, likewise"


@pytest.mark.parametrize("rule", Policy.__struct_fields__)
def test_policies_that_differ_are_described_differently(rule: str) -> None:
    base = Policy()
    others: dict[str, Any] = {
        "largest_owner_fraction": 0.84,
        "digits": "exact",
        "most_digits": 3,
        "counts": "exact",
    }
    changed = checked(Policy, {rule: others.get(rule, 77)})
    assert changed != base
    assert changed.described() != base.described()


def test_exact_digits_are_described_as_what_they_are() -> None:
    assert "full precision, which can tell class counts and labels" in described(Policy.exact())["digits"]
    assert described(Policy())["digits"].startswith("auto: ")
    assert {described(Policy(counts=one))["class counts"] for one in get_args(get_args(Counts)[0])} == {
        "hidden",
        "rounded, to multiples of 5",
        "exact: released as they are",
    }
