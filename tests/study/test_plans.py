"""Plans: what people write, and what is refused with its place."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from ppaurora.cli.main import cli
from ppaurora.errors import InputError
from ppaurora.study.manifest import Manifest
from ppaurora.study.plan import SAMPLE
from ppaurora.study.provision import provision


def test_the_sample_is_a_plan(kits: Path) -> None:
    printed = CliRunner().invoke(cli, ["provision", "--sample"])
    assert printed.output == SAMPLE
    manifest = Manifest.read(kits / "sepsis-2026.json")
    assert manifest.owner_names == ["hospital-a", "hospital-b", "hospital-c"]
    assert manifest.release.minimum_samples == 100


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
        ("key_bits = 64", "key_bits = 48", "protocol: key_bits: keys have 32 or 64 bits, not 48"),
        ("key_bits = 64", 'key_bits = "64"', "protocol: key_bits: expected int, got str"),
        ('name = "fast"\nkey_bits = 64', 'name = "quick"', "protocol: unknown protocol 'quick'; there are:"),
        ('[protocol]\nname = "fast"\nkey_bits = 64', 'protocol = "fast"', "protocol: a protocol is a table"),
        ('"proxy0.example.org:8444"', '"proxy0.example.org"', "an address is a host and a port"),
        ("[nodes.helper]", "[nodes.helpr]", "nodes"),
        ('"proxy1.example.net:8444"', '"proxy1.example.net:8443"', "two addresses are the same"),
        ("key_bits = 64", "key_bits = ", "is not TOML"),
        ("retention_days = 30", "retention_days = 0", "release.retention_days"),
        ('name = "fast"', 'name = "fast"\ndelta = 3', "protocol: delta: "),
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
