"""Plans: what people write, and what is refused with its place."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from ppaurora.cli.main import cli
from ppaurora.errors import InputError
from ppaurora.study.manifest import Manifest
from ppaurora.study.plan import SAMPLE, read_plan
from ppaurora.study.provision import provision
from tests.study.conftest import EXACT, INTERVALS
from tests.support.plans import uncommented


def test_the_sample_is_a_plan(kits: Path) -> None:
    printed = CliRunner().invoke(cli, ["provision", "--sample"])
    assert printed.output == SAMPLE
    manifest = Manifest.read(kits / "sepsis-2026.json")
    assert manifest.owner_names == ["hospital-a", "hospital-b", "hospital-c"]
    assert manifest.terms.policy.minimum_samples == 100


GRID = ('name = "fast"\nkey_bits = 64', 'name = "grid"')


def test_the_sample_shows_a_design_that_is_one(plan: Path, tmp_path: Path) -> None:
    """All that goes together, as the comments have it."""
    plan.write_text(uncommented("models", "comparisons", "outcomes", "subgroups", "sites", "left_out"))
    terms = provision(plan, tmp_path / "kits").terms
    assert terms.model_names == ("new", "old")
    assert terms.comparisons == (("new", "old"),)
    assert terms.outcome_names == ("death", "readmission")
    assert terms.subgroups["sex"].levels == ("f", "m")
    assert (terms.sites, terms.left_out) == (True, True)
    assert len(terms.slices) == 2 * 2 * (1 + 2)


def test_the_sample_shows_patients_and_weights(plan: Path) -> None:
    text = uncommented("models", "comparisons", "patient", "subgroups")
    plan.write_text(text)
    with pytest.raises(InputError, match=r"patient: patients have several rows; .*rows_per_person = 5"):
        read_plan(plan)
    plan.write_text(text.replace("# rows_per_person = 1", "rows_per_person = 3"))
    assert read_plan(plan).patient == "patient_id"
    assert read_plan(plan).is_clustered
    plan.write_text(uncommented("weight").replace(*GRID))
    weight = read_plan(plan).weight
    assert weight is not None
    assert (weight.column, weight.most) == ("weight", 5)


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        (("sites", "patient"), "sites: owners' own .* leave out either sites or patient$"),
        (("weight",), "weight: rows are counted with their weights by the protocol 'grid' alone"),
        (("comparisons",), "comparisons: 'new' is not a model in this study"),
        (("subgroups",), "protocol: comparisons, subgroups and patients with several rows need scores that"),
    ],
)
def test_what_does_not_go_together_is_refused(fields: tuple[str, ...], said: str, plan: Path) -> None:
    plan.write_text(uncommented(*fields))
    with pytest.raises(InputError, match=said):
        read_plan(plan)


MODELS = "[models.a]\ncolumn = 'risk'\n[models.b]\ncolumn = 'points'\n"
LEVELS = r'levels: expected from 2 to 64 levels, each in quotes, as in \["f", "m"\] or \["0", "1"\]$'
PAIRS = r'comparisons: expected pairs of models, as in \[\["a", "b"\]\]'


@pytest.mark.parametrize(
    ("settings", "tables", "said"),
    [
        ('comparisons = ["a", "b"]', MODELS, PAIRS),
        ('comparisons = [["a", "b", "c"]]', MODELS, PAIRS),
        ('comparisons = "all"', MODELS, PAIRS),
        ("", "[subgroups.sex]\nlevels = [0, 1]", f"subgroups.sex.{LEVELS}"),
        ("", "[subgroups.sex]\nlevels = ['f']", f"subgroups.sex.{LEVELS}"),
        (
            "",
            "[subgroups.sex]",
            r"subgroups.sex.levels: is missing; expected from 2 to 64 levels, each in q",
        ),
        ("", "[weight]\nmost = 5000", "weight.most: expected a whole number from 1 to 1,000$"),
        ("", MODELS + "cells = 1", "models.b.cells: expected a whole number from 2 to 1,024$"),
        ("", MODELS + "spacing = 'wide'", 'models.b.spacing: expected "even" or "log"$'),
        (
            "",
            MODELS.replace("points", "risk"),
            "models: a and b have the same column, 'risk'; give each its own$",
        ),
        (
            "",
            "[outcomes.died]\n[outcomes.icu]\ncolumn = 'died'",
            "outcomes: died and icu have the same column, 'died'; give each its own$",
        ),
    ],
)
def test_what_a_design_expects_is_said_in_words(settings: str, tables: str, said: str, plan: Path) -> None:
    before, first, rest = SAMPLE.partition("\n[")
    plan.write_text(f"{before}\n{settings}\n{first}{rest}\n{tables}\n")
    with pytest.raises(InputError, match=said):
        read_plan(plan)


@pytest.mark.parametrize("until", ['"2090-01-31"', "2090-01-31", '"2090-01-31T12:00:00+01:00"'])
def test_what_is_evaluated_is_agreed_on_and_shown(until: str, plan: Path, kits: Path, tmp_path: Path) -> None:
    """Part of the hash, and of what `accept` shows before it asks; a date may be written as TOML has it."""
    plan.write_text(
        SAMPLE.replace('# submissions_until = "2026-12-31"', f"submissions_until = {until}").replace(
            '"higher"\n', '"lower"\n'
        )
    )
    manifest = provision(plan, tmp_path / "dated", kits)
    assert manifest.hash != Manifest.read(kits / "sepsis-2026.json").hash
    assert manifest.evaluation.submissions_until == until.strip('"')
    declined = CliRunner().invoke(
        cli, ["accept", str(kits / "helper"), str(tmp_path / "dated/sepsis-2026.json")], input="n\n"
    )
    said = declined.output
    for words in (
        "sepsis alert of the wards",
        "sepsis-alert, version 2.1.0",
        "within 48 hours",
        "any number; lower means more positive",
        f"until {'the end of 2090-01-31 (UTC)' if 'T' not in until else until.strip(chr(34))}",
    ):
        assert words in said, words


def test_scores_that_would_be_negated_need_a_protocol_that_takes_them(plan: Path, tmp_path: Path) -> None:
    sample = SAMPLE.replace(*INTERVALS).replace(*EXACT)
    plan.write_text(sample.replace('"higher"\n', '"lower"\n').replace('"fast"\nkey_bits = 64', '"paper"'))
    with pytest.raises(InputError, match=r"evaluation: score_direction: .*'paper' takes scores from 0 to 1"):
        provision(plan, tmp_path / "kits")


def test_more_samples_than_the_arithmetic_holds_are_refused(plan: Path, tmp_path: Path) -> None:
    plan.write_text(SAMPLE.replace("samples_per_owner = 1_000_000", "samples_per_owner = 2_000_000_000"))
    with pytest.raises(InputError, match="1,073,741,824 samples in all are the most"):
        provision(plan, tmp_path / "kits")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            "key_bits = 64",
            "key_bit = 64",
            r"protocol: key_bit: there is no such setting; did you mean 'key_bits'\?",
        ),
        ("attempts = 5", "atempts = 5", r"limits.atempts: .* did you mean 'attempts'\?"),
        (
            'nodes_address = "helper.example.com:8444"',
            'node_address = "helper.example.com:8444"',
            r"nodes.helper.node_address: .*did you mean 'nodes_address'\?",
        ),
        ("[owners.hospital-a]", "[owners.hospital-a]\ncertificat = 'x'", r"did you mean 'certificate'\?"),
        ("[owners.hospital-a]", "[owners.Hospital_A]", "owners.Hospital_A"),
        ("[owners.hospital-a]", "[owners.helper]", "may not be called like a node"),
        ('"auroc", "aupr"', '"auroc", "auprc"', "unknown metric 'auprc'"),
        (
            '["auroc", "aupr"]',
            '["auroc", "sensitivity"]',
            r"metrics: sensitivity needs thresholds; in the place of its name, write \{ name = "
            r'"sensitivity", thresholds = \[0.1, 0.2, 0.5\] \}$',
        ),
        ("key_bits = 64", "key_bits = 48", "protocol: key_bits: keys have 32 or 64 bits, not 48"),
        ("key_bits = 64", 'key_bits = "64"', "protocol: key_bits: expected int, got str"),
        ('name = "fast"\nkey_bits = 64', 'name = "quick"', "protocol: unknown protocol 'quick'; there are:"),
        ('[protocol]\nname = "fast"\nkey_bits = 64', 'protocol = "fast"', "protocol: a protocol is a table"),
        ('"proxy0.example.org:8444"', '"proxy0.example.org"', "an address is a host and a port"),
        ("[nodes.helper]", "[nodes.helpr]", "nodes"),
        ('"proxy1.example.net:8444"', '"proxy1.example.net:8443"', "two addresses are the same"),
        ("key_bits = 64", "key_bits = ", "is not TOML"),
        ("retention_days = 30", "retention_days = 0", "limits.retention_days: expected int >= 1"),
        ('name = "fast"', 'name = "fast"\ndelta = 3', "protocol: delta: "),
        ('score_scale = "any"', 'scale = "any"', r"evaluation.scale: .*did you mean 'score_scale'\?"),
        ('score_scale = "any"', 'score_scale = "logit"', 'score_scale: expected "any" or "probability"'),
        ('= "higher"', '= "up"', 'evaluation.score_direction: expected "higher" or "lower"'),
        (
            'score_direction = "higher"\n# What scores are: "any" finite number, or "probability", from 0 to '
            '1.\nscore_scale = "any"',
            'score_direction = "lower"\nscore_scale = "probability"',
            "evaluation: score_direction: a probability",
        ),
        ('model = "sepsis-alert"', 'model = "a\\nb"', "evaluation.model: expected one line"),
        ('version = "2.1.0"', "version = 2", "evaluation.version"),
        ('# submissions_until = "2026-12-31"', "submissions_until = 'soon'", "expected a date such as"),
        (
            '# submissions_until = "2026-12-31"',
            "submissions_until = 2020-01-31",
            "is over; name a later date",
        ),
        ('# submissions_until = "2026-12-31"', "submissions_until = 2090-01-31T12:00:00", "expected a date"),
    ],
)
def test_a_wrong_plan_is_refused_with_its_place(
    plan: Path, tmp_path: Path, old: str, new: str, message: str
) -> None:
    assert SAMPLE.count(old) == 1
    plan.write_text(SAMPLE.replace(old, new))
    with pytest.raises(InputError, match=message) as caught:
        provision(plan, tmp_path / "kits")
    assert str(plan) in str(caught.value)
    assert not (tmp_path / "kits").exists()
