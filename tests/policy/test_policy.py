"""The release policy: kinds and their rules, public rules, the strictest of all floors, and its words."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from itertools import permutations, product
from typing import Any, get_args

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ppaurora.errors import InputError
from ppaurora.io.models import checked, from_json, to_builtins, to_json
from ppaurora.policy.rules import KINDS, MOST_EPSILON, Counts, Floors, Kind, Policy, Weights, guesses

ANY_DIGITS: list[int | str] = ["exact", *range(1, 7)]
ANY_COUNTS = ["hidden", "rounded", "exact"]
SIZES = st.lists(st.integers(1, 60_000), min_size=2, max_size=6)


# Kinds. Every rule of a kind is written down here once more, with a stricter one and a looser one.

NOTHING: dict[str, Any] = {
    "minimum_owners": 2,
    "largest_owner_fraction": 1.0,
    "minimum_samples": 2,
    "minimum_samples_per_owner": 1,
    "minimum_positives": 0,
    "minimum_negatives": 0,
    "minimum_per_cell": 1,
    "whole_tables": False,
    "digits": "exact",
    "counts": "exact",
    "epsilon": None,
    "rows_per_person": 1,
    "weights": {"auroc": 1.0, "table": 1.0, "sums": 1.0},
}
PUBLICATION = NOTHING | {
    "minimum_owners": 3,
    "largest_owner_fraction": 0.5,
    "minimum_samples_per_owner": 20,
    "minimum_positives": 10,
    "minimum_negatives": 10,
    "minimum_per_cell": 10,
    "digits": 3,
    "counts": "rounded",
}
RULES: dict[Kind, dict[str, Any]] = {
    "publication": PUBLICATION,
    "private": NOTHING | {"epsilon": 2.0},
    "exact": NOTHING,
}
STRICTER: dict[str, Any] = {
    "minimum_owners": 4,
    "largest_owner_fraction": 0.4,
    "minimum_samples": 1200,
    "minimum_samples_per_owner": 21,
    "minimum_positives": 11,
    "minimum_negatives": 11,
    "minimum_per_cell": 11,
    "whole_tables": True,
    "digits": 2,
    "counts": "hidden",
}
LOOSER: dict[str, Any] = {
    "minimum_owners": 2,
    "largest_owner_fraction": 0.51,
    "minimum_samples_per_owner": 19,
    "minimum_positives": 9,
    "minimum_negatives": 0,
    "minimum_per_cell": 9,
    "digits": 4,
    "counts": "exact",
}
ON_SECRETS = (
    "minimum_positives",
    "minimum_negatives",
    "minimum_per_cell",
    "whole_tables",
    "digits",
    "counts",
)


@pytest.mark.parametrize("kind", KINDS)
def test_a_kind_brings_its_rules(kind: Kind) -> None:
    for policy in (Policy(kind=kind), checked(Policy, {"kind": kind}), getattr(Policy, kind)()):
        assert to_builtins(policy) == {"kind": kind} | RULES[kind]
    assert Policy(kind=kind).given() == ({"kind": kind})


def test_what_is_left_out_is_publication() -> None:
    assert Policy() == Policy.publication() == checked(Policy, {})
    assert Policy().kind == "publication"
    assert set(PUBLICATION) | {"kind"} == set(Policy.__struct_fields__)


def test_the_former_name_of_exact_is_deprecated() -> None:
    with pytest.warns(DeprecationWarning, match=r"^Policy.none\(\) is Policy.exact\(\) now$"):
        assert Policy.none() == Policy.exact()


@pytest.mark.parametrize("rule", STRICTER)
def test_a_rule_may_be_stricter_than_its_kinds(rule: str) -> None:
    for kind in ("publication", "exact"):
        policy = checked(Policy, {"kind": kind, rule: STRICTER[rule]})
        assert to_builtins(policy) == {"kind": kind} | RULES[kind] | {rule: STRICTER[rule]}
        assert policy.given() == {"kind": kind, rule: STRICTER[rule]}
        assert checked(Policy, policy.given()) == policy


@pytest.mark.parametrize("rule", LOOSER)
def test_a_rule_may_not_be_looser_than_its_kinds(rule: str) -> None:
    """Whoever wants that begins with "exact", and adds the rest: the control."""
    says = (
        rf"{rule}: kind = 'publication' has {PUBLICATION[rule]!r}, and a plan may only be stricter; .*'exact'"
    )
    with pytest.raises(InputError, match=rf"^{says}"):
        Policy(**{rule: LOOSER[rule]})
    with pytest.raises(InputError, match=rf"^study.toml: {says}"):
        checked(Policy, {rule: LOOSER[rule]}, "study.toml")
    assert getattr(Policy.exact(**{rule: LOOSER[rule]}), rule) == LOOSER[rule]


def test_every_rule_of_publication_has_a_looser_one_but_those_that_it_does_not_have() -> None:
    assert set(LOOSER) == {rule for rule in NOTHING if PUBLICATION[rule] != NOTHING[rule]}
    assert set(STRICTER) == set(NOTHING) - {"epsilon", "rows_per_person", "weights"}


@pytest.mark.parametrize("rule", ON_SECRETS)
def test_a_private_study_has_no_rules_on_secrets(rule: str) -> None:
    says = rf"^{rule}: kind = 'private' withholds and rounds nothing, as that would tell of secrets"
    with pytest.raises(InputError, match=says):
        Policy.private(**{rule: STRICTER[rule]})
    assert Policy.private(**{rule: NOTHING[rule]}) == Policy.private()
    assert not Policy.private().has_floors


@pytest.mark.parametrize("rule", sorted(set(STRICTER) - set(ON_SECRETS)))
def test_a_private_study_may_have_any_public_rule(rule: str) -> None:
    assert getattr(Policy.private(**{rule: STRICTER[rule]}), rule) == STRICTER[rule]


@pytest.mark.parametrize("kind", ["publication", "private", "exact"])
def test_any_kind_may_say_how_many_rows_a_person_has(kind: str) -> None:
    policy = checked(Policy, {"kind": kind, "rows_per_person": 3})
    assert policy.given() == {"kind": kind, "rows_per_person": 3}
    assert "at most 3" in str(policy.described())


@pytest.mark.parametrize("rules", [{"epsilon": 1.0}, {"weights": {"auroc": 2.0}}], ids=str)
def test_rules_of_noise_are_those_of_private(rules: dict[str, Any]) -> None:
    assert checked(Policy, {"kind": "private", **rules}).given() == {"kind": "private"} | {
        name: {**RULES["private"][name], **value} if isinstance(value, dict) else value
        for name, value in rules.items()
    }
    for kind in ("publication", "exact"):
        with pytest.raises(InputError, match=r"are rules of kind = 'private'$"):
            checked(Policy, {"kind": kind, **rules})


def test_what_a_study_spends() -> None:
    assert Policy.private(epsilon=1.5).spent == 1.5
    assert Policy.exact().spent == Policy().spent == math.inf


@pytest.mark.parametrize(
    ("rule", "value"),
    [
        ("kind", "public"),
        ("kind", None),
        ("digits", 0),
        ("digits", 10),
        ("digits", "all"),
        ("digits", 2.0),
        ("digits", True),
        ("counts", "shown"),
        ("largest_owner_fraction", 0),
        ("largest_owner_fraction", 1.01),
        ("largest_owner_fraction", math.nan),
        ("minimum_owners", 1),
        ("minimum_owners", -1),
        ("minimum_positives", -1),
        ("minimum_negatives", 2.5),
        ("minimum_per_cell", 0),
        ("minimum_per_cell", -3),
        ("minimum_samples", "many"),
        ("minimum_samples_per_owner", 0),
        ("whole_tables", 1),
        ("epsilon", 0.0),
        ("epsilon", math.nan),
        ("epsilon", MOST_EPSILON + 1),
        ("rows_per_person", 0),
        ("weights", {"auroc": 0.0}),
        ("weights", {"ap": 1.0}),
    ],
)
def test_what_is_no_rule_is_refused_in_python_as_in_a_plan(rule: str, value: Any) -> None:
    for kind in KINDS:
        with pytest.raises(InputError, match=rf"^{rule}(: |\.)") as caught:
            Policy(**{"kind": kind, rule: value})
        assert "may only be stricter" not in str(caught.value)
        with pytest.raises(InputError, match=rf"^here: {rule}(: |\.)"):
            checked(Policy, {"kind": kind, rule: value}, "here")


@pytest.mark.parametrize(
    ("rule", "value"),
    [
        ("digits", 0),
        ("digits", "auto"),
        ("digits", None),
        ("counts", None),
        ("largest_owner_fraction", 1.01),
        ("minimum_owners", -1),
        ("minimum_negatives", 2.5),
        ("minimum_per_cell", -3),
        ("minimum_samples", "many"),
        ("epsilon", -1.0),
        ("minimum", 1),
        ("whole_tables", True),
    ],
)
def test_what_is_no_floor_is_refused(rule: str, value: Any) -> None:
    with pytest.raises(InputError, match=rf"^here: {rule}: "):
        checked(Floors, {rule: value}, "here")


# Public rules. Each case is just within and just beyond.

LENIENT: dict[str, Any] = {"minimum_owners": 2, "largest_owner_fraction": 1.0}
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
        "there are fewer than 1,200 samples in all: 1,199",
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
        "one owner has more than 0.85 of all samples: 86 of 100",
    ),
}


@pytest.mark.parametrize("kind", ["exact", "private"])
@pytest.mark.parametrize("name", PUBLIC)
def test_every_public_rule_holds_up_to_its_boundary(name: str, kind: Kind) -> None:
    rule, within, beyond, says = PUBLIC[name]
    policy = Policy(kind=kind, **rule)
    for order in (within, list(reversed(within))):
        assert policy.problem_with(order) == ""
    for order in (beyond, list(reversed(beyond))):
        assert policy.problem_with(order) == says
    without = msgspec.structs.replace(policy, **{one: LENIENT.get(one, 2) for one in rule})
    assert without.problem_with(beyond) == "", "another rule fails, too"


def test_publication_wants_twenty_samples_of_every_owner_and_three_owners() -> None:
    assert Policy().problem_with([20] * 3) == ""
    assert Policy().problem_with([20, 20, 19]) == "an owner has fewer than 20 samples"
    assert "at least 3 owners" in Policy().problem_with([20] * 2)
    assert Policy().problem_with([40, 20, 20]) == ""
    assert "more than 0.5" in Policy().problem_with([41, 20, 20])


@pytest.mark.parametrize("name", PUBLIC)
def test_while_owners_are_awaited_only_what_cannot_become_right_is_a_problem(name: str) -> None:
    rule, _, beyond, says = PUBLIC[name]
    policy = Policy.exact(**rule)
    assert policy.problem_with(beyond, awaited=1) == (says if name == "samples of an owner" else "")
    assert policy.problem_with([], awaited=4) == ""


@pytest.mark.parametrize(
    ("rule", "sizes", "awaited", "most", "says"),
    [
        ({"minimum_owners": 4}, [5, 5], 1, 10, "the policy asks for at least 4 owners, there are 3"),
        (
            {"minimum_samples": 31},
            [10],
            2,
            10,
            "there can be no 31 samples in all, with at most 10 of every owner",
        ),
        ({"largest_owner_fraction": 0.5}, [31, 10], 2, 10, "one owner has more than 0.5 of all samples"),
        (
            {"largest_owner_fraction": 0.3},
            [5],
            2,
            1000,
            "one of 3 owners always has more than 0.3 of all samples",
        ),
    ],
    ids=["owners", "samples", "largest owner", "fraction"],
)
def test_what_no_awaited_owner_can_mend_is_a_problem_at_once(
    rule: dict[str, Any], sizes: list[int], awaited: int, most: int, says: str
) -> None:
    policy = Policy.exact(**rule)
    assert policy.problem_with(sizes, awaited=awaited, most=most) == says
    assert policy.problem_with(sizes, awaited=awaited + 1, most=most) == ""  # the control: one more can


@given(SIZES, st.integers(0, 3), st.integers(1, 100), st.integers(2, 60_000), st.integers(2, 200_000))
def test_what_is_a_problem_while_owners_are_awaited_stays_one(
    sizes: list[int], awaited: int, hundredths: int, most: int, least: int
) -> None:
    """Tried with every awaited owner at its most, which is best for all rules but the smallest owner's."""
    policy = Policy.exact(largest_owner_fraction=hundredths / 100, minimum_samples=least)
    at_best = policy.problem_with([*sizes, *[most] * awaited])
    if policy.problem_with(sizes, awaited=awaited, most=most) and max(sizes) <= most:
        assert at_best
    if not at_best:
        assert not policy.problem_with(sizes, awaited=awaited, most=most)


@pytest.mark.parametrize("hundredths", range(1, 99))
def test_a_fraction_is_the_decimal_that_was_written(hundredths: int) -> None:
    """Of 100 samples one owner may have so many, whatever floats make of the fraction, and no more."""
    policy = Policy.exact(largest_owner_fraction=hundredths / 100)
    for most, fits in ((hundredths, True), (hundredths + 1, False)):
        sizes = [most] + [1] * (100 - most)
        assert sum(sizes) == 100
        assert ("more than" not in policy.problem_with(sizes)) == fits


@given(SIZES, st.integers(1, 100))
def test_the_largest_fraction_by_its_definition(sizes: list[int], hundredths: int) -> None:
    policy = Policy.exact(largest_owner_fraction=hundredths / 100)
    fits = Fraction(max(sizes), sum(sizes)) <= Fraction(hundredths, 100)
    assert (policy.problem_with(sizes) == "") == fits


# The strictest of all


@pytest.mark.parametrize("one", ANY_DIGITS)
def test_the_fewest_digits_win(one: Any) -> None:
    for other in ANY_DIGITS:
        joined = Policy.exact(digits=one).strictest([Floors(digits=other)])  # type: ignore[arg-type]
        numbers = [digits for digits in (one, other) if digits != "exact"]
        assert joined.digits == (min(numbers) if numbers else "exact")
        assert joined.decimals == (min(numbers) if numbers else None)


@pytest.mark.parametrize(("one", "other"), list(product(ANY_COUNTS, repeat=2)))
def test_the_most_hidden_counts_win(one: Any, other: Any) -> None:
    hidden = min(one, other, key=ANY_COUNTS.index)
    assert Policy.exact(counts=one).strictest([Floors(counts=other)]).counts == hidden


NUMBERS = {
    "minimum_owners": (3, 5),
    "largest_owner_fraction": (0.5, 0.4),
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
        whole = name == "minimum_per_cell" and theirs == strict
        expected = checked(Policy, {name: strict, "whole_tables": whole})
        assert policy.strictest([floors]) == expected
        assert policy.strictest([Floors(), floors, Floors()]) == expected


@pytest.mark.parametrize(("mine", "theirs", "whole"), [(1, 2, True), (10, 10, False), (10, 11, True)])
def test_an_owners_own_floor_on_cells_withholds_whole_tables(mine: int, theirs: int, whole: bool) -> None:
    """Cell by cell it would be an oracle of what is in them: one that its owner has not agreed on."""
    for policy in (Policy.exact(minimum_per_cell=mine), Policy.exact(minimum_per_cell=mine, digits=2)):
        assert policy.strictest([Floors(minimum_per_cell=theirs)]).whole_tables == whole
        assert policy.strictest([Floors(minimum_per_cell=theirs), Floors()]).whole_tables == whole
    always = Policy.exact(minimum_per_cell=mine, whole_tables=True)
    assert always.strictest([Floors()]).whole_tables


@pytest.mark.parametrize(("spent", "most", "fits"), [(1.0, 1.0, True), (1.5, 1.0, False), (0.5, 1.0, True)])
def test_an_owners_epsilon_is_the_most_that_a_study_may_spend(spent: float, most: float, fits: bool) -> None:
    policy, floors = Policy.private(epsilon=spent), [Floors(), Floors(epsilon=most)]
    if fits:
        assert policy.strictest(floors) == policy
    else:
        with pytest.raises(InputError, match=rf"allows an epsilon of {most:g} at most, .* spends {spent:g}$"):
            policy.strictest(floors)


@pytest.mark.parametrize("kind", ["publication", "exact"])
def test_a_study_without_noise_spends_more_than_any_owner_allows(kind: Kind) -> None:
    with pytest.raises(InputError, match=rf"epsilon of {MOST_EPSILON:g} .* kind '{kind}' .*'private'$"):
        Policy(kind=kind).strictest([Floors(epsilon=MOST_EPSILON)])


def test_floors_on_secrets_do_not_touch_a_private_study() -> None:
    """Its noise takes their place; public ones hold."""
    floors = Floors(
        minimum_owners=4,
        minimum_samples=99,
        minimum_positives=7,
        minimum_per_cell=8,
        digits=2,
        counts="hidden",
    )
    joined = Policy.private().strictest([floors])
    assert joined == Policy.private(minimum_owners=4, minimum_samples=99)


@pytest.mark.parametrize(
    "floors",
    [
        {"minimum_positives": 1},
        {"minimum_negatives": 1},
        {"minimum_per_cell": 2},
        {"digits": 6},
        {"counts": "rounded"},
    ],
    ids=str,
)
def test_floors_on_secrets_are_not_done_away_with_by_hardly_any_noise(floors: dict[str, Any]) -> None:
    """Whoever wants more than the default says so by a floor on epsilon; public floors are no matter."""
    loud, quiet = Policy.private(), Policy.private(epsilon=2.5)
    assert loud.strictest([Floors(**floors)]) == loud
    with pytest.raises(InputError, match=r"floors on secrets, .* then spend 2, .* and this one spends 2.5$"):
        quiet.strictest([Floors(), Floors(**floors)])
    assert quiet.strictest([Floors(**floors, epsilon=3.0)]) == quiet
    assert quiet.strictest([Floors(minimum_owners=2, minimum_samples=2, largest_owner_fraction=1.0)]) == quiet
    assert Policy.exact().strictest([Floors(**floors)]).kind == "exact"


def test_every_rule_that_an_owner_may_set_is_one_of_the_policy() -> None:
    """But for the samples of every owner, which are no owner's business but its own, and how noise is shared
    out; whole tables follow from a floor on cells."""
    own = {"kind", "minimum_samples_per_owner", "whole_tables", "rows_per_person", "weights"}
    rules = set(Policy.__struct_fields__) - own
    assert set(Floors.__struct_fields__) == rules == {*NUMBERS, "digits", "counts", "epsilon"}


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


@given(
    st.sampled_from([Policy(), Policy.exact(digits=3), Policy.private()]),
    st.lists(FLOORS, max_size=4),
    st.randoms(),
)
def test_the_order_of_owners_does_not_matter_and_nobody_makes_it_more_lenient(
    policy: Policy, floors: list[Floors], random: Any
) -> None:
    joined = policy.strictest(floors)
    assert joined == policy.strictest(random.sample(floors, len(floors)))
    assert joined.kind == policy.kind
    secret = [] if policy.is_private else ["minimum_positives", "minimum_negatives", "minimum_per_cell"]
    for least in ("minimum_owners", "minimum_samples", *secret):
        assert getattr(joined, least) == max(getattr(one, least) for one in (policy, *floors))
    everybody: list[Any] = [policy, *floors]
    assert joined.largest_owner_fraction == min(one.largest_owner_fraction for one in everybody)
    digits = [one.digits for one in everybody if one.digits != "exact"]
    assert policy.is_private or joined.digits == min(digits)
    assert joined.strictest(floors) == joined


def test_floors_that_demand_nothing_change_nothing() -> None:
    for policy in (Policy(), Policy.exact(), Policy.private(), Policy(digits=2, counts="hidden")):
        assert policy.strictest([Floors()] * 3) == policy
        assert policy.strictest([]) == policy


# As people and files have it


def test_none_of_the_kinds_but_publication_has_floors() -> None:
    assert [Policy(kind=kind).has_floors for kind in KINDS] == [True, False, False]
    assert Policy.exact().problem_with([1, 1]) == ""
    assert Policy.exact(minimum_negatives=1).has_floors


@given(
    st.builds(
        Policy.exact,
        digits=st.sampled_from(ANY_DIGITS),
        counts=st.sampled_from(ANY_COUNTS),
        whole_tables=st.booleans(),
    )
    | st.builds(
        Policy.private,
        epsilon=st.floats(0.01, MOST_EPSILON),
        weights=st.builds(Weights, auroc=st.floats(0.1, 10)),
        rows_per_person=st.integers(1, 100),
    )
    | st.builds(Policy, digits=st.integers(1, 3), minimum_owners=st.integers(3, 9))
)
def test_a_policy_survives_its_json_and_what_a_plan_says(policy: Policy) -> None:
    assert from_json(Policy, to_json(policy)) == policy
    assert checked(Policy, policy.given()) == policy


def described(policy: Policy) -> dict[str, str]:
    return dict(policy.described())


def test_what_is_described_names_every_rule() -> None:
    policy = Policy.exact(
        minimum_owners=4,
        largest_owner_fraction=0.6,
        minimum_samples=1234,
        minimum_samples_per_owner=17,
        minimum_positives=21,
        minimum_negatives=22,
        minimum_per_cell=23,
        whole_tables=True,
        digits=3,
        counts="rounded",
    )
    found = described(policy)
    assert found.pop("kind").startswith("exact, for one's own data")
    assert found == {
        "owners": "at least 4, none with more than 0.6 of all samples",
        "samples": "at least 1,234 in all and 17 of every owner",
        "positives, negatives": "at least 21 and 22, in all and without any one owner",
        "cells and tails": "at least 23 samples, likewise; if a table lacks them, none is released",
        "digits": "3, one more of small numbers",
        "class counts": "rounded, to multiples of 5",
    }
    nothing = described(Policy.exact())
    assert nothing["owners"] == "at least 2, each with any fraction of all samples"
    assert nothing["cells and tails"] == "at least 1 sample, likewise"


def test_a_private_policy_is_described_by_what_epsilon_means() -> None:
    found = described(Policy.private(rows_per_person=30, minimum_owners=4))
    assert list(found) == ["kind", "owners", "samples", "epsilon"]
    assert found["kind"].startswith("private, for owners who do not trust each other's data")
    assert found["epsilon"] == (
        "2 for every person, who has at most 30 rows: whoever knows everything else guesses one person's "
        "outcome right at most 88 times in 100"
    )


@pytest.mark.parametrize(
    ("epsilon", "times"), [(0.01, "50"), (1.0, "73"), (2.0, "88"), (4.0, "98"), (8.0, "99.97"), (16.0, "100")]
)
def test_what_epsilon_bounds(epsilon: float, times: str) -> None:
    """An attacker with even odds is right with probability e^epsilon / (1 + e^epsilon) at most."""
    assert f" at most {times} times in 100" in guesses(epsilon)
    assert float(times) == pytest.approx(100 * math.exp(epsilon) / (1 + math.exp(epsilon)), abs=0.5)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("rule", Policy.__struct_fields__)
def test_policies_that_differ_are_described_differently(rule: str, kind: Kind) -> None:
    other = {"epsilon": 0.5, "rows_per_person": 3, "weights": Weights(table=7.0), "kind": "exact"}
    base = Policy(kind=kind)
    try:
        changed = Policy(**{"kind": kind, rule: (STRICTER | other)[rule]})
    except InputError:
        return  # not a rule of this kind
    assert (changed.described() != base.described()) == (changed != base)


def test_exact_digits_are_described_as_what_they_are() -> None:
    assert "full precision, which can tell class counts and labels" in described(Policy.exact())["digits"]
    assert {described(Policy.exact(counts=one))["class counts"] for one in get_args(get_args(Counts)[0])} == {
        "hidden",
        "rounded, to multiples of 5",
        "exact: released as they are",
    }
