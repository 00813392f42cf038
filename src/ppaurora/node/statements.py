"""Statements of a release, for receipts: what this node signs, and what other nodes have signed."""

from __future__ import annotations

import logging
from collections.abc import Iterable

from ppaurora.io.times import as_time
from ppaurora.messages.owners import SignedStatement, Statement
from ppaurora.node.logs import about
from ppaurora.node.store import ReleasedAttempt, Store, StudyRecord
from ppaurora.study.kit import NodeKit
from ppaurora.study.receipt import problem_with_statement, sign_statement
from ppaurora.version import __version__

log = logging.getLogger(__name__)


def own_statement(kit: NodeKit, store: Store, hash_: str) -> SignedStatement | None:
    """Signed once, after the release; None if this node has not seen the attempt through."""
    study = store.study(hash_)
    if study is None or study.ended_at is None:
        return None
    kept = store.statements(hash_).get(kit.server(study.manifest).file_name)
    if kept is not None:
        return kept
    attempt = store.released_attempt(hash_)
    if attempt is None:
        return None
    return store.keep_statement(hash_, sign_statement(_statement(kit, store, study, attempt), kit.key))


def _statement(kit: NodeKit, store: Store, study: StudyRecord, attempt: ReleasedAttempt) -> Statement:
    return Statement(
        server=kit.server(study.manifest).file_name,
        manifest=study.manifest.hash,
        attempt=attempt.number,
        policy=study.manifest.job(attempt.agreed).terms.policy,
        submissions=attempt.agreed,
        history=store.history(study.hash),
        parts=attempt.parts,
        accepted_at=as_time(study.accepted_at),
        begun_at=as_time(attempt.begun_at),
        computed_at=as_time(attempt.computed_at),
        released_at=as_time(study.ended_at or 0.0),
        ppaurora=__version__,
        protocol_version=study.manifest.version,
        audit=store.audit_head(),
    )


def all_statements(kit: NodeKit, store: Store, hash_: str) -> tuple[SignedStatement, ...]:
    """Return this node's statement and those of others that it has, in any order."""
    own_statement(kit, store, hash_)
    return tuple(store.statements(hash_).values())


def any_statement(kit: NodeKit, store: Store, hash_: str) -> SignedStatement | None:
    """Return this node's statement of a release, or another's; None if no release is known here."""
    return own_statement(kit, store, hash_) or next(iter(store.statements(hash_).values()), None)


def problem_with_release(signed: SignedStatement, study: StudyRecord) -> str:
    """Return why it is no statement of a release of this study; nothing if it is.

    It may name any manifest that was accepted here: a node that was rolled back may have an earlier one in
    force than counted at the release.
    """
    named = (one for one in study.manifests if one.hash == signed.statement.manifest)
    return problem_with_statement(signed, next(named, study.manifest))


def keep_statements(store: Store, study: StudyRecord, statements: Iterable[SignedStatement]) -> None:
    """Keep the statements that verify; one that does not would only spoil receipts."""
    for signed in statements:
        problem = problem_with_statement(signed, study.manifest)
        if problem:
            log.warning("a statement was not kept", extra={**about(study), "reason": problem})
        else:
            store.keep_statement(study.hash, signed)
