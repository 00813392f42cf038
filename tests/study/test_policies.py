"""Plans and their policies: what a study may let out, and what is refused before there are any kits."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from click.testing import CliRunner

import ppaurora
from ppaurora.cli.main import cli
from ppaurora.errors import InputError
from ppaurora.io.models import from_json, to_json
from ppaurora.messages.owners import Offer
from ppaurora.policy.rules import MOST_DIGITS, Floors, Policy
from ppaurora.study.kit import OwnerKit
from ppaurora.study.manifest import Manifest
from ppaurora.study.plan import SAMPLE
from ppaurora.study.provision import provision
from tests.study.conftest import EXACT, INTERVALS

FAST = 'name = "fast"\nkey_bits = 64'
METRICS = 'metrics = ["auroc", "aupr"]'
KIND = 'kind = "publication"'
DIGITS_RULE, COUNTS = "# digits = 3", '# counts = "rounded"'
SCALE = 'score_scale = "any"'
DIGITS = f'"exact", or a whole number from 1 to {MOST_DIGITS}'

NO_AUTO = (
    "there is no 'auto' and no most_digits any more; leave both out: kind = 'publication' gives 3 decimals"
)


def made(plan: Path, out: Path, *changes: tuple[str, str]) -> Manifest:
    """From the sample, changed."""
    text = SAMPLE
    for old, new in changes:
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    plan.write_text(text)
    return provision(plan, out)


def test_a_study_that_says_nothing_has_the_strict_policy(plan: Path, tmp_path: Path) -> None:
    """The sample has it in comments, but for its minimum of samples."""
    section = SAMPLE[SAMPLE.index("[policy]") :]
    manifest = made(plan, tmp_path / "kits", (section, ""))
    assert manifest.terms.policy == Policy()
    sample = made(plan, tmp_path / "sample").terms.policy
    assert sample == Policy(minimum_samples=100)


def test_the_rules_that_the_sample_shows_are_those_of_the_kind(plan: Path, tmp_path: Path) -> None:
    """Each with its comment sign taken away; and those of a private study."""
    section = SAMPLE[SAMPLE.index("[policy]") :]
    shown = re.findall(r"^# (\w+ = .*)$", section, flags=re.MULTILINE)
    rules = [line for line in shown if not line.startswith(("epsilon", "rows_per_person"))]
    assert len(rules) == 8
    assert len(shown) == 10
    written = made(plan, tmp_path / "kits", *((f"# {line}\n", f"{line}\n") for line in rules))
    assert written.terms.policy == Policy(minimum_samples=100)
    private = [(f"# {line}\n", f"{line}\n") for line in shown if line not in rules]
    auroc = (METRICS, 'metrics = ["auroc"]')
    manifest = made(plan, tmp_path / "private", (KIND, 'kind = "private"'), auroc, *private)
    assert manifest.terms.policy == Policy.private(minimum_samples=100)


@pytest.mark.parametrize(("kind", "digits"), [("publication", 1), ("exact", MOST_DIGITS), ("exact", "exact")])
def test_every_rule_is_part_of_the_hash_and_shown(
    kind: str, digits: int | str, plan: Path, kits: Path, tmp_path: Path
) -> None:
    written = f'digits = "{digits}"' if isinstance(digits, str) else f"digits = {digits}"
    changes = ((KIND, f'kind = "{kind}"'), (DIGITS_RULE, written), (COUNTS, 'counts = "rounded"'))
    manifest = made(plan, tmp_path / "other", *changes)
    assert manifest.hash != Manifest.read(kits / "sepsis-2026.json").hash
    assert (manifest.terms.policy.digits, manifest.terms.policy.counts) == (digits, "rounded")
    shown = dict(manifest.describe())
    assert shown["policy: kind"].startswith(f"{kind}, for ")
    assert shown["policy: digits"].startswith(str(digits))
    assert ("full precision" in shown["policy: digits"]) == (digits == "exact")
    assert shown["policy: class counts"] == "rounded, to multiples of 5"
    assert shown["intervals"] == "at confidence level 0.95"


@pytest.mark.parametrize(
    "changes",
    [[], [EXACT, (DIGITS_RULE, "digits = 3")], [EXACT, (COUNTS, 'counts = "rounded"')]],
    ids=["publication", "rounded", "rounded counts"],
)
def test_paper_takes_an_exact_policy_only(changes: list[tuple[str, str]], plan: Path, tmp_path: Path) -> None:
    paper = (FAST, 'name = "paper"')
    with pytest.raises(InputError, match=r"'paper' cannot round or draw noise .* must say kind = 'exact'"):
        made(plan, tmp_path / "kits", paper, INTERVALS, *changes)
    with pytest.raises(InputError, match="'paper' does not compute intervals; use 'fast'"):
        made(plan, tmp_path / "kits", paper, EXACT)
    other = 'metrics = ["auroc", { name = "accuracy", thresholds = [0.5] }]'
    with pytest.raises(InputError, match="'paper' does not compute the metric 'accuracy'; use 'fast'"):
        made(plan, tmp_path / "kits", paper, EXACT, INTERVALS, (METRICS, other))
    assert not (tmp_path / "kits").exists()
    assert made(plan, tmp_path / "kits", paper, EXACT, INTERVALS).terms.policy.digits == "exact"


PROBABILITIES = (
    "brier",
    "observed_expected",
    "calibration_in_the_large",
    "reliability",
    '{ name = "net_benefit", thresholds = [0.1] }',
)


@pytest.mark.parametrize("metric", PROBABILITIES)
def test_metrics_of_probabilities_need_them_agreed_on(metric: str, plan: Path, tmp_path: Path) -> None:
    chosen = (METRICS, f"metrics = [{metric if metric.startswith('{') else repr(metric)}]")
    with pytest.raises(
        InputError, match=r"metrics: '.*' takes probabilities; .*score_scale = \"probability\""
    ):
        made(plan, tmp_path / "kits", chosen)
    assert not (tmp_path / "kits").exists()
    manifest = made(plan, tmp_path / "kits", chosen, (SCALE, 'score_scale = "probability"'))
    assert manifest.terms.metrics[0].of_probabilities


def test_metrics_have_parameters(plan: Path, tmp_path: Path) -> None:
    """In a table; they are part of what is shown."""
    wanted = (
        'metrics = ["auroc", { name = "sensitivity", thresholds = [0.2, 0.5] }, '
        '{ name = "partial_auroc", max_fpr = 0.1 }]'
    )
    manifest = made(plan, tmp_path / "kits", (METRICS, wanted))
    assert [metric.name for metric in manifest.terms.metrics] == ["auroc", "sensitivity", "partial_auroc"]
    shown = dict(manifest.describe())["metrics"]
    assert shown == "auroc, sensitivity (thresholds 0.2 0.5), partial_auroc (max_fpr 0.1)"
    assert Manifest.parse(manifest.text(), "here").terms.metrics == manifest.terms.metrics


def test_a_metric_that_tells_counts_needs_a_policy_that_tells_them(plan: Path, tmp_path: Path) -> None:
    histogram = (METRICS, 'metrics = ["histogram"]')
    with pytest.raises(InputError, match="'histogram' tells numbers of positives and negatives"):
        made(plan, tmp_path / "kits", histogram, (COUNTS, 'counts = "hidden"'))
    assert made(plan, tmp_path / "rounded", histogram).terms.policy.counts == "rounded"
    assert made(plan, tmp_path / "exact", histogram, EXACT).terms.policy.counts == "exact"


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            "# minimum_owners = 3",
            "minimum_owners = 4",
            r"policy\.minimum_owners: at least 4 .*, got 3",
        ),
        ("# minimum_owners = 3", "minimum_owners = 1", r"policy\.minimum_owners: expected int >= 2"),
        ("# largest_owner_fraction = 0.5", "largest_owner_fraction = 0.0", "expected float > 0"),
        ("# largest_owner_fraction = 0.5", "largest_owner_fraction = 1.01", "expected float <= 1"),
        ("minimum_samples = 100", "minimum_samples = 1", "expected int >= 2"),
        ("# minimum_samples_per_owner = 20", "minimum_samples_per_owner = 0", "expected int >= 1"),
        ("# minimum_positives = 10", "minimum_positives = -1", "expected int >= 0"),
        ("# minimum_negatives = 10", "minimum_negatives = 10.5", "expected int, got float"),
        ("# minimum_per_cell = 10", "minimum_per_cell = 0", "expected int >= 1"),
        (DIGITS_RULE, "digits = 0", rf"policy\.digits: expected {DIGITS}"),
        (DIGITS_RULE, f"digits = {MOST_DIGITS + 1}", rf"policy\.digits: expected {DIGITS}"),
        (DIGITS_RULE, 'digits = "many"', rf"policy\.digits: expected {DIGITS}"),
        (DIGITS_RULE, "digit = 2", r"policy\.digit: .*did you mean 'digits'\?"),
        (DIGITS_RULE, 'digits = "auto"', f"policy.digits: {NO_AUTO}"),
        (DIGITS_RULE, "most_digits = 4", f"policy.digits: {NO_AUTO}"),
        (
            DIGITS_RULE,
            "digits = 4",
            r"policy: digits: kind = 'publication' has 3, and a plan may only be",
        ),
        (
            KIND,
            'kind = "private"\ndigits = 2',
            "policy: digits: kind = 'private' withholds and rounds",
        ),
        (KIND, 'kind = "none"', r'policy\.kind: expected "publication", "private" or "exact"'),
        (KIND, "epsilon = 2.0", "policy: epsilon and weights are rules of kind = 'private'"),
        (COUNTS, 'counts = "told"', r'policy\.counts: expected "hidden", "rounded" or "exact"'),
        ("[limits]", "[release]\nminimum_samples = 10\n[limits]", "release: there is no such setting"),
        ("confidence_level = 0.95", "confidence_level = 95", "write 0.95 for 95 %"),
        ("confidence_level = 0.95", "confidence_level = 1.0", "between 0 and 1, both excluded"),
        ("confidence_level = 0.95", 'confidence_level = "high"', "confidence_level: expected float"),
        (METRICS, 'metrics = ["sensitivity"]', "metrics: sensitivity needs thresholds; in the place"),
        (METRICS, 'metrics = [{ name = "ap", bins = [1.0] }]', "metrics, entry 1: ap: bins: there is no"),
        (METRICS, "metrics = [{ thresholds = [0.5] }]", "metrics, entry 1: unknown metric"),
        (METRICS, "metrics = [5]", "metrics, entry 1: a metric is a name, or a table"),
    ],
)
def test_a_wrong_rule_is_refused_with_its_place(
    plan: Path, tmp_path: Path, old: str, new: str, message: str
) -> None:
    with pytest.raises(InputError, match=message) as caught:
        made(plan, tmp_path / "kits", (old, new))
    assert str(plan) in str(caught.value)
    assert not (tmp_path / "kits").exists()


def test_an_owners_floors_are_in_its_kit(kits: Path) -> None:
    settings = kits / "hospital-a/owner.toml"
    assert OwnerKit.read(kits / "hospital-a").settings.floors == Floors()
    plain = settings.read_text()
    settings.write_text(f"{plain}[floors]\nminimum_positives = 50\ndigits = 2\n")
    assert OwnerKit.read(kits / "hospital-a").settings.floors == Floors(minimum_positives=50, digits=2)
    for bad, message in (
        ("minimum_positive = 50", r"floors\.minimum_positive: .*did you mean 'minimum_positives'\?"),
        ("minimum_samples_per_owner = 5", r"floors\.minimum_samples_per_owner: there is no such setting"),
        (f"minimum_positives = {2**64 + 1}", r"floors\.minimum_positives: expected int <="),
        ("digits = 0", rf"floors\.digits: expected {DIGITS}"),
        ("largest_owner_fraction = 2.0", r"floors\.largest_owner_fraction: expected float <= 1"),
    ):
        settings.write_text(f"{plain}[floors]\n{bad}\n")
        with pytest.raises(InputError, match=message) as caught:
            OwnerKit.read(kits / "hospital-a")
        assert str(settings) in str(caught.value)


def test_what_the_release_tells_is_shown_before_anybody_agrees(plan: Path, kits: Path) -> None:
    """By `disclosure` for a plan or a manifest, and by `accept`."""
    told = "auroc, aupr: 3 decimals; standard errors with one decimal more"
    for source in (plan, kits / "sepsis-2026.json"):
        shown = CliRunner().invoke(cli, ["disclosure", str(source), "--samples", "1000,800,600"])
        assert shown.exit_code == 0, shown.output
        assert "if they have 1,000, 800 and 600 samples:" in shown.output
        assert "publication (the plan)  private, epsilon 2" in shown.output
        assert told in shown.output
    alike = CliRunner().invoke(cli, ["disclosure", str(plan), "--samples", "1000,1000,1000"])
    assert "if each has 1,000 samples:" in alike.output
    small = CliRunner().invoke(cli, ["disclosure", str(plan), "--samples", "1_000,30,20"])
    assert "there will be no result: one owner has more than 0.5 of all samples" in small.output
    wrong = CliRunner().invoke(cli, ["disclosure", str(plan), "--samples", "1000,800"])
    assert isinstance(wrong.exception, InputError)
    accepted = CliRunner().invoke(
        cli, ["accept", str(kits / "helper"), str(kits / "sepsis-2026.json")], input="n\n"
    )
    assert told in accepted.output
    assert "'ppaurora disclosure' says more" in accepted.output
    assert isinstance(accepted.exception, InputError)


@pytest.mark.parametrize("rule", ["minimum_positives", "minimum_negatives", "minimum_per_cell"])
@pytest.mark.parametrize("least", [2**41, 2**62, 2**63 + 100, 2**64 + 1])
def test_a_floor_that_would_wrap_around_is_refused(rule: str, least: int) -> None:
    """Modulo 2^64 it would be no floor at all, and as the largest one replace those of all others."""
    offer = {"samples": 100, "floors": {rule: least}, "commitments": []}
    with pytest.raises(ValueError, match=f"<= {2**40}.*{rule}"):
        from_json(Offer, to_json(offer))
    assert from_json(Offer, to_json({**offer, "floors": {rule: 2**40}})).floors != Floors()


def test_the_largest_floor_suppresses() -> None:
    labels = ([1, 0] * 20, [score / 40 for score in range(40)])
    for least, suppressed in ((20, False), (2**40, True)):
        policy = Policy(minimum_positives=least)
        assert ppaurora.evaluate([labels] * 3, metrics=["auroc"], policy=policy).suppressed is suppressed
