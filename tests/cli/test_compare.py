"""`ppaurora compare`: what it prints of two results, and which pairs it refuses."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

import ppaurora
from ppaurora.errors import InputError
from ppaurora.evaluation.report import Report
from ppaurora.io.times import Time
from ppaurora.messages.owners import AuditHead, SignedStatement, Statement, Submitted
from ppaurora.metrics.names import MetricName
from ppaurora.owner.comparing import NamedResult, ResultComparison, compare_results, warnings_of
from ppaurora.owner.report import StudyReport
from ppaurora.policy.rules import Policy
from ppaurora.statistics.differences import Difference, unpaired_difference
from ppaurora.statistics.estimates import Estimate, Table, delong_estimate
from ppaurora.study.manifest import Manifest, OwnerEntry
from ppaurora.study.names import Name, Organisation, Pin
from ppaurora.study.receipt import Receipt
from ppaurora.testing.consortium import Consortium
from tests.support.command_line import CommandLine, check_refused

METRICS: list[MetricName] = ["auroc", "brier", "ap", "roc_curve"]


def evaluated(seed: int, policy: Policy | None = None, level: float | None = 0.95, size: int = 120) -> Report:
    """Three owners' probabilities."""
    random = np.random.default_rng(seed)
    owners = []
    for _ in range(3):
        y_true = (random.random(size) < 0.4).astype(int)
        y_score = 1 / (1 + np.exp(0.6 - random.normal(size=size) - 1.2 * y_true))
        owners.append((y_true, np.round(y_score, 3)))
    metrics = METRICS if policy is None or not policy.is_private else METRICS[:2]
    return ppaurora.evaluate(
        owners, metrics=metrics, confidence_level=level, policy=policy, transport="memory"
    )


@pytest.fixture(scope="module")
def reports() -> dict[str, Report]:
    return {
        "a": evaluated(1),
        "b": evaluated(2),
        "rounded": evaluated(3, Policy.publication()),
        "private": evaluated(4, Policy.private(), size=400),
        "without": evaluated(5, level=None),
        "level": evaluated(6, level=0.9),
    }


@pytest.fixture
def files(reports: dict[str, Report], tmp_path: Path) -> dict[str, Path]:
    paths = {name: tmp_path / f"{name}.json" for name in reports}
    for name, report in reports.items():
        paths[name].write_text(report.to_json())
    return paths


def compared(finished: Any) -> dict[str, Any]:
    assert (finished.code, finished.err) == (0, "")
    found: dict[str, Any] = json.loads(finished.out)
    return found


def test_json_has_the_differences(
    command: CommandLine, files: dict[str, Path], reports: dict[str, Report]
) -> None:
    found = compared(command("compare", files["a"], files["b"], "--format", "json"))
    assert list(found["differences"]) == ["auroc", "brier", "ap"]  # tables are not compared
    for name, pair in found["differences"].items():
        a, b = reports["a"][name], reports["b"][name]
        assert (pair["a"], pair["b"]) == (a.to_dict(), b.to_dict())
        assert isinstance(a, Estimate)
        assert isinstance(b, Estimate)
        expected = unpaired_difference(a, b, 0.95, 360, 360, within=(-1, 1))
        assert Difference.from_dict(pair["difference"]) == expected
        assert (expected.z is None) == (name == "ap")
    assert found["a"] == {
        "file": str(files["a"]),
        "model": None,
        "outcome": None,
        "study": None,
        "manifest_hash": None,
        "owners": 3,
        "samples": 360,
    }
    assert found["confidence_level"] == 0.95


def test_text_has_both_values_the_difference_and_the_test(
    command: CommandLine, files: dict[str, Path], reports: dict[str, Report]
) -> None:
    finished = command("compare", files["a"], files["b"], "--metric", "auroc")
    assert (finished.code, finished.err) == (0, "")
    lines = finished.out.splitlines()
    assert lines[:2] == [f"{side}: {files[side.lower()]}: 360 samples of 3 owners" for side in "AB"]
    a, b = (reports[one]["auroc"] for one in "ab")
    assert isinstance(a, Estimate)
    assert isinstance(b, Estimate)
    difference = unpaired_difference(a, b, 0.95, 360, 360)
    assert lines[2:] == [
        "",
        "AUROC",
        f"  {a.line('A')}",
        f"  {b.line('B')}",
        f"  {difference.line('A - B')}",
        f"  {difference.test_line()}",
        "",
        f"warning: nothing shows whether both results are of different people's data, as there is no receipt "
        f"in {files['a']} and {files['b']}; the comparison assumes that they are",
    ]


def test_rounded_and_private_results(command: CommandLine, files: dict[str, Path]) -> None:
    found = compared(command("compare", files["rounded"], files["b"], "--format", "json"))["differences"]
    assert "the test uses the rounded values" in found["auroc"]["difference"]["note"]
    found = compared(command("compare", files["private"], files["b"], "--format", "json"))["differences"]
    assert list(found) == ["auroc", "brier"]
    for pair in found.values():
        difference = pair["difference"]
        assert (difference["method"], difference["z"], difference["p_value"]) == ("MOVER", None, None)
        low, high = difference["interval"]
        noise_low, noise_high = pair["a"]["interval"]
        assert high - low > noise_high - noise_low


def test_the_level_is_that_of_both_or_the_one_that_is_named(
    command: CommandLine, files: dict[str, Path]
) -> None:
    arguments = "--metric", "auroc", "--format", "json"
    levels = [
        compared(command("compare", *pair, *arguments))["confidence_level"]
        for pair in (
            (files["a"], files["b"]),
            (files["a"], files["level"]),
            (files["level"], files["a"], "--confidence-level", "0.8"),
        )
    ]
    assert levels == [0.95, 0.95, 0.8]
    narrow = compared(
        command("compare", files["private"], files["b"], "--confidence-level", "0.8", *arguments)
    )
    assert narrow["differences"]["auroc"]["difference"]["interval"] is None
    check_refused(
        command("compare", files["a"], files["b"], "--confidence-level", "95"), "write 0.95 for 95 %"
    )


@pytest.fixture(scope="module")
def of_two_models() -> Report:
    random = np.random.default_rng(7)
    owners = []
    for _ in range(2):
        y_true = (random.random(60) < 0.4).astype(int)
        new, old = (np.round(0.5 * random.random(60) + some * y_true, 2) for some in (0.4, 0.1))
        owners.append((y_true, {"new": new, "old": old}))
    return ppaurora.evaluate(
        owners, metrics=["auroc"], confidence_level=0.95, protocol="grid", decimals=2, transport="memory"
    )


def test_one_of_several_models_is_named(
    command: CommandLine, files: dict[str, Path], of_two_models: Report, tmp_path: Path
) -> None:
    several = tmp_path / "several.json"
    several.write_text(of_two_models.to_json())
    check_refused(
        command("compare", files["a"], several), "has several models, new, old; name one with --model"
    )
    check_refused(
        command("compare", several, files["a"], "--model", "third"), "has no model 'third'; it has: new"
    )
    three = [word for name in ("new", "old", "new") for word in ("--model", name)]
    check_refused(command("compare", several, files["a"], *three), "give it once for both results, or twice")
    for name in ("new", "old"):
        arguments = "compare", several, files["a"], "--model", name, "--metric", "auroc"
        found = compared(command(*arguments, "--format", "json"))
        assert (found["a"]["model"], found["b"]["model"]) == (name, None)
        assert found["differences"]["auroc"]["a"] == of_two_models.models[name]["auroc"].to_dict()
        assert f"A: {several}, {name}: 120 samples of 2 owners" in command(*arguments).out


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("a", "a"), ("a.json are the same result",)),
        (("a", "without"), ("no number has an interval in both", "confidence_level such as 0.95")),
        (("a", "without", "--metric", "auroc"), ("'auroc' has no interval", "confidence_level")),
        (("a", "b", "--metric", "roc_curve"), ("'roc_curve' is a table",)),
        (("a", "b", "--metric", "youden_j"), ("has no 'youden_j'; it has: auroc",)),
        (("a", "b", "--metric", "auc"), ("unknown metric 'auc'",)),
    ],
)
def test_what_cannot_be_compared(
    arguments: Sequence[str], says: Sequence[str], command: CommandLine, files: dict[str, Path]
) -> None:
    check_refused(command("compare", *(files.get(one, one) for one in arguments)), *says)


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("", "is not a result (not JSON"),
        ("{", "is not a result (not JSON"),
        ('{"metrics": {}, "metrics": {}}', "a name is in it twice"),
        ("[]", "is not a result; take a file that 'ppaurora result'"),
        ('{"a": 1}', "is not a result"),
        ('{"format": "ppaurora receipt"}', "is a receipt, which holds no result"),
    ],
)
def test_files_that_are_no_results(
    content: str, says: str, command: CommandLine, files: dict[str, Path], tmp_path: Path
) -> None:
    bad = tmp_path / "bad.json"
    bad.write_text(content)
    for pair in ((bad, files["a"]), (files["a"], bad)):
        check_refused(command("compare", *pair), f"{bad}: {says}" if says.startswith("is ") else says)
    check_refused(command("compare", files["a"], tmp_path / "none.json"), "cannot be read")


@pytest.mark.parametrize(
    "change",
    [{"standard_error": -0.01}, {"interval": [0.9, 0.1]}, {"digits": 400}, {"more": 1}, {"value": "1"}],
)
def test_an_evaluation_that_was_changed_is_refused(
    change: dict[str, Any], command: CommandLine, files: dict[str, Path]
) -> None:
    content = json.loads(files["b"].read_text())
    content["metrics"]["auroc"].update(change)
    files["b"].write_text(json.dumps(content))
    check_refused(command("compare", files["a"], files["b"]), "is not what 'ppaurora evaluate --format json'")


def test_a_suppressed_result_has_nothing_to_compare(reports: dict[str, Report]) -> None:
    a, b = NamedResult("a", reports["a"]), NamedResult("b", replace(reports["b"], suppressed=True))
    with pytest.raises(InputError, match="b: the policy suppresses the result"):
        compare_results(a, b)


# What receipts show. These are made up; tests/node/test_comparing.py has real ones.


@pytest.fixture(scope="module")
def manifest(tmp_path_factory: pytest.TempPathFactory) -> Manifest:
    return Consortium(tmp_path_factory.mktemp("consortium"), ("north", "harbour")).manifest


def key(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def study_of(
    manifest: Manifest, name: str, *owners: tuple[str, str, str, int], reused: str = ""
) -> NamedResult:
    """A study with owners (name, organisation, key, number of samples), and its result."""
    entries = tuple(
        OwnerEntry(name=Name(owner), organisation=Organisation(organisation), pin=Pin(key(of)))
        for owner, organisation, of, _ in owners
    )
    other = msgspec.structs.replace(manifest, study=Name(name), owners=entries)
    submissions = tuple(
        Submitted(owner=owner, samples=size, commitments=(key(reused or f"share of {owner} in {name}"),))
        for owner, _, _, size in owners
    )
    policy = manifest.terms.policy
    statement = Statement(
        server="proxy-0",
        manifest=other.hash,
        attempt=1,
        policy=policy,
        submissions=submissions,
        history=(),
        parts={},
        accepted_at=NOW,
        begun_at=NOW,
        computed_at=NOW,
        released_at=NOW,
        ppaurora="",
        protocol_version=1,
        audit=AuditHead(entries=0, hash=key("")),
    )
    signed = SignedStatement(statement=statement, algorithm="", key=b"", signature=b"")
    receipt = Receipt.of(other, [signed])
    metrics: dict[str, Estimate | Table] = {"auroc": delong_estimate(0.8, 0.03, 0.95)}
    return NamedResult(f"{name}.json", StudyReport(metrics, None, False, policy, "north", (), receipt))


NOW = Time("2026-11-18T05:00:00Z")
HERE = ("north", "North Clinic", "1", 80), ("harbour", "Harbour", "2", 90)


def test_studies_of_different_owners_are_compared_without_a_warning(manifest: Manifest) -> None:
    others = ("valley", "Valley", "3", 80), ("hill", "", "4", 90)
    found = compare_results(study_of(manifest, "one", *HERE), study_of(manifest, "two", *others))
    assert isinstance(found, ResultComparison)
    assert found.warnings == ()
    assert found.differences["auroc"].degrees_of_freedom == pytest.approx(2 * 169)
    assert found.to_dict()["a"]["study"] == "one"


@pytest.mark.parametrize(
    ("owner", "says"),
    [
        (("north", "North Clinic", "1", 80), "north (the same key) submitted 80 samples to both"),
        (("new", "", "1", 80), "north and new (the same key) submitted 80 samples to both"),
        (
            ("n", " north  CLINIC", "9", 80),
            "north and n (the same organisation) submitted 80 samples to both",
        ),
    ],
)
def test_the_same_owners_same_data_is_refused(
    owner: tuple[str, str, str, int], says: str, manifest: Manifest
) -> None:
    one = study_of(manifest, "one", *HERE)
    other = study_of(manifest, "two", owner, ("hill", "Hill", "4", 90))
    for pair in ((one, other), (other, one)):
        with pytest.raises(InputError, match="in one study, with \\[models\\] in its plan") as caught:
            compare_results(*pair)
        assert "have the same data, as far as receipts show" in str(caught.value)
    with pytest.raises(InputError) as caught:
        warnings_of(one, other)
    assert says in str(caught.value)


@pytest.mark.parametrize(
    ("owner", "says"),
    [
        (("north", "North Clinic", "1", 81), "north (the same key) submitted 80 samples to A and 81 to B"),
        (
            ("n", "north clinic", "9", 81),
            "north and n (the same organisation) submitted 80 samples to A and 81",
        ),
        (("north", "", "9", 80), "north (the same name) submitted 80 samples to A and 80 to B"),
        (("north", "", "9", 7), "north (the same name) submitted 80 samples to A and 7 to B"),
    ],
)
def test_owners_in_common_are_a_warning(
    owner: tuple[str, str, str, int], says: str, manifest: Manifest
) -> None:
    one = study_of(manifest, "one", *HERE)
    other = study_of(manifest, "two", owner, ("hill", "Hill", "4", 90))
    (warning,) = compare_results(one, other).warnings
    assert warning.startswith(says)
    assert "assumes that nobody is in both" in warning


def test_a_common_name_of_different_organisations_is_nothing(manifest: Manifest) -> None:
    other = study_of(manifest, "two", ("north", "Of the Hills", "9", 80), ("hill", "Hill", "4", 90))
    assert warnings_of(study_of(manifest, "one", *HERE), other) == []


def test_the_same_study_and_the_same_submission_are_refused(manifest: Manifest) -> None:
    one = study_of(manifest, "one", *HERE)
    with pytest.raises(InputError, match="are of the same study, one"):
        compare_results(one, one)
    others = ("valley", "Valley", "3", 1), ("hill", "", "4", 2)
    pair = study_of(manifest, "one", *HERE, reused="x"), study_of(manifest, "two", *others, reused="x")
    with pytest.raises(InputError, match="have a submission in common"):
        compare_results(*pair)


def test_one_result_with_a_receipt_and_one_without(manifest: Manifest, reports: dict[str, Report]) -> None:
    found = compare_results(study_of(manifest, "one", *HERE), NamedResult("b.json", reports["b"]), ["auroc"])
    (warning,) = found.warnings
    assert "there is no receipt in b.json" in warning
