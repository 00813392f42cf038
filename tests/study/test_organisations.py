"""One organisation in two places: refused, or said in words before anybody agrees."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner

from ppaurora.cli.main import cli
from ppaurora.errors import InputError
from ppaurora.setup.acceptance import accept
from ppaurora.study.kit import read_kit
from ppaurora.study.manifest import Manifest, OwnerEntry
from ppaurora.study.names import Organisation
from ppaurora.study.organisations import check_nodes_apart, organisation_warnings
from ppaurora.study.plan import SAMPLE
from ppaurora.study.provision import provision

TOGETHER = (
    "proxy 0 and helper are run by one organisation, 'First University': two servers together see everything"
)


def run(*arguments: object, answer: str = "") -> tuple[int, str]:
    done = CliRunner().invoke(cli, list(map(str, arguments)), input=answer)
    return done.exit_code, f"{done.output}{done.exception or ''}"


def test_the_samples_organisations_are_apart(kits: Path) -> None:
    manifest = Manifest.read(kits / "sepsis-2026.json")
    check_nodes_apart(manifest)
    assert organisation_warnings(manifest) == []


@pytest.mark.parametrize("spelt", ["First University", "  first   UNIVERSITY ", "ﬁrst university"])
def test_two_nodes_of_one_organisation_have_to_be_forced(spelt: str, plan: Path, tmp_path: Path) -> None:
    """However its name is written; at every node and owner again, and it is said what it means."""
    plan.write_text(SAMPLE.replace("An Institute", spelt))
    code, said = run("provision", plan, "--out", tmp_path / "kits")
    assert code != 0
    assert f"{plan}: {TOGETHER}" in said
    assert "--force" in said
    assert not (tmp_path / "kits").exists()
    code, said = run("provision", plan, "--out", tmp_path / "kits", "--force")
    assert (code, f"warning: {TOGETHER}" in said) == (0, True)
    manifest = tmp_path / "kits/sepsis-2026.json"
    for name in ("proxy-1", "hospital-a"):
        kit = tmp_path / "kits" / name
        code, said = run("accept", kit, manifest, "--yes")
        assert code != 0
        assert "add --force" in said
        with pytest.raises(InputError, match="two servers together see everything"):
            accept(read_kit(kit), Manifest.read(manifest))
        code, said = run("accept", kit, manifest, "--force", answer="n\n")
        assert (code != 0, f"warning: {TOGETHER}" in said, "not accepted" in said) == (True, True, True)
        assert run("accept", kit, manifest, "--yes", "--force")[0] == 0


def with_organisations(manifest: Manifest, owner: str, **nodes: str) -> Manifest:
    owners = tuple(
        msgspec.structs.replace(one, organisation=Organisation(owner)) if one.name == "hospital-b" else one
        for one in manifest.owners
    )
    changed = {
        name: msgspec.structs.replace(node, organisation=Organisation(nodes.get(name, node.organisation)))
        for name, node in manifest.nodes.items()
    }
    return msgspec.structs.replace(manifest, owners=owners, nodes=changed)


def test_an_owner_that_runs_a_node_is_warned_of(kits: Path) -> None:
    manifest = Manifest.read(kits / "sepsis-2026.json")
    (said,) = organisation_warnings(with_organisations(manifest, "an  institute"))
    assert said.startswith("owner hospital-b and helper belong to one organisation, 'an  institute'")
    assert "no more than any owner" in said
    assert "not protected" in said
    assert organisation_warnings(with_organisations(manifest, "Another Institute")) == []
    check_nodes_apart(with_organisations(manifest, "An Institute"))


def test_nodes_that_nobody_is_named_for_are_warned_of(kits: Path) -> None:
    """Names that are missing are not the same name."""
    manifest = with_organisations(
        Manifest.read(kits / "sepsis-2026.json"), "", **{"proxy-1": "", "helper": " "}
    )
    check_nodes_apart(manifest)
    (said,) = organisation_warnings(manifest)
    assert said.startswith("nobody can tell who runs proxy 1 and helper: no organisation is named")


def test_owners_of_one_organisation_are_not_the_servers_concern(kits: Path) -> None:
    manifest = Manifest.read(kits / "sepsis-2026.json")
    same = tuple(
        OwnerEntry(name=owner.name, pin=owner.pin, organisation=Organisation("A Group"))
        for owner in manifest.owners
    )
    assert organisation_warnings(msgspec.structs.replace(manifest, owners=same)) == []


def test_what_is_forced_in_python(plan: Path, tmp_path: Path) -> None:
    plan.write_text(SAMPLE.replace("An Institute", "Second University"))
    with pytest.raises(InputError, match="proxy 1 and helper are run by one organisation"):
        provision(plan, tmp_path / "kits")
    manifest = provision(plan, tmp_path / "kits", force=True)
    assert accept(read_kit(tmp_path / "kits/helper"), manifest, force=True)
