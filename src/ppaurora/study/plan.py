"""The plan of a study, as a person writes it: `study.toml`."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar, get_type_hints

from ppaurora.agreement.designs import check_patients_of
from ppaurora.agreement.evaluation_spec import EvaluationSpec
from ppaurora.agreement.metric_parameters import as_written, missing_parameters
from ppaurora.agreement.terms import Terms
from ppaurora.errors import InputError
from ppaurora.io.files import read_text
from ppaurora.io.models import StrictModel, checked
from ppaurora.metrics import DEFAULT_METRICS, METRICS
from ppaurora.metrics.thresholds import Sensitivity
from ppaurora.policy.rules import Policy
from ppaurora.protocols import protocols
from ppaurora.study.manifest import AgreedChanges
from ppaurora.study.names import Address, Name, Organisation


def _choices(heading: str, described: Mapping[str, str]) -> str:
    """Lines of a comment, one for each."""
    return "\n".join([f"# {heading}:", *(f"#   {name}: {text}" for name, text in described.items())])


def _parameters() -> str:
    return "; ".join(
        f"{name} has {', '.join(protocol.Parameters.__struct_fields__)}"
        for name, protocol in protocols().items()
    )


def _settings() -> str:
    """Return lines for every term that is one setting, as its `Meta` explains it."""
    lines = []
    for field, hint in get_type_hints(Terms, include_extras=True).items():
        for meta in (one for one in getattr(hint, "__metadata__", ()) if one.examples):
            lines += [f"# {meta.description}", f"{field} = {json.dumps(meta.examples[0])}"]
    return "\n".join(lines)


SAMPLE = f"""\
# A study: who evaluates what with whom.
#
#   ppaurora provision study.toml --out kits/
#
# writes the manifest that everyone agrees to, and a kit for every node and owner.

name = "sepsis-2026"

{_choices("Any of", {metric.name: metric.description for metric in METRICS.values()})}
# A metric with parameters is a table: {{ name = "{Sensitivity.name}", thresholds = [0.2, 0.5] }}
metrics = {json.dumps(DEFAULT_METRICS)}
{_settings()}
# Pairs of the models below that are compared on the same samples: the first one's numbers minus the second's.
# comparisons = [["new", "old"]]
# The column that tells which rows are of one patient; it is not sent. Intervals of AUROC allow for it. How
# many rows a patient has at most is rows_per_person, below.
# patient = "patient_id"
# Whether differences between owners are summarised, as in a meta-analysis; no owner's own value is released.
# sites = true
# Whether every owner states how many rows it left out, and why; the sums over all owners are released.
# left_out = true

{_choices("One of", {name: protocol.summary for name, protocol in protocols().items()})}
# Each has its own parameters: {_parameters()}
[protocol]
name = "fast"
key_bits = 64
# A table of counts beside the lists, for metrics that need one; scores are read on it to these decimals:
# grid = {{ low = 0.0, high = 1.0, decimals = 3 }}
# Or tables alone, which cost the same for any number of samples:
# name = "grid"
# low = 0.0
# high = 1.0
# decimals = 4

# What is evaluated: for people to read before they take part, and kept with the result.
[evaluation]
description = "Does the sepsis alert of the wards, trained at hospital-a, hold elsewhere?"
model = "sepsis-alert"
version = "2.1.0"
outcome = "sepsis (Sepsis-3) within 48 hours of the score"
positive_class = "sepsis"
# Whether a higher score means more positive, or a lower one: "higher" or "lower".
score_direction = "higher"
# What scores are: "any" finite number, or "probability", from 0 to 1.
score_scale = "any"
# The last day, in UTC, on which submissions are accepted, or a time such as "2026-12-31T18:00:00Z".
# submissions_until = "2026-12-31"

# Without the following tables, every row has one score and one label. Owners' tables have the columns that
# are named here; an owner whose columns have other names says so when it submits.
#
# Several models. Comparisons, subgroups and patients need scores that are counted on a grid: that of the
# protocol, or one for each model. Two models' scores are counted together in at most 256 cells of the grid,
# whose spacing is "even", or "log", the narrower the closer to the lowest score.
# [models.new]
# column = "risk_new"
# grid = {{ low = 0.0, high = 1.0, decimals = 3 }}
# [models.old]
# column = "points"
# grid = {{ low = 0.0, high = 40.0, decimals = 0 }}
# spacing = "even"

# Several outcomes, each with a column of labels; every model is evaluated for each of them.
# [outcomes.death]
# column = "died"
# [outcomes.readmission]
# column = "readmitted"

# Subgroups: a variable and its levels, as owners' tables spell them. Which sample has which level is secret.
# [subgroups.sex]
# column = "sex"
# levels = ["f", "m"]

# Whole numbers that say how often every row counts, and the most that one may be; with the protocol 'grid'.
# [weight]
# column = "weight"
# most = 5

# Until the computation begins, 'ppaurora amend' changes a study: it moves the last day, drops an owner, or
# replaces an address or a key. Every owner is asked, but about what all agree to beforehand:
# [agreed_changes]
# minimum_owners = 4
# deadline_days = 30

# Three servers, run by three organisations that do not collude.
# owners_address: where owners submit (HTTPS). nodes_address: where the other two nodes connect (TLS).
# organisation: who runs it, for people to read before they accept. Owners may have one, too.
[nodes.proxy-0]
organisation = "First University"
owners_address = "proxy0.example.org:8443"
nodes_address = "proxy0.example.org:8444"

[nodes.proxy-1]
organisation = "Second University"
owners_address = "proxy1.example.net:8443"
nodes_address = "proxy1.example.net:8444"

[nodes.helper]
organisation = "An Institute"
nodes_address = "helper.example.com:8444"

# The data owners, at least three unless the policy says otherwise. Names consist of lower-case letters,
# digits and hyphens.
[owners.hospital-a]

[owners.hospital-b]

[owners.hospital-c]
# An organisation's own certificate, instead of one that 'provision' makes. Its key stays there.
# certificate = "hospital-c.pem"
# Who signed it, unless it is self-signed.
# authority = "hospital-c-ca.pem"

[limits]
# The cost of 'grid' does not grow with samples: there it may be raised to 1_000_000_000.
samples_per_owner = 1_000_000
# How often the servers retry by themselves when a computation is interrupted.
attempts = 5
# Results, and shares that were never evaluated, are deleted after this many days.
retention_days = 30

# What may leave the computation. 'ppaurora disclosure study.toml' says what it will disclose.
[policy]
# "publication": rounded, with floors, for owners bound by an agreement. "private": with noise that protects
# every person, for owners who do not trust each other's data. "exact": everything, for full trust.
kind = "publication"
# Rules come with the kind, and each may be made stricter. Public ones are checked by every node for itself.
# minimum_owners = 3
# largest_owner_fraction = 0.5
minimum_samples = 100
# minimum_samples_per_owner = 20
# Rules on secret counts are enforced inside: in total, and without any one owner.
# minimum_positives = 10
# minimum_negatives = 10
# Samples behind every number of a table, on both sides of every threshold, and in every tail, likewise.
# minimum_per_cell = 10
# Decimals of every released number; standard errors and numbers of a small scale have one more.
# digits = 3
# Numbers of positives and negatives: "rounded" (to fives) or "hidden".
# counts = "rounded"
# How many rows one person has at most, where `patient` is named or kind is "private".
# rows_per_person = 1
# With kind = "private" instead: how much may be told of any one person.
# epsilon = 2.0
"""


class Certified(StrictModel):
    """Whose it is, and the certificate that they bring, if any."""

    organisation: Organisation = Organisation("")
    certificate: str | None = None
    authority: str | None = None


class PlannedNode(Certified):
    """A server, and where others reach it."""

    nodes_address: Address
    owners_address: Address | None = None


class PlannedOwner(Certified):
    """A data owner, as a plan names it."""


class Plan(Terms):
    """Terms, what is evaluated, and who takes part: flat, as a person writes it. `SAMPLE` explains it all."""

    name: Name
    evaluation: EvaluationSpec = EvaluationSpec()
    agreed_changes: AgreedChanges = AgreedChanges()
    nodes: dict[str, PlannedNode]
    owners: dict[Name, PlannedOwner]

    def __post_init__(self) -> None:
        super().__post_init__()
        check_patients_of(self)

    @property
    def terms(self) -> Terms:
        """The terms alone, as they go into the manifest."""
        return Terms(**{field: getattr(self, field) for field in Terms.__struct_fields__})


def read_plan(path: Path) -> Plan:
    """Read a plan. Where it has a rule as earlier versions had it, say what to write now."""
    content = _toml(path)
    policy = content.get("policy")
    if isinstance(policy, dict) and (policy.get("digits") == "auto" or "most_digits" in policy):
        raise InputError(
            f"{path}: policy.digits: there is no 'auto' and no most_digits any more; leave both out: "
            f"kind = 'publication' gives {Policy().digits} decimals"
        )
    _check_parameters(content.get("metrics"), path)
    return checked(Plan, content, str(path))


def _check_parameters(metrics: Any, path: Path) -> None:
    """Refuse a metric without parameters that it needs; whatever else is wrong, the model tells."""
    for one in metrics if isinstance(metrics, list) else ():
        given = dict(one) if isinstance(one, dict) else {"name": one}
        kind = METRICS.get(given["name"]) if isinstance(given.get("name"), str) else None
        missing = {} if kind is None else missing_parameters(kind, given)
        if kind is not None and missing:
            example = ", ".join(f"{name} = {as_written(value)}" for name, value in missing.items())
            raise InputError(
                f"{path}: metrics: {kind.name} needs {', '.join(missing)}; in the place of its name, write "
                f'{{ name = "{kind.name}", {example} }}'
            )


T = TypeVar("T", bound=StrictModel)


def read_toml(model: type[T], path: Path) -> T:
    return checked(model, _toml(path), str(path))


def _toml(path: Path) -> dict[str, Any]:
    text = read_text(path).removeprefix("\ufeff")  # as editors on Windows begin a text
    try:
        return tomllib.loads(text)
    except ValueError as error:  # also of a number with thousands of digits
        raise InputError(f"{path}: is not TOML: {error}") from None
    except RecursionError:
        raise InputError(f"{path}: is nested too deeply") from None
