"""Agreeing to a study, for a node or an owner: what there is to review, and the agreement."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ppaurora.agreement.disclosure import Disclosure, disclosure, example_sizes
from ppaurora.errors import InputError
from ppaurora.node.store import STORAGE_ERRORS, ClosedError, Store, trouble_of
from ppaurora.study.amendments import Amendments, Change
from ppaurora.study.kit import NodeKit, OwnerKit, check_first
from ppaurora.study.manifest import Manifest
from ppaurora.study.organisations import check_nodes_apart, organisation_warnings


@dataclass(frozen=True)
class Review:
    """A study for review: what a person agrees to, what the owners will learn, what is questionable."""

    manifest: Manifest
    sizes: tuple[int, ...]  # numbers of samples for which it was computed
    disclosure: Disclosure

    @property
    def warnings(self) -> tuple[str, ...]:
        return (*self.disclosure.warnings, *organisation_warnings(self.manifest))


def review(manifest: Manifest, sizes: Sequence[int] | None = None) -> Review:
    """Review a study; without numbers of samples, as an example of it."""
    sizes = tuple(sizes or example_sizes(manifest.terms, len(manifest.owners)))
    return Review(manifest, sizes, disclosure(manifest.terms, sizes))


def said_of_sizes(sizes: Sequence[int]) -> str:
    """Return how many samples each has, as a part of a sentence."""
    *others, last = (f"{size:,}" for size in sizes)
    if set(others) <= {last}:
        return f"each has {last}"
    return f"they have {', '.join(others)} and {last}"


@dataclass(frozen=True)
class AmendmentsReview:
    """Amendments for review at a node: what they change since what its operator accepted, and why."""

    amendments: Amendments
    is_new_study: bool  # the operator has not accepted the study, which has been amended meanwhile
    changes: tuple[Change, ...]
    reasons: tuple[str, ...]
    asked: tuple[str, ...]  # owners who have to agree, unless they have
    new_keys: tuple[str, ...]  # other participants with another key; whoever has that takes their place

    @property
    def number(self) -> int:
        return len(self.amendments.steps)


def review_amendments(kit: NodeKit, amendments: Amendments) -> AmendmentsReview:
    """Review amendments at a node."""
    try:
        with Store(kit.data) as store:
            record = store.study(amendments.first.hash)
    except STORAGE_ERRORS as error:
        raise InputError(f"{kit.data}: {trouble_of(error)}") from None
    known = 0 if record is None else amendments.number_alike(record.manifests)
    since = min(known, len(amendments.steps) - 1)
    return AmendmentsReview(
        amendments,
        record is None,
        tuple(amendments.changes(since)),
        tuple(amendments.reasons(since)),
        tuple(amendments.asked(since)),
        tuple(name for name in amendments.new_keys(since) if name != kit.title),
    )


def accept_amendments(kit: NodeKit, amendments: Amendments, *, force: bool = False) -> bool:
    """Accept amendments at a node, which may be running. True if any is new there."""
    latest = amendments.latest
    check_nodes_apart(latest, force=force)
    kit.check_own(latest)
    decides = kit.server(latest) is latest.protocol.leader
    try:
        with Store(kit.data) as store:
            return store.amend(amendments, decides=decides)
    except ClosedError as error:
        raise InputError(f"study {latest.study}: {error}") from None
    except STORAGE_ERRORS as error:
        raise InputError(f"{kit.data}: {trouble_of(error)}; nothing was accepted") from None


def accept(kit: NodeKit | OwnerKit, manifest: Manifest, *, force: bool = False) -> bool:
    """Keep it where a node, which may be running, or an owner looks for it. True if it is new there.

    A study of which two nodes belong to one organisation has to be forced.
    """
    check_first(manifest)
    check_nodes_apart(manifest, force=force)
    if isinstance(kit, NodeKit):
        try:
            with Store(kit.data) as store:
                return store.accept(manifest)
        except STORAGE_ERRORS as error:
            raise InputError(f"{kit.data}: {trouble_of(error)}; nothing was accepted") from None
    new = manifest.hash not in [known.hash for known in kit.manifests()]
    kit.add(manifest)
    return new
