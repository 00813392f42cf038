"""Findings in a node's kit that its operator should see to before others suffer."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from ppaurora.errors import InputError
from ppaurora.messages.findings import Finding
from ppaurora.study.kit import NodeKit, ProposedStudy, unaccepted_manifests

DAYS_OF_WARNING = 30  # before a certificate expires


def awaiting_operator(kit: NodeKit, accepted: Collection[str]) -> Iterator[Finding]:
    """Yield what a node's operator should see to, given the names of the studies accepted here."""
    yield from map(not_accepted, unaccepted_manifests(kit, accepted))
    yield from expiring(kit)


def not_accepted(proposed: ProposedStudy) -> Finding:
    """Return the finding about a manifest that nobody has agreed to."""
    detail = (
        f"the study {proposed.manifest.study} has not been accepted here: its owners and its other nodes are "
        "turned away"
    )
    fix = f"review it: {proposed.command}; or delete the file, if this node takes no part"
    return Finding.warn("studies to accept", detail, fix)


def expiring(kit: NodeKit) -> Iterator[Finding]:
    """Yield the finding about a certificate that is not valid, or not for long."""
    try:
        path, validity = kit.validity()
    except InputError as error:
        yield Finding.warn("certificate", str(error))
        return
    if validity.problem:
        yield Finding.warn("certificate", f"{path}: {validity.problem}", validity.remedy)
    elif validity.days_left < DAYS_OF_WARNING:
        detail = f"{path}: expires in {validity.days_left:.0f} days"
        yield Finding.warn("certificate", detail, "ask for a renewed one: 'ppaurora renew' makes it")
