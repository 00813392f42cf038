"""The plan of a study, as a person writes it: `study.toml`."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

from ppaurora.errors import InputError
from ppaurora.files import read_text
from ppaurora.metrics import DEFAULT_METRICS, METRICS
from ppaurora.models import StrictModel, checked
from ppaurora.protocols import protocols
from ppaurora.study.names import Address, Name, Organisation
from ppaurora.terms import Terms


def _choices(heading: str, described: Mapping[str, str]) -> str:
    """Lines of a comment, one for each."""
    return "\n".join([f"# {heading}:", *(f"#   {name}: {text}" for name, text in described.items())])


def _parameters() -> str:
    return "; ".join(
        f"{name} has {', '.join(protocol.Parameters.__struct_fields__)}"
        for name, protocol in protocols().items()
    )


SAMPLE = f"""\
# A study: who evaluates what with whom.
#
#   ppaurora provision study.toml --out kits/
#
# writes the manifest that everybody agrees on, and a start-up kit for every node and owner.

name = "sepsis-2026"

{_choices("Any of", {metric.name: metric.description for metric in METRICS.values()})}
metrics = {json.dumps(DEFAULT_METRICS)}

{_choices("One of", {name: protocol.summary for name, protocol in protocols().items()})}
# Each has parameters of its own: {_parameters()}
[protocol]
name = "fast"
key_bits = 64

# Three servers, run by three organisations that do not collude.
# owners_address: where owners submit (HTTPS). nodes_address: where the other two nodes connect (TLS).
# organisation: who runs it, for people to read before they accept.
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

# The data owners, at least two. Names are of small letters, digits and hyphens.
[owners.hospital-a]

[owners.hospital-b]

[owners.hospital-c]
# An organisation's own certificate, instead of one that 'provision' makes. Its key stays at home.
# certificate = "hospital-c.pem"
# Who signed it, if that is not itself.
# authority = "hospital-c-ca.pem"

[limits]
samples_per_owner = 1_000_000
# How often the servers try again by themselves when a computation is cut off.
attempts = 5

[release]
# No result below these numbers of samples.
minimum_samples = 100
minimum_samples_per_owner = 10
# Results, and shares that were never evaluated, are deleted after so many days.
retention_days = 30
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
    """A data owner."""


class Plan(Terms):
    """Terms, and who takes part. `SAMPLE` explains every setting."""

    name: Name
    nodes: dict[str, PlannedNode]
    owners: dict[Name, PlannedOwner]


def read_plan(path: Path) -> Plan:
    return read_toml(Plan, path)


T = TypeVar("T", bound=StrictModel)


def read_toml(model: type[T], path: Path) -> T:
    try:
        content: dict[str, Any] = tomllib.loads(read_text(path))
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"{path}: is not TOML: {error}") from None
    return checked(model, content, str(path))
