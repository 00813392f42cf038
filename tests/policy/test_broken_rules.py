"""Broken public rules in words: whose it is, and who can do what."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ppaurora.policy.broken_rules import BrokenRule, Cure
from ppaurora.policy.rules import Policy

OWNERS = ("north", "harbour", "valley")
AMEND = "the coordinator can amend the study"
ASK = "ask the coordinator to amend the study"


@pytest.mark.parametrize(
    ("rule", "note"),
    [
        (
            Policy().broken_rule((220, 40, 40)),
            "north can replace its submission by a smaller one, or the others",
        ),
        (Policy().broken_rule((40, 19, 40)), "harbour can replace its submission by a larger one with"),
        (
            Policy(minimum_samples=300).broken_rule((99, 100, 100)),
            "owners can replace their submissions by larger ones with",
        ),
        (
            BrokenRule("the metric 'auroc'", "takes at most 9 samples in all", Cure.SMALLER),
            "by smaller ones with",
        ),
        (Policy(minimum_owners=4).broken_rule((99, 100, 100)), f"there are 3; {AMEND}"),
        (
            BrokenRule("there", "are too few samples", Cure.LARGER, demanded_by=2),
            "as the floors of valley demand; owners can",
        ),
    ],
)
def test_a_note_names_owners_and_what_they_can_do(rule: BrokenRule, note: str) -> None:
    told = rule.note(OWNERS)
    assert note in told
    assert told.endswith(AMEND) == (rule.is_amendable and rule.demanded_by is None)
    assert ("--replace" in told) == (rule.cure is not Cure.NONE)
    assert ("valley can lower its floors ([floors] in owner.toml)" in told) == (rule.demanded_by == 2)


def test_an_amendment_is_named_only_where_it_could_loosen_the_rule() -> None:
    """What comes with the kind of a policy cannot be looser, nor can any rule of a private study."""
    too_few = (99, 100, 100)
    rules = {
        "its own rule": (Policy(minimum_samples=300), too_few, True),
        "the kind's": (Policy(), (40, 19, 40), False),
        "stricter than the kind's": (Policy(minimum_samples_per_owner=99), (98, 100, 100), True),
        "private": (Policy.private(minimum_samples=300), too_few, False),
        "exact": (Policy.exact(minimum_samples=300), too_few, True),
    }
    for policy, sizes, can in rules.values():
        rule = policy.broken_rule(sizes)
        assert rule is not None
        assert rule.is_amendable is can
    without_a_way = BrokenRule("the policy", "asks for more", is_amendable=False)
    assert without_a_way.note(OWNERS) == "the policy asks for more; the owners need a new study"


def test_when_nothing_can_be_replaced_any_more_nobody_is_told_to() -> None:
    rule = Policy().broken_rule((220, 40, 40))
    assert rule is not None
    told = rule.note(OWNERS, too_late="submissions were taken until the end of 2026-05-31")
    assert "--replace" not in told
    assert told == (
        "north has more than 0.5 of all samples: 220 of 300; submissions were taken until the end of "
        "2026-05-31, so the coordinator can amend the study, or the owners need a new study"
    )


@pytest.mark.parametrize(
    ("rule", "advice"),
    [
        (
            Policy().broken_rule((19,), awaited=2),
            "an owner has fewer than 20 samples; submit more samples",
        ),
        (
            Policy(minimum_samples_per_owner=30).broken_rule((19,), awaited=2),
            f"an owner has fewer than 30 samples; submit more samples, or {ASK}",
        ),
        (
            BrokenRule("an owner", "has more", Cure.SMALLER, 0),
            f"an owner has more; submit fewer samples, or {ASK}",
        ),
        (
            BrokenRule("the policy", "asks", demanded_by=0),
            "the policy asks; lower your floors ([floors] in owner.toml)",
        ),
        (BrokenRule("", "at most 20 owners are possible"), f"at most 20 owners are possible; {ASK}"),
    ],
)
def test_an_owner_is_told_what_it_can_do_itself(rule: BrokenRule, advice: str) -> None:
    assert rule.advice() == advice


def test_what_others_need_is_said() -> None:
    assert Policy().asked_of_others(220, 2) == (
        "at least 220 samples together, as no owner may have more than 0.5 of all"
    )
    assert Policy().asked_of_others(40, 2) == ""  # two with at least 20 each
    assert Policy(minimum_samples=1000).asked_of_others(300, 2) == (
        "at least 700 samples together, as the study needs 1,000 in all"
    )
    assert Policy.exact().asked_of_others(10_000, 1) == ""


@given(st.integers(1, 200), st.integers(30, 100), st.integers(2, 600))
def test_what_others_need_is_just_enough(samples: int, hundredths: int, least: int) -> None:
    """By trying: one sample less breaks a rule, if only one owner is awaited that may have any number."""
    policy = Policy.exact(largest_owner_fraction=hundredths / 100, minimum_samples=least)
    said = policy.asked_of_others(samples, 1)
    enough = next(
        other
        for other in itertools.count(1)
        if samples + other >= least and samples <= policy.largest_owner_fraction * (samples + other) + 1e-9
    )
    assert said == "" if enough == 1 else f"at least {enough:,} samples" in said
    if enough > 1:
        assert policy.problem_with([samples, enough - 1])
