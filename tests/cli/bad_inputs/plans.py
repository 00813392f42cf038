"""Plans that cannot be provisioned, and manifests that cannot be accepted."""

from __future__ import annotations

import tempfile
from pathlib import Path

from ppaurora.setup.acceptance import accept
from ppaurora.study.kit import NodeKit
from ppaurora.study.plan import SAMPLE
from ppaurora.study.provision import provision
from tests.cli.bad_inputs.row import Place, Row, Step, file, kit, study

PLAN = "provision study.toml --out kits"


def plan(old: str = "", new: str = "") -> Step:
    """The sample, with one text for another."""
    assert old in SAMPLE, old
    return file("study.toml", SAMPLE.replace(old, new, 1) if old else SAMPLE)


def manifest(old: str = "", new: str = "", study: str = "trial") -> Step:
    """That of a study of these nodes, with one text for another."""

    def write(place: Place) -> None:
        text = (place.nodes.folder / "kits" / "north" / "studies" / f"{study}.json").read_text()
        assert old in text
        (place.folder / "study.json").write_text(text.replace(old, new, 1) if old else text)

    return write


def foreign_manifest(place: Place) -> None:
    """Of nodes with other keys."""
    with tempfile.TemporaryDirectory() as elsewhere:
        (Path(elsewhere) / "study.toml").write_text(SAMPLE)
        made = provision(Path(elsewhere) / "study.toml", Path(elsewhere) / "kits")
    (place.folder / "study.json").write_text(made.text())


def accepted(place: Place) -> None:
    accept(NodeKit.read(place.folder / "kit"), place.nodes.manifest)


PLANS = [
    Row("no plan", (), PLAN, "ppaurora: study.toml: cannot be read: No such file or directory"),
    Row(
        "no folder for kits",
        (plan(),),
        "provision study.toml",
        "ppaurora: name a plan and a folder: ppaurora provision study.toml --out kits/",
    ),
    Row(
        "a folder that exists",
        (plan(), file("kits/letter.txt", "mine")),
        PLAN,
        "ppaurora: kits: exists; name a new folder, so that no kit is overwritten",
    ),
    Row(
        "a plan that is no TOML",
        (file("study.toml", "name = sepsis\n"),),
        PLAN,
        "ppaurora: study.toml: is not TOML: Invalid value (at line 1, column 8)",
    ),
    Row(
        "a plan in Latin-1",
        (file("study.toml", 'name = "süd"\n'.encode("latin-1")),),
        PLAN,
        "ppaurora: study.toml: cannot be read: line 1 is not UTF-8 text; save it in UTF-8",
    ),
    Row(
        "an unknown setting",
        (plan("attempts = 5", "attemps = 5"),),
        PLAN,
        "ppaurora: study.toml: limits.attemps: there is no such setting; did you mean 'attempts'?",
    ),
    Row(
        "a table without a node",
        (plan("[nodes.helper]", "[nodes.assistant]"),),
        PLAN,
        "ppaurora: study.toml: nodes: assistant: no server of 'fast'; there are: helper, proxy-0, proxy-1",
    ),
    Row(
        "no nodes at all",
        (file("study.toml", 'name = "sepsis"\nmetrics = ["auroc"]\n[owners.a]\n'),),
        PLAN,
        "ppaurora: study.toml: nodes: is missing",
    ),
    Row(
        "a port beyond all",
        (plan("proxy0.example.org:8443", "proxy0.example.org:84430"),),
        PLAN,
        "ppaurora: study.toml: nodes.proxy-0.owners_address: an address is a host and a port from "
        "1 to 65535, such as proxy.example.org:8443",
    ),
    Row(
        "an address without a port",
        (plan("helper.example.com:8444", "helper.example.com"),),
        PLAN,
        "ppaurora: study.toml: nodes.helper.nodes_address: an address is a host and a port from 1 "
        "to 65535, such as proxy.example.org:8443",
    ),
    Row(
        "two nodes at one address",
        (plan("proxy1.example.net:8444", "proxy0.example.org:8444"),),
        PLAN,
        "ppaurora: study.toml: nodes: two addresses are the same, proxy0.example.org:8444; every "
        "port needs its own",
    ),
    Row(
        "two owners of a name",
        (plan("[owners.hospital-b]", "[owners.hospital-a]"),),
        PLAN,
        "ppaurora: study.toml: is not TOML: Cannot declare ('owners', 'hospital-a') twice (at line "
        f"{SAMPLE.splitlines().index('[owners.hospital-b]') + 1}, column 19)",
    ),
    Row(
        "an owner called like a node",
        (plan("[owners.hospital-b]", "[owners.helper]"),),
        PLAN,
        "ppaurora: study.toml: owners.helper: an owner may not be called like a node, nor "
        "'authority'; give it another name",
    ),
    Row(
        "a name in capitals",
        (plan('"sepsis-2026"', '"Sepsis 2026"'),),
        PLAN,
        "ppaurora: study.toml: name: expected a name of small letters, digits and hyphens",
    ),
    Row(
        "an unknown metric in a plan",
        (plan('"auroc"', '"aurok"'),),
        PLAN,
        "ppaurora: study.toml: metrics, entry 1: unknown metric 'aurok'; there are: auroc, "
        "auroc_no_ties, youden_j, aupr, ap, partial_auroc, sensitivity_at_specificity, "
        "specificity_at_sensitivity, sensitivity, specificity, ppv, npv, f1, accuracy, "
        "net_benefit, roc_curve, precision_recall_curve, brier, observed_expected, "
        "calibration_in_the_large, reliability, histogram, smooth_calibration, ici, "
        "calibration_intercept, calibration_slope",
    ),
    Row(
        "a last day that is over",
        (plan('# submissions_until = "2026-12-31"', 'submissions_until = "2020-12-31"'),),
        PLAN,
        "ppaurora: study.toml: evaluation.submissions_until: is over; name a later date",
    ),
    Row(
        "a date that is none",
        (plan('# submissions_until = "2026-12-31"', 'submissions_until = "31.12.2026"'),),
        PLAN,
        "ppaurora: study.toml: evaluation.submissions_until: expected a date such as 2026-12-31, "
        "or a time such as TIME",
    ),
    Row(
        "a policy out of range",
        (plan("# largest_owner_fraction = 0.5", "largest_owner_fraction = 50"),),
        PLAN,
        "ppaurora: study.toml: policy.largest_owner_fraction: expected float <= 1.0",
    ),
    Row(
        "a rule that is looser than its kind's",
        (plan("# digits = 3", "digits = 4"),),
        PLAN,
        "ppaurora: study.toml: policy: digits: kind = 'publication' has 3, and a plan may only be stricter; "
        "for looser rules take kind = 'exact', which promises nothing, and add those that you want",
    ),
    Row(
        "fewer owners than the policy wants",
        (plan("[owners.hospital-b]\n", ""),),
        PLAN,
        "ppaurora: study.toml: policy.minimum_owners: at least 3 owners are needed, got 2; with "
        "two, each learns the other's part by subtracting its own",
    ),
    Row(
        "one organisation with two nodes",
        (plan("Second University", "First University"),),
        PLAN,
        "ppaurora: study.toml: proxy 0 and proxy 1 are run by one organisation, 'First "
        "University': two servers together see everything, every score and every label of every "
        "owner. If you want this anyway, add --force",
    ),
    Row(
        "a certificate that is not there",
        (plan('# certificate = "hospital-c.pem"', 'certificate = "hospital-c.pem"'),),
        PLAN,
        "ppaurora: hospital-c.pem: cannot be read: No such file or directory",
    ),
    Row(
        "kits to reuse that are not there",
        (plan(),),
        f"{PLAN} --reuse before",
        "ppaurora: before: holds no folder 'authority'; after --reuse, name a folder that "
        "'ppaurora provision' wrote",
    ),
    Row(
        "pass phrases without packing",
        (plan(),),
        f"{PLAN} --encrypt",
        "ppaurora: --encrypt: is for the files that --pack writes; add --pack",
    ),
    Row(
        "sizes for other owners",
        (plan(),),
        "disclosure study.toml --samples 100,200",
        "ppaurora: --samples: give a number for each of the 3 owners",
    ),
]

MANIFESTS = [
    Row(
        "a manifest that is no JSON",
        (kit("proxy-0"), file("study.json", "study\n")),
        "accept kit study.json",
        "ppaurora: study.json: is not a manifest (not JSON); take the file STUDY.json that "
        "'ppaurora provision' wrote",
    ),
    Row(
        "a manifest that was changed",
        (kit("proxy-0"), manifest('"attempts": 100', '"attempts":  100')),
        "accept kit study.json",
        "ppaurora: study.json: was changed (it is not in canonical form); take the file STUDY.json "
        "that 'ppaurora provision' wrote",
    ),
    Row(
        "something else that is JSON",
        (kit("proxy-0"), file("study.json", "{}\n")),
        "accept kit study.json",
        "ppaurora: study.json: study: is missing; expected a name of small letters, digits and hyphens",
    ),
    Row(
        "another consortium's manifest",
        (kit("proxy-0"), foreign_manifest),
        "accept kit study.json --yes",
        "ppaurora: study sepsis-2026: the manifest names another key for proxy 0; provision it "
        "with this node's certificate",
    ),
    Row(
        "another manifest of the same name",
        (kit("proxy-0"), accepted, manifest('"attempts": 100', '"attempts": 99')),
        "accept kit study.json --yes",
        "ppaurora: another manifest was accepted under the name 'trial'; give the new study its own name",
    ),
    Row(
        "a manifest for an owner that it does not name",
        (kit("valley"), study("pair"), manifest(study="pair")),
        "accept kit study.json --yes",
        "ppaurora: study pair: the manifest does not name this owner's key as 'valley'; its owners "
        "are: north, harbour. Take the kit of one of them",
    ),
    Row(
        "a manifest without a person",
        (kit("proxy-0"), manifest()),
        "accept kit study.json",
        "ppaurora: not accepted; nothing was changed. The question was not answered: without a "
        "terminal, add --yes",
    ),
    Row(
        "another hash than expected",
        (kit("proxy-0"), manifest()),
        f"accept kit study.json --yes --expect-hash {'0' * 64}",
        "ppaurora: study trial: its manifest has the hash HASH, which is not the expected one; "
        "nothing was done",
    ),
    Row(
        "half an expected hash",
        (kit("proxy-0"), manifest()),
        "accept kit study.json --yes --expect-hash 123",
        "ppaurora: the expected hash: 64 digits from 0 to 9 and a to f, or at least the first 12",
    ),
]

ROWS = [*PLANS, *MANIFESTS]
