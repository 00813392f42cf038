"""Amendments as a coordinator makes them and as everybody else reads them: what is refused, what counts."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature, encode_dss_signature
from msgspec import UNSET

from ppaurora.agreement.terms import Limits
from ppaurora.errors import InputError
from ppaurora.io.models import canonical_json
from ppaurora.study.amending import Amending, amend
from ppaurora.study.amendments import (
    Amendments,
    amended,
    changes,
    problem_with_agreement,
    sign_agreement,
    sign_amendment,
)
from ppaurora.study.kit import OwnerKit, amendments_path
from ppaurora.study.manifest import Manifest
from ppaurora.study.provision import authority_key, provision
from tests.support.plans import uncommented

Amend = Callable[..., Amending]
OWNERS = ["hospital-a", "hospital-b", "hospital-c", "hospital-d"]
FOUR = ("[owners.hospital-c]\n", "[owners.hospital-d]\n\n[owners.hospital-c]\n")
EXACT = ('kind = "publication"\n', 'kind = "exact"\n')


@pytest.fixture
def plan(tmp_path: Path) -> Path:
    """Of four owners, with a last day; three of them are enough, and it may move by thirty days."""
    text = uncommented("agreed_changes", "submissions_until")
    text = text.replace("minimum_owners = 4", "minimum_owners = 3").replace(*FOUR)
    path = tmp_path / "study.toml"
    path.write_text(
        text.replace('"2026-12-31"', '"2199-06-01"').replace(
            "\n[owners.hospital-b]\n", "\n[owners.hospital-b]\n\n"
        )
    )
    return path


@pytest.fixture
def change(plan: Path, kits: Path) -> Amend:
    """Change the plan, and amend the study by that."""

    def amend_by(*replacements: tuple[str, str], **more: Any) -> Amending:
        text = plan.read_text()
        for before, after in replacements:
            assert before in text, before
            text = text.replace(before, after)
        plan.write_text(text)
        return amend(plan, kits, **more)

    return amend_by


def drop(owner: str) -> tuple[str, str]:
    return f"[owners.{owner}]\n", ""


def last_day(day: str, before: str = "2199-06-01") -> tuple[str, str]:
    return f'submissions_until = "{before}"', f'submissions_until = "{day}"'


def first(kits: Path) -> Manifest:
    return Manifest.read(kits / "sepsis-2026.json")


def test_it_is_the_next_manifest_signed_by_the_coordinator(change: Amend, kits: Path) -> None:
    before = first(kits)
    made = change(last_day("2199-06-20"), reason="the ethics vote came late").amendments
    assert made.first == before
    latest = made.latest
    assert (latest.study_hash, latest.amendment) == (before.hash, 1)
    assert latest.hash != before.hash
    assert [str(one) for one in made.changes(0)] == [
        "submissions: until the end of 2199-06-20 (UTC) (before: until the end of 2199-06-01 (UTC))"
    ]
    assert made.steps[0].reason == "the ethics vote came late"
    assert Amendments.read(amendments_path(kits, "sepsis-2026")) == made


def test_each_follows_from_the_one_before(change: Amend, kits: Path) -> None:
    once = change(last_day("2199-06-20")).amendments
    twice = change(drop("hospital-b")).amendments
    assert twice.follows(once)
    assert not once.follows(twice)
    assert twice.latest.owner_names == ["hospital-a", "hospital-d", "hospital-c"]
    assert [one.what for one in twice.changes(1)] == ["owner hospital-b"]
    assert [one.what for one in twice.changes(0)] == ["submissions", "owner hospital-b"]
    assert [twice.number_of(one.hash) for one in twice.manifests] == [0, 1, 2]
    assert once.number_of(twice.latest.hash) is None


def test_another_signature_of_the_same_is_no_other_amendment(change: Amend) -> None:
    """Of an ECDSA signature (r, s), anybody can make (r, n - s), which is as valid: no owner is held up."""
    made = change(last_day("2199-06-20")).amendments
    (step,) = made.steps
    order = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551  # of P-256
    r, s = decode_dss_signature(step.signature)
    again = msgspec.structs.replace(step, signature=encode_dss_signature(r, order - s))
    other = Amendments(first=made.first, steps=(again,))  # it is taken
    assert other != made
    assert other.follows(made)
    assert made.follows(other)


@pytest.mark.parametrize(
    ("replacement", "asked"),
    [
        (last_day("2199-07-01"), False),
        (last_day("2199-07-02"), True),
        (last_day("2199-05-31"), True),
        (drop("hospital-b"), False),
        (("samples_per_owner = 1_000_000", "samples_per_owner = 2_000_000"), True),
        (('organisation = "An Institute"', 'organisation = "Another Institute"'), True),
        (('nodes_address = "helper.example.com:8444"', 'nodes_address = "helper.example.com:9444"'), True),
        (("minimum_samples = 100", "minimum_samples = 60"), True),
    ],
    ids=str,
)
def test_owners_are_asked_unless_they_agreed_beforehand(
    change: Amend, replacement: tuple[str, str], asked: bool
) -> None:
    made = change(replacement).amendments
    assert made.to_agree(1, {}) == (made.latest.owner_names if asked else [])
    assert made.to_agree(1, {"hospital-a": 1}) == (made.latest.owner_names[1:] if asked else [])


def test_dropping_more_owners_than_agreed_asks_the_others(plan: Path, tmp_path: Path) -> None:
    plan.write_text(plan.read_text().replace("minimum_owners = 3", "minimum_owners = 4"))
    provision(plan, tmp_path / "kits")
    plan.write_text(plan.read_text().replace(*drop("hospital-b")))
    made = amend(plan, tmp_path / "kits").amendments
    assert made.to_agree(1, {}) == ["hospital-a", "hospital-d", "hospital-c"]


def test_the_last_day_moves_by_so_many_days_in_all(change: Amend) -> None:
    change(last_day("2199-06-16"))
    made = change(last_day("2199-07-02", "2199-06-16")).amendments
    assert made.is_agreed_beforehand(1)
    assert not made.is_agreed_beforehand(2)


def test_who_has_agreed_to_a_later_one_has_agreed_to_all_before(change: Amend) -> None:
    change(("minimum_samples = 100", "minimum_samples = 60"))
    made = change(("minimum_samples = 60", "minimum_samples = 50")).amendments
    assert made.to_agree(2, dict.fromkeys(OWNERS, 1)) == made.latest.owner_names
    assert made.to_agree(2, {"hospital-a": 2, "hospital-b": 1, "hospital-c": 2, "hospital-d": 2}) == [
        "hospital-b"
    ]
    again = change(last_day("2199-06-20")).amendments  # about which nobody is asked
    assert again.to_agree(3, dict.fromkeys(OWNERS, 2)) == []
    assert again.to_agree(3, dict.fromkeys(OWNERS, 1)) == again.latest.owner_names


@pytest.mark.parametrize(
    ("replacements", "problem"),
    [
        ([('metrics = ["auroc", "aupr"]', 'metrics = ["auroc"]')], "cannot change metrics"),
        ([("key_bits = 64", "key_bits = 32")], "cannot change protocol"),
        (
            [('score_direction = "higher"', 'score_direction = "lower"')],
            "cannot change evaluation.score_direction",
        ),
        ([("confidence_level = 0.95", "confidence_level = 0.9")], "cannot change confidence_level"),
        ([EXACT], "cannot change policy.kind"),
        ([("[owners.hospital-d]\n", "[owners.hospital-e]\n")], "can be dropped, but neither added"),
        ([("deadline_days = 30", "deadline_days = 60")], "agreed on with the first manifest"),
        ([], "nothing differs"),
        ([last_day("2020-01-01")], "is over; name a later date"),
    ],
    ids=str,
)
def test_what_is_computed_cannot_be_amended(
    change: Amend, kits: Path, replacements: list[tuple[str, str]], problem: str
) -> None:
    with pytest.raises(InputError, match=problem):
        change(*replacements)
    assert not amendments_path(kits, "sepsis-2026").exists()


def test_a_study_of_the_version_before_cannot_be_amended(plan: Path, tmp_path: Path) -> None:
    manifest = provision(plan, tmp_path / "kits", version=9)
    assert manifest.coordinator is UNSET
    plan.write_text(plan.read_text().replace(*last_day("2199-06-20")))
    with pytest.raises(InputError, match="is of version 9, and has no amendments"):
        amend(plan, tmp_path / "kits")


def test_only_the_coordinators_key_signs_amendments(
    change: Amend, kits: Path, plan: Path, tmp_path: Path
) -> None:
    made = change(last_day("2199-06-20")).amendments
    provision(plan, tmp_path / "others")
    step = sign_amendment(made.latest, "", authority_key(tmp_path / "others"))
    with pytest.raises(InputError, match="another key than the coordinator's"):
        Amendments(first=made.first, steps=(step,))
    (kits / "authority/key.pem").write_bytes(authority_key(tmp_path / "others").read_bytes())
    (kits / "authority/certificate.pem").write_bytes(
        (tmp_path / "others/authority/certificate.pem").read_bytes()
    )
    with pytest.raises(InputError, match="not the one that may amend"):
        change(last_day("2199-06-21", "2199-06-20"))


def test_every_field_of_an_amendment_is_signed(change: Amend) -> None:
    """Whatever is another than it was signed, however plausible: it is refused."""
    made = change(last_day("2199-06-20"), reason="late").amendments
    step, manifest = made.steps[0], made.latest
    Amendments(first=made.first, steps=(step,))  # as it is, it is taken
    later = msgspec.structs.replace(
        manifest, evaluation=msgspec.structs.replace(manifest.evaluation, model="another")
    )
    spoilt = {
        "reason": msgspec.structs.replace(step, reason=type(step.reason)("no")),
        "manifest": msgspec.structs.replace(step, manifest=later),
        "signature": msgspec.structs.replace(step, signature=bytes(len(step.signature))),
        "algorithm": msgspec.structs.replace(step, algorithm="Ed25519"),
    }
    for what, one in spoilt.items():
        with pytest.raises(InputError, match="amendment 1: "):
            Amendments(first=made.first, steps=(one,))
        assert what
    with pytest.raises(InputError, match="does not follow"):
        Amendments(first=made.first, steps=(step, step))


def test_an_amendment_of_another_study_does_not_follow(change: Amend, plan: Path, kits: Path) -> None:
    """Even if the same coordinator has signed it."""
    before = first(kits)
    other = msgspec.structs.replace(before, study="another-2026")
    terms = msgspec.structs.replace(other.terms, limits=Limits(attempts=9))
    after = msgspec.structs.replace(other, terms=terms)
    step = sign_amendment(amended(other, after), "", authority_key(kits))
    with pytest.raises(InputError, match="does not follow"):
        Amendments(first=before, steps=(step,))


def test_a_file_that_was_changed_is_refused(change: Amend, kits: Path) -> None:
    made = change(last_day("2199-06-20"))
    text = made.file.read_text()
    for spoilt, problem in [
        (text[:-2], "is not JSON; take the file STUDY.amendments.json"),
        (text.replace('"first": {', '"first": { "colour": 1,'), "no such setting.*; take the file STUDY"),
        (text.replace("2199-06-20", "2199-06-21"), "changed after it was signed|does not fit"),
        (json.dumps(json.loads(text)) + "\n", "canonical"),
        (canonical_json({**json.loads(text), "steps": []}, indent=2).decode() + "\n", "there is not a first"),
    ]:
        made.file.write_text(spoilt)
        with pytest.raises(InputError, match=problem):
            Amendments.read(made.file)


def test_agreements_are_signed_by_the_owner_for_one_amendment(change: Amend, kits: Path) -> None:
    change(("minimum_samples = 100", "minimum_samples = 60"))
    made = change(("minimum_samples = 60", "minimum_samples = 50")).amendments
    signed = sign_agreement(made, "hospital-a", 0.0, kits / "hospital-a/key.pem")
    assert problem_with_agreement(signed, made) == ""
    once = msgspec.structs.replace(made, steps=made.steps[:1])
    for another, problem in [
        (
            msgspec.structs.replace(signed.agreement, owner="hospital-b"),
            "not signed with the key of hospital-b",
        ),
        (msgspec.structs.replace(signed.agreement, amendment=1), "another amendment 1"),
        (msgspec.structs.replace(signed.agreement, agreed_at="1971-01-01T00:00:00Z"), "does not fit"),
        (msgspec.structs.replace(signed.agreement, study="0" * 64), "of another study"),
        (msgspec.structs.replace(signed.agreement, manifest=made.first.hash), "another amendment 2"),
    ]:
        assert problem in problem_with_agreement(msgspec.structs.replace(signed, agreement=another), made)
    assert "not known here" in problem_with_agreement(signed, once)
    by_another = sign_agreement(made, "hospital-a", 0.0, kits / "hospital-b/key.pem")
    assert "not signed with the key of hospital-a" in problem_with_agreement(by_another, made)


def test_a_new_key_comes_with_a_new_kit_and_the_old_one_is_set_aside(change: Amend, kits: Path) -> None:
    before = OwnerKit.read(kits / "hospital-b").pin
    made = change(new_keys=["hospital-b"])
    after = OwnerKit.read(kits / "hospital-b")
    assert after.pin != before
    assert made.kits == (kits / "hospital-b.kit",)
    assert OwnerKit.read(kits / "hospital-b.before-amendment-1").pin == before
    assert after.manifest() == made.amendments.latest
    after.check_own(after.manifest())
    assert [one.what for one in made.amendments.changes(0)] == ["owner hospital-b"]
    assert made.amendments.to_agree(1, {}) == made.amendments.latest.owner_names
    with pytest.raises(InputError, match=r"nobody in .* is called 'hospital-x'"):
        change(new_keys=["hospital-x"])


def test_a_new_key_after_a_cut_is_made_once_more(change: Amend, kits: Path) -> None:
    """As if it had been cut off before the amendment was there."""
    old = OwnerKit.read(kits / "hospital-b").pin
    change(new_keys=["hospital-b"])
    amendments_path(kits, "sepsis-2026").unlink()
    made = change(new_keys=["hospital-b"])
    assert OwnerKit.read(kits / "hospital-b").pin == made.amendments.latest.owners[1].pin != old
    assert OwnerKit.read(kits / "hospital-b.before-amendment-1").pin == old


def test_whatever_differs_is_shown(kits: Path) -> None:
    """No field of a manifest can be amended unseen."""
    before = first(kits)
    terms, proxy = before.terms, before.nodes["proxy-0"]
    fewer = msgspec.structs.replace(terms.policy, minimum_samples=7)
    others: list[dict[str, Any]] = [
        {"evaluation": msgspec.structs.replace(before.evaluation, submissions_until=None)},
        {"terms": msgspec.structs.replace(terms, limits=Limits(attempts=7))},
        {"terms": msgspec.structs.replace(terms, limits=Limits(retention_days=7))},
        {"terms": msgspec.structs.replace(terms, policy=fewer)},
        {"owners": before.owners[1:]},
    ]
    entries = (
        {"nodes_address": "elsewhere.example.org:1"},
        {"owners_address": "elsewhere.example.org:2"},
        {"organisation": "Elsewhere"},
        {"pin": "0" * 64},
    )
    others += [
        {"nodes": {**before.nodes, "proxy-0": msgspec.structs.replace(proxy, **entry)}} for entry in entries
    ]
    for another in others:
        after = amended(before, msgspec.structs.replace(before, **another))
        assert changes(before, after), another
