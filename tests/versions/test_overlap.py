"""Nodes and owners of the version before, beside those of today: organisations upgrade on different days."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from ppaurora.errors import InputError
from ppaurora.messages import VERSION
from ppaurora.messages.owners import StudyState
from ppaurora.node.audit import check_log
from ppaurora.node.store import Store
from ppaurora.node.store.database import SCHEMA_VERSION
from ppaurora.owner.study import Study
from ppaurora.study.kit import OwnerKit
from ppaurora.study.manifest import Manifest
from ppaurora.study.provision import provision
from tests.support.deployment import OWNERS, Deployment, samples, write_csv
from tests.support.oracles import exact_auroc
from tests.support.sending import send
from tests.versions.earlier import Earlier

YES = ("--yes", "--despite-warnings")
DATA = {owner: samples(60, place) for place, owner in enumerate(OWNERS)}


@pytest.fixture(scope="module")
def earlier(tmp_path_factory: pytest.TempPathFactory) -> Earlier:
    return Earlier(tmp_path_factory.mktemp("earlier"))


@pytest.fixture
def consortium(tmp_path: Path) -> Iterator[Deployment]:
    consortium = Deployment(tmp_path)
    for path in (tmp_path / "kits").glob("*/studies/*.json"):
        path.unlink()  # it is of today's version
    yield consortium
    consortium.stop()


def provisioned(consortium: Deployment, earlier: Earlier, name: str) -> Manifest:
    """A study that the earlier state has made, accepted at all nodes and in the kits of all owners."""
    folder = consortium.folder
    (folder / f"{name}.toml").write_text(consortium.plan(name, 100))
    made = earlier.run(
        "provision", folder / f"{name}.toml", "--out", folder / name, "--reuse", folder / "kits"
    )
    assert made.returncode == 0, made.stderr
    for node in consortium.processes or ("proxy-0", "proxy-1", "helper"):
        accepted = earlier.run("accept", consortium.kit(node), folder / name / f"{name}.json", "--yes")
        assert accepted.returncode == 0, accepted.stderr
    manifest = Manifest.read(folder / name / f"{name}.json")
    for owner in OWNERS:
        OwnerKit.read(consortium.kit(owner)).add(manifest)
    return manifest


def expected() -> float:
    pairs = [
        (score, int(label))
        for labels, scores in DATA.values()
        for label, score in zip(labels, scores, strict=True)
    ]
    found = exact_auroc(pairs)
    assert found is not None
    return float(found)


def submitted_as_before(consortium: Deployment, earlier: Earlier, owner: str, name: str) -> None:
    file = write_csv(consortium.folder / f"{owner}.csv", *DATA[owner])
    sent = earlier.run("submit", consortium.kit(owner), file, "--study", name, *YES)
    assert sent.returncode == 0, sent.stderr


def submitted(consortium: Deployment, owner: str, name: str) -> None:
    send(Study(consortium.kit(owner), name), DATA[owner])


def upgrade(consortium: Deployment, node: str) -> None:
    consortium.processes[node].terminate()
    consortium.processes[node].wait(60)
    consortium.start(node)


@pytest.mark.long
@pytest.mark.parametrize(
    "order",
    [
        ("helper", "proxy-1", "proxy-0"),
        ("proxy-0", "helper", "proxy-1"),
        ("proxy-1", "proxy-0", "helper"),
    ],
    ids=" ".join,
)
def test_studies_go_on_while_one_node_after_the_other_is_upgraded(
    consortium: Deployment, earlier: Earlier, order: tuple[str, ...]
) -> None:
    """One is computed with every mixture of nodes; another one is under way all the while."""
    provisioned(consortium, earlier, "under-way")
    for node in order:
        provisioned(consortium, earlier, f"without-{node}")
    earlier.start(consortium, *order)
    submitted_as_before(consortium, earlier, "north", "under-way")
    for node in order:
        upgrade(consortium, node)
        name = f"without-{node}"
        submitted_as_before(consortium, earlier, "north", name)
        submitted(consortium, "harbour", name)
        submitted_as_before(consortium, earlier, "valley", name)
        assert Study(consortium.kit("harbour"), name).wait(timeout=300).auroc == expected()
        fetched = earlier.run("result", consortium.kit("north"), "--study", name)
        assert fetched.returncode == 0, fetched.stderr
        verified = earlier.run("verify", consortium.kit("north") / "results" / f"{name}.json")
        assert verified.returncode == 0, verified.stderr
    submitted(consortium, "harbour", "under-way")
    submitted(consortium, "valley", "under-way")
    report = Study(consortium.kit("valley"), "under-way").wait(timeout=300)
    assert report.auroc == expected()
    assert report.receipt.manifest.version == VERSION - 1
    assert {one.statement.protocol_version for one in report.receipt.statements} == {VERSION - 1}
    assert Study(consortium.kit("north"), "under-way").wait(timeout=300).auroc == expected()


def test_a_new_study_waits_for_all_to_upgrade_unless_it_is_made_for_the_version_before(
    consortium: Deployment, earlier: Earlier
) -> None:
    folder = consortium.folder
    refused = earlier.run("accept", consortium.kit("helper"), folder / "kits" / "trial.json", "--yes")
    assert refused.returncode == 2
    assert f"takes part in studies of version {VERSION - 2} and {VERSION - 1} only" in refused.stderr
    plan = folder / "early.toml"
    plan.write_text(consortium.plan("early", 100))
    manifest = provision(plan, folder / "early", folder / "kits", version=VERSION - 1)
    assert Manifest.read(folder / "early" / "early.json") == manifest
    accepted = earlier.run("accept", consortium.kit("helper"), folder / "early" / "early.json", "--yes")
    assert accepted.returncode == 0, accepted.stderr
    with pytest.raises(InputError, match="takes part in studies of version"):
        provision(plan, folder / "too-early", folder / "kits", version=VERSION - 2)


def test_a_downgrade_goes_on_with_the_copy_and_another_upgrade_with_that(
    consortium: Deployment, earlier: Earlier
) -> None:
    """As the guide has it: the node was rolled back, and goes on once its operator has said so."""
    provisioned(consortium, earlier, "back")
    data = consortium.kit("proxy-0") / "data"
    with Store(data) as store:
        assert [study.manifest.study for study in store.studies()] == ["back"]
        store.record("done since the upgrade")
    refused = earlier.run("studies", consortium.kit("proxy-0"))
    assert refused.returncode == 2
    assert f"was written by a newer ppaurora (schema {SCHEMA_VERSION}; this one reads" in refused.stderr
    for path in [*data.glob("node.db*"), data / "node.mark"]:
        if "schema" not in path.name:
            path.unlink()
    (data / f"node.db.schema-{SCHEMA_VERSION - 1}").rename(data / "node.db")
    behind = earlier.run("studies", consortium.kit("proxy-0"))
    assert behind.returncode == 2
    assert "this node was rolled back" in behind.stderr
    recovered = earlier.run("recover", consortium.kit("proxy-0"), "--yes")
    assert recovered.returncode == 0, recovered.stderr
    listed = earlier.run("studies", consortium.kit("proxy-0"))
    assert listed.returncode == 0, listed.stderr
    assert "back: collecting" in listed.stdout
    with closing(sqlite3.connect(data / "node.db")) as db:
        assert db.execute("PRAGMA user_version").fetchone() == (SCHEMA_VERSION - 1,)
    stopped = earlier.run("stop", consortium.kit("proxy-0"), "back")
    assert stopped.returncode == 0, stopped.stderr
    with Store(data) as store:
        assert [study.state for study in store.studies()] == [StudyState.STOPPED]
        assert check_log(*store.audit_log()).problem == ""
