"""Amendments: in force at the node that leads as soon as its operator accepts them, then at all others.

An attempt begins at the leader first. So the leader alone can tell whether an amendment precedes it. The
others, whose operators have accepted it too, let it count when the leader says so, and are told with that
which owners have agreed. Each node verifies every owner's signature for itself, and begins nothing before.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable

from msgspec import UNSET, UnsetType

from ppaurora.channel.servers import Server
from ppaurora.errors import PeerError
from ppaurora.messages.nodes import Amend, Answer, Verdict
from ppaurora.messages.owners import Amended, SignedAgreement
from ppaurora.node.activity import Activity
from ppaurora.node.logs import about
from ppaurora.node.status import still_to_agree
from ppaurora.node.store import BegunError, ClosedError, Store, StudyRecord
from ppaurora.study.amendments import problem_with_agreement
from ppaurora.study.kit import AMENDMENTS, NodeKit

_SECONDS_TO_ANSWER = 10.0

log = logging.getLogger(__name__)


class StudyAmendments:
    """What a node does about amendments; methods may be called from any thread."""

    def __init__(self, kit: NodeKit, store: Store, activity: Activity) -> None:
        self._kit = kit
        self._store = store
        self._activity = activity
        self._told: dict[tuple[str, Server], Amend] = {}  # what other nodes have taken, by study

    def amended(self, study: StudyRecord) -> Amended | UnsetType:
        """Return how a study was amended, in force or not, and who has agreed; unset if it was not."""
        if study.amendments is None:
            return UNSET
        agreements = tuple(self._store.agreements(study.hash).values())
        return Amended(amendments=study.amendments.text().encode(), agreements=agreements)

    def keep(self, study: StudyRecord, agreements: Iterable[SignedAgreement]) -> str:
        """Keep owners' agreements; return why one was not kept, or nothing.

        Whoever agrees to an amendment was shown what it comes to with those before, and may have refused one
        of these alone. So an agreement is kept once its amendment is in force, when none before can be.
        """
        for signed in agreements:
            if study.amendments is None:
                return "no amendment to this study was accepted here"
            problem = problem_with_agreement(signed, study.amendments)
            if problem:
                return problem
            if signed.agreement.amendment > study.manifest.amendment:
                return f"amendment {signed.agreement.amendment} is not in force here yet"
            if self._store.keep_agreement(study.hash, signed):
                log.info("an owner agreed", extra={**about(study), "owner": signed.agreement.owner})
                self._activity.pauses.forget(study.hash)
                self._activity.news.set()
        return ""

    # At the leader

    def is_untold(self, study: StudyRecord) -> bool:
        """Return whether another node has yet to hear what is in force here, and who has agreed to it."""
        question = self._question(study)
        peers = self._kit.server(study.manifest).peers
        return question is not None and any(self._told.get((study.hash, peer)) != question for peer in peers)

    def tell(self, study: StudyRecord) -> None:
        """Tell the other nodes what counts; raise if one of them does not take it."""
        question = self._question(study)
        if question is None:
            return
        self._store.delete_dropped_shares(study.hash)
        untaken = []
        for peer in self._kit.server(study.manifest).peers:
            if self._told.get((study.hash, peer)) == question:
                continue
            answer = self._activity.peers.ask(self._kit, study, peer, question, _SECONDS_TO_ANSWER)
            if answer.answer is Verdict.AMENDED:
                self._told[study.hash, peer] = question
            else:
                untaken.append((peer, _problem(study, answer)))
        if untaken:
            self._store.set_note(study.hash, "; ".join(f"{peer.title} {said}" for peer, said in untaken))
            raise PeerError(untaken[0][0].title, untaken[0][1])
        if f"amendment {study.manifest.amendment}" in study.note:
            self._store.set_note(study.hash, "")

    def tell_again(self, study: StudyRecord, peer: Server) -> None:
        """Count a node as one that has not heard of it: it has forgotten it, or was replaced."""
        self._told.pop((study.hash, peer), None)

    def _question(self, study: StudyRecord) -> Amend | None:
        if not study.manifest.amendment:
            return None
        agreements = tuple(self._store.agreements(study.hash).values())
        return Amend(study=study.hash, manifest=study.manifest.hash, agreements=agreements)

    # At the others

    def answer(self, study: StudyRecord, pin: str, question: Amend) -> Answer:
        """Let an amendment count that the leader has in force, if this node's operator has accepted it."""
        number = None if study.amendments is None else study.amendments.number_of(question.manifest)
        if number is None:
            note = f"its operator has not accepted the amendment: {_hash(question.manifest)}"
            return Answer(answer=Verdict.NOT_YET, note=note)
        manifest = study.manifests[number]
        leader = manifest.protocol.leader
        if manifest.server_of(pin) is not leader or self._kit.server(manifest) is leader:
            return Answer(answer=Verdict.REFUSED, note=f"only {leader.title} of the study leads")
        if number < study.manifest.amendment:
            note = f"amendment {study.manifest.amendment} is in force there"
            return Answer(answer=Verdict.MISMATCH, note=note)
        try:
            self._store.put_in_force(study.hash, number)
        except (BegunError, ClosedError) as error:
            return Answer(answer=Verdict.CLOSED, note=str(error))
        problem = self.keep(self._store.study(study.hash) or study, question.agreements)
        if problem:
            log.warning("an agreement was not kept", extra={**about(study), "reason": problem})
        self._activity.news.set()
        return Answer(answer=Verdict.AMENDED)

    def problem(self, study: StudyRecord, manifest: str | UnsetType) -> str:
        """Return why no attempt can begin here on this manifest, or nothing."""
        if manifest != counted(study):
            number = study.manifest.amendment
            if number and manifest in (UNSET, *(one.hash for one in study.manifests[:number])):
                leader = study.manifest.protocol.leader.title
                return f"amendment {number} counts there; {_to_accept(study, f'the operator of {leader}')}"
            return f"another manifest counts there: {_hash(study.manifest.hash)}"
        return still_to_agree(self._store.to_agree(study), study.manifest)


def counted(study: StudyRecord) -> str | UnsetType:
    """Return the hash of the manifest that counts, if the study was amended: what an attempt is asked for."""
    return study.manifest.hash if study.manifest.amendment else UNSET


def _problem(study: StudyRecord, answer: Answer) -> str:
    if answer.answer is Verdict.NOT_YET:
        number = study.manifest.amendment
        return f"has yet to accept amendment {number}: {_to_accept(study, 'its operator')}"
    return f"has not taken amendment {study.manifest.amendment}: {answer.note or answer.answer.value}"


def _to_accept(study: StudyRecord, operator: str) -> str:
    return f"{operator} runs 'ppaurora accept KIT {study.manifest.study}{AMENDMENTS}'"


def _hash(digits: str) -> str:
    return f"hash {digits[:12]}"
