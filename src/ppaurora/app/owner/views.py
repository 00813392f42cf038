"""View models of an owner's pages, as plain values; nothing here knows HTTP."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ppaurora.app.jobs import AppJob, sentence_of
from ppaurora.app.owner.controller import OwnerController
from ppaurora.app.owner.overview import ASKING, YOU, Standing, deadline_of
from ppaurora.app.owner.poller import Seen
from ppaurora.io.text import printable
from ppaurora.messages.owners import StudyState, StudyStatus
from ppaurora.owner.agreeing import Proposal, amended_since
from ppaurora.owner.study import NodeStatus
from ppaurora.study.manifest import Manifest

_NO_DATA = "holds no data; owners do not connect to it"
_STATE_KINDS = {
    "collecting": "accent",
    "running": "accent",
    "released": "good",
    "stopped": "bad",
    "expired": "bad",
    "deleted": "bad",
    "unknown": "warn",
}


@dataclass(frozen=True)
class WorkView:
    """The work that is under way, or how the last piece of work failed."""

    title: str
    said: str
    percent: int | None
    is_over: bool
    problem: str
    notes: tuple[str, ...]

    @classmethod
    def of(cls, job: AppJob | None) -> WorkView | None:
        if job is None or (job.is_over and job.error is None):
            return None
        percent = None if job.fraction is None else int(100 * job.fraction)
        return cls(job.title, job.said, percent, job.is_over, job.problem, job.notes)


@dataclass(frozen=True)
class ParticipantRow:
    """A node or an owner: who, of which organisation, in which state, and what else is said."""

    name: str
    organisation: str
    state: str
    kind: str
    note: str = ""


@dataclass(frozen=True)
class LiveView:
    """The parts of a study's page that change while a person looks."""

    study: str
    path: str
    standing: Standing
    work: WorkView | None
    nodes: tuple[ParticipantRow, ...]
    owners: tuple[ParticipantRow, ...]
    sent: str
    is_collected: bool
    deadline: str
    amendment: Proposal | None
    doubt: str

    @classmethod
    def of(cls, controller: OwnerController, seen: Seen) -> LiveView:
        manifest, study = controller.manifest, controller.study
        work = WorkView.of(controller.jobs.last)  # first: work that is over has left the study so
        stands = standing(controller, seen)
        return cls(
            study=manifest.study,
            path=f"/studies/{manifest.study}",
            standing=stands,
            work=work,
            nodes=tuple(_node_rows(manifest, seen.answers)),
            owners=tuple(_owner_rows(manifest, study.kit.name, seen.answers)),
            sent=study.sent(seen.answers),
            is_collected=study.is_collected,
            deadline=deadline_of(manifest, stands),
            amendment=None if controller.jobs.running is not None else controller.proposal(seen),
            doubt=seen.doubt,
        )


def standing(controller: OwnerController, seen: Seen) -> Standing:
    """Return how the study stands, as the kit and the nodes know it."""
    study = controller.study
    if study.is_collected:
        return Standing("The result is here", "It is saved in your kit, with its receipt.", "good")
    if controller.jobs.running is not None:
        text = "You may close this page: the work continues as long as the app runs."
        return Standing("Work in progress", text, turn="this app", step=controller.jobs.running.title)
    if seen.problem is not None:
        return Standing("The servers cannot be reached", sentence_of(seen.problem), "bad")
    if not seen.answers:
        return ASKING
    leader = seen.answers.get(controller.manifest.protocol.leader.title)
    states = {answer.state for answer in seen.answers.values()}
    if states == {StudyState.RELEASED}:
        text = "All servers have released it. Each holds one part, which reveals nothing on its own."
        return Standing(
            "The result is ready", text, "good", turn=YOU, step="fetch the result", can_collect=True
        )
    for title, answer in seen.answers.items():
        is_stopped = answer.state == StudyState.STOPPED and answer is leader
        if is_stopped or answer.state in (StudyState.EXPIRED, StudyState.DELETED):
            text = f"{title} says: {printable(answer.note) or 'no reason given'}"
            turn, step = "the coordinator", "make a new study, if it is still wanted"
            if is_stopped:
                turn, step = f"the operator of {title}", "resume the study, once the cause is fixed"
            return Standing(
                f"The study is {answer.state}", text, "bad", turn=turn, step=step, can_withdraw=True
            )
    if leader is not None and leader.state in (StudyState.RUNNING, StudyState.RELEASED):
        said = leader.progress if isinstance(leader, StudyStatus) else ""
        text = printable(said or leader.note) or "The servers are computing on shares."
        return Standing(
            "The computation is in progress", text, turn="the servers", step="compute", can_withdraw=True
        )
    return _before_it_runs(controller, seen)


def _before_it_runs(controller: OwnerController, seen: Seen) -> Standing:
    study, submission = controller.study, controller.study.submitted
    has_sent = submission is not None and bool(submission.sent) and not study.is_withdrawn
    amendment = controller.proposal(seen)
    if amendment is not None and (amendment.is_dropped or amendment.needs_agreement):
        return _amended(amendment, can_withdraw=has_sent)
    if seen.refusal:
        return Standing(
            "The servers do not count you among the owners",
            f"{_sentence(printable(seen.refusal))} If you were given a new kit, start the app with that.",
            "bad",
            turn="the coordinator",
            step="say whether that is meant",
        )
    if seen.is_untold:
        return Standing(
            "Your agreement has not arrived",
            "It is in your kit; the servers still wait for it.",
            "warn",
            turn=YOU,
            step="send your agreement again",
            can_withdraw=has_sent,
            can_tell=True,
        )
    heard = [answer for answer in seen.answers.values() if isinstance(answer, StudyStatus)]
    missing = sorted({name for answer in heard for name in answer.missing})
    if not controller.manifest.evaluation.takes_submissions(heard[0].time if heard else 0.0):
        return Standing(
            "Too late to submit",
            _sentence(controller.manifest.evaluation.too_late),
            "warn",
            turn="the coordinator" if amendment is None else YOU,
            step="extend the deadline, or make a new study"
            if amendment is None
            else "take the amendment into your kit: the last day may be another",
            can_withdraw=True,
        )
    if submission is None or not (submission.sent or submission.withdrawal):
        return Standing(
            "Waiting for your data",
            "It is checked on this machine before anything is sent.",
            turn=YOU,
            step="choose a file, and submit it",
            can_choose=True,
            takes_data=True,
        )
    if submission.withdrawal and not study.is_withdrawn:
        return Standing(
            "Your withdrawal is not complete",
            "Not all servers have acknowledged it.",
            "warn",
            turn=YOU,
            step="withdraw again, to complete it",
            can_withdraw=True,
        )
    if submission.withdrawal:
        return Standing(
            "You have withdrawn your data",
            "The study waits until you submit this or other data.",
            turn=YOU,
            step="submit data again, if you still take part",
            can_choose=True,
            takes_data=True,
        )
    if not study.is_submitted or (heard and study.kit.name in missing):
        return Standing(
            "Your submission is not complete",
            "Choose the same file again: servers that lack shares get the same ones; nothing is sent twice.",
            "warn",
            turn=YOU,
            step="choose the same file again",
            can_choose=True,
            can_withdraw=True,
            takes_data=True,
        )
    leader = seen.answers.get(controller.manifest.protocol.leader.title)
    return _after_own(heard, [name for name in missing if name != study.kit.name], leader)


def _amended(amendment: Proposal, *, can_withdraw: bool) -> Standing:
    """Return the standing of a study that is to go on by other terms than this owner agreed to."""
    if amendment.is_dropped:
        return Standing(
            "Amended without you",
            "The coordinator has amended the study: you take part no longer.",
            "bad",
            turn="the coordinator",
            step="answer, if that is not meant",
            can_withdraw=can_withdraw,
        )
    return Standing(
        "Asks for your agreement",
        "The coordinator has amended the study. It waits until every owner has agreed.",
        "warn",
        turn=YOU,
        step="read what changes, and agree",
        can_withdraw=can_withdraw,
    )


def _after_own(heard: Sequence[StudyStatus], others: Sequence[str], leader: NodeStatus | None) -> Standing:
    """Return the standing of a study that has this owner's data, and waits for something else."""
    text = (
        f"Waiting for {', '.join(others)}." if others else "All have submitted; the computation starts soon."
    )
    if isinstance(leader, StudyStatus) and leader.state == StudyState.COLLECTING and leader.note:
        waiting = f"{text} " if others else ""
        text = f"{waiting}{leader.server} says: {printable(leader.note)}."
    if not heard:
        text = "No server is answering at the moment; they will be asked again. They have what you sent."
    return Standing(
        "Your data is submitted",
        text,
        "good",
        turn=", ".join(others) or "the servers",
        step="submit their data" if others else "compute" if heard else "answer again",
        can_choose=True,
        can_withdraw=True,
        takes_data=True,
    )


def _sentence(text: str) -> str:
    """Return a clause as a sentence."""
    return f"{text[:1].upper()}{text[1:].removesuffix('.')}."


def _node_rows(manifest: Manifest, answers: Mapping[str, NodeStatus]) -> Sequence[ParticipantRow]:
    rows = []
    for server in manifest.protocol.servers:
        organisation = manifest.node(server).organisation or "not named"
        answer = answers.get(server.title)
        if answer is None:
            talks = manifest.node(server).owners_address is not None
            state, note = ("asking", "") if talks else ("not asked", _NO_DATA)
            rows.append(ParticipantRow(server.title, organisation, state, "plain", note))
            continue
        said = answer.progress if isinstance(answer, StudyStatus) else ""
        state = "not reached" if answer.state == "unknown" else str(answer.state)
        note = printable(said or answer.note)
        rows.append(
            ParticipantRow(server.title, organisation, state, _STATE_KINDS.get(answer.state, "plain"), note)
        )
    return rows


def _owner_rows(manifest: Manifest, own: str, answers: Mapping[str, NodeStatus]) -> Sequence[ParticipantRow]:
    heard = [answer for answer in answers.values() if isinstance(answer, StudyStatus)]
    missing = {name for answer in heard for name in answer.missing}
    withdrawn = {name for answer in heard for name in answer.withdrawn}
    submitted = {name for answer in heard for name in answer.submitted}
    is_amended = amended_since(manifest, own, heard)
    rows = []
    for owner in manifest.owners:
        state, kind = ("submitted", "good") if heard else ("not known", "plain")
        if is_amended and owner.name not in missing | submitted:
            state, kind = "no longer", "plain"
        if owner.name in missing:
            state, kind = ("withdrawn", "warn") if owner.name in withdrawn else ("waiting", "plain")
        rows.append(
            ParticipantRow(
                owner.name, owner.organisation, state, kind, "this is you" if owner.name == own else ""
            )
        )
    return rows
