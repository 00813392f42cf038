"""Studies of three owners under a policy: made-up data, owners' floors, and what must come out."""

from __future__ import annotations

import shutil
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ppaurora.data import check_samples
from ppaurora.messages.owners import StudyState
from ppaurora.owner.report import StudyReport
from ppaurora.owner.study import Study
from ppaurora.policy.rules import Policy
from ppaurora.statistics.estimates import Estimate, Table
from tests.support import releases
from tests.support.deployment import NODES
from tests.support.oracles import Sample
from tests.support.trials import OWNERS, Trials, becomes

SIZES = (500, 430, 400)
THRESHOLDS = (-0.5, 0.5)
HEAD = f"""\
metrics = [
    "auroc", "aupr", "ap",
    {{ name = "sensitivity", thresholds = {list(THRESHOLDS)} }},
    {{ name = "ppv", thresholds = {list(THRESHOLDS)} }},
]
confidence_level = 0.95
"""
DEFAULT_POLICY = ""  # a plan that says nothing

Data = Mapping[str, tuple[np.ndarray, np.ndarray]]  # labels and scores of every owner


def made_up(study: str, positives: Sequence[int] | None = None, sizes: Sequence[int] = SIZES) -> Data:
    """Scores with ties, of which no other study has any; so many positives of every owner, or about half."""
    seed = zlib.crc32(study.encode())
    random = np.random.default_rng(seed)
    data = {}
    for owner, size, count in zip(OWNERS, sizes, positives or [size // 2 for size in sizes], strict=True):
        labels = random.permutation(np.arange(size) < count)
        data[owner] = labels, np.round(random.normal(size=size) + labels, 2) + seed / 2**40
    return data


def by_owner(data: Data) -> list[list[Sample]]:
    return [
        [(float(score), int(label)) for label, score in zip(labels, scores, strict=True)]
        for labels, scores in data.values()
    ]


def submit_all(
    nodes: Trials, study: str, data: Data, kits: Mapping[str, Path] | None = None
) -> dict[str, Study]:
    """From these kits, where there are any; returns every owner's study."""
    studies = {owner: Study((kits or {}).get(owner, nodes.kit(owner)), study) for owner in data}
    for owner, (labels, scores) in data.items():
        studies[owner].submit(check_samples(owner, labels, scores))
    return studies


def with_floors(nodes: Trials, owner: str, folder: Path, floors: str) -> Path:
    """A copy of an owner's kit, as it is now but for earlier data, whose owner demands more."""
    kit = folder / owner
    shutil.copytree(nodes.kit(owner), kit, ignore=shutil.ignore_patterns("ledger.json"))
    settings = kit / "owner.toml"
    settings.write_text(f"{settings.read_text()}[floors]\n{floors}\n")
    return kit


def values_in(found: Estimate | Table) -> list[float | None]:
    """All numbers of a metric, row by row, but for the counts behind them."""
    if isinstance(found, Estimate):
        return [found.value]
    return [
        estimate.value for row in found for name, estimate in row.values.items() if name != "called_positive"
    ]


def check_rounded(report: StudyReport, data: Data, policy: Policy) -> None:
    """Every value is the exact one of the pooled samples, rounded half away from zero; a count, to fives."""
    owners = by_owner(data)
    assert not report.suppressed
    assert isinstance(policy.digits, int)
    asked = {name: THRESHOLDS if name in ("sensitivity", "ppv") else () for name in report.metrics}
    for name, plain in releases.released(owners, policy, asked).items():
        decimals = releases.decimals_of(policy, name)
        assert decimals is not None
        rounded = [None if one is None else float(releases.half_away(one, decimals)) for one in plain]
        assert values_in(report.metrics[name]) == rounded, name
    auroc = report["auroc"]
    assert isinstance(auroc, Estimate)
    standard_error = releases.delong_root(owners, policy.digits + 1)
    assert standard_error is not None
    assert auroc.standard_error == float(standard_error)
    assert auroc.digits == policy.digits


@dataclass(frozen=True)
class Stopped:
    """How a study ended at a node."""

    state: StudyState
    note: str
    attempts: int


def at_nodes(nodes: Trials, manifest_hash: str) -> dict[str, Stopped]:
    found = {}
    for node in NODES:
        with nodes.store(node) as store:
            study = store.study(manifest_hash)
            assert study is not None
            found[node] = Stopped(study.state, study.note, store.last_attempt(manifest_hash))
    return found


def stops_everywhere(nodes: Trials, manifest_hash: str) -> dict[str, Stopped]:
    """How, once it has stopped at all nodes."""

    def stopped() -> bool:
        return all(one.state is StudyState.STOPPED for one in at_nodes(nodes, manifest_hash).values())

    assert becomes(stopped), at_nodes(nodes, manifest_hash)
    return at_nodes(nodes, manifest_hash)


def events_of(nodes: Trials, node: str, study: str) -> list[dict[str, Any]]:
    """What a node has logged about a study, without what differs between any two.

    That is times and names; whether it was noticed before or after the first submission, or waited for a
    share on its way; and whether one thread deleted the shares after the release, or two.
    """
    varying, by_chance = ("time", "seconds", "study", "hash", "session"), ("study accepted", "waiting")
    found = {
        (event["event"], event.get("owner")): {
            name: value for name, value in event.items() if name not in varying
        }
        for event in reversed(nodes.events(node))
        if event.get("study") == study and event["event"] not in by_chance
    }
    return list(found.values())[::-1]
