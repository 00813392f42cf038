"""How what an owner submits reaches the nodes, is replaced, and is withdrawn.

The node that leads hears everything first: it begins attempts, so it can tell whether a change is in time.
What it has taken stands; the others get the same afterwards, and no attempt begins before they have it.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from ppaurora.channel.servers import Server
from ppaurora.errors import (
    InputError,
    PeerError,
    PeerMisbehavedError,
    PeerTimeoutError,
    RefusedError,
    Wording,
)
from ppaurora.io.system import command_line
from ppaurora.messages.owners import GONE, StudyState, StudyStatus
from ppaurora.messages.refusals import FINAL, REPLACEABLE, RefusalCode
from ppaurora.owner.client import NodeClient
from ppaurora.owner.ledger import Ledger, Sketch
from ppaurora.owner.outbox import Outbox, OutgoingSubmission
from ppaurora.owner.prepared import PreparedSubmission
from ppaurora.study.kit import OwnerKit
from ppaurora.study.manifest import Manifest

_MOST_AHEAD = 1_000_000  # revisions that a node may know of and this kit not
_SECONDS_FOR_OTHERS = 10.0  # in which a withdrawal is passed on, if all are well
_SECONDS_BETWEEN_LOOKS = 0.3
_HAS_NOTHING = (RefusalCode.UNKNOWN_STUDY, RefusalCode.EXPIRED, RefusalCode.DELETED)  # a server that says so


@dataclass(frozen=True)
class Delivery:
    """How an owner reaches the nodes of one study; whoever calls holds `outbox.alone()`."""

    kit: OwnerKit
    manifest: Manifest
    outbox: Outbox
    ledger: Ledger
    clients: Mapping[Server, NodeClient]

    @property
    def servers(self) -> list[Server]:
        """Those that take submissions; the one that leads comes first."""
        leader = self.manifest.protocol.leader
        return sorted(self.manifest.protocol.input_servers, key=lambda server: server is not leader)

    def send(self, prepared: PreparedSubmission) -> OutgoingSubmission:
        """Send it to every node that takes submissions. After a cut, it goes on with the same shares."""
        self._check_unchanged(prepared)
        samples = prepared.samples
        with self._told_how_far():
            found, above, sketch = self.outbox.find(), 0, None
            other = self.outbox.has_other(samples, replace=prepared.replace)
            if other or prepared.replace:
                above = self._check_replacing(found, prepared.replace)
            is_behind = found is not None and above > found.revision
            if other or is_behind or found is None or found.withdrawal or not found.sent:
                sketch = self._agreed_sketch(prepared)
            submission = self.outbox.prepare(samples, replace=other, above=above)
            for server in self.servers:
                submission = self._deliver(submission, server, sketch)
        self.ledger.forget_replaced(self.manifest)
        return submission

    def _check_unchanged(self, prepared: PreparedSubmission) -> None:
        """Raise unless what was prepared is for this study and these floors, and nothing was sent since."""
        check = prepared.check
        is_ours = check.manifest is not None and check.manifest.hash == self.manifest.hash
        if not is_ours or (check.owner, prepared.floors) != (self.kit.name, self.kit.settings.floors):
            raise InputError(
                f"not submitted; nothing was sent. {check.source} was prepared for another study or kit"
            )
        if self.outbox.state() != prepared.before and not self.outbox.is_for(prepared.samples):
            raise InputError(
                f"not submitted; nothing was sent. Since {check.source} was checked, something was "
                f"submitted to the study '{self.manifest.study}' from this kit, or withdrawn: check it again"
            )

    def _agreed_sketch(self, prepared: PreparedSubmission) -> Sketch:
        """Return the sketch of samples that are about to leave; raise if they may not, or not unseen."""
        if prepared.refusal is not None:
            raise prepared.refusal
        self.outbox.check_time()
        sketch = self.ledger.sketch(prepared.samples)
        if self.ledger.compare(sketch, self.manifest) != prepared.seen:
            raise InputError(
                f"not submitted; nothing was sent. What the check of {prepared.check.source} says has "
                "changed since it was shown: check it again"
            )
        return sketch

    def _check_replacing(self, found: OutgoingSubmission | None, replace: bool) -> int:
        """Something else has left. Goes on if that is to be replaced, or has arrived nowhere.

        Returns the highest revision that any node knows of.
        """
        answers = self._statuses()
        self._check_leader_knows(answers)
        known = max((answer.revision for answer in answers.values()), default=0)
        if found is not None and not replace:
            is_sure = not found.acknowledged and len(answers) == len(self.servers)
            if known or not is_sure:
                raise self.outbox.other_data(found)
        return known

    def _check_leader_knows(self, answers: Mapping[Server, StudyStatus]) -> None:
        """A leader that was rolled back would take what others refuse, and the study could not go on."""
        leader, *others = self.servers
        begun = [server for server in others if server in answers and answers[server].attempt]
        if begun and leader in answers and not answers[leader].attempt:
            raise InputError(
                f"{begun[0].title} has begun the computation, and {leader.title} does not know of it, as if "
                "it was restored from a backup: what was submitted can be neither replaced nor withdrawn; "
                f"nothing was sent. To send the same again, run '{self.command('submit', 'DATA')}'"
            )

    def _statuses(self) -> dict[Server, StudyStatus]:
        """Return the status that each node gives, of those that answer."""
        answers = {}
        for server in self.servers:
            with contextlib.suppress(PeerError, RefusedError):
                answers[server] = self._status(server)
        return answers

    def _status(self, server: Server) -> StudyStatus:
        """Revisions only go up: one that is made up could use up all of them."""
        answer, found = self.clients[server].status(), self.outbox.find()
        if answer.revision > (0 if found is None else found.revision) + _MOST_AHEAD:
            raise PeerMisbehavedError(server.title, f"says that there was a revision {answer.revision:,}")
        return answer

    def _deliver(
        self, submission: OutgoingSubmission, server: Server, sketch: Sketch | None
    ) -> OutgoingSubmission:
        client = self.clients[server]
        if server.file_name in submission.acknowledged and self._is_there(client, submission):
            return submission

        body, first = self.outbox.body(server, submission), None if submission.sent else sketch
        before = None
        try:
            with client.reached() as connection:
                if first is not None:
                    before = self.ledger.record(first, self.manifest)
                submission = self.outbox.leaves_for(submission, server)
                answer = client.submit(submission.offer, body, connection)
        except RefusedError as error:
            never_had_it = first is not None and error.code == RefusalCode.UNKNOWN_STUDY
            if error.code in FINAL or never_had_it:
                self.outbox.not_taken(submission, server)
                if first is not None:
                    self.ledger.restore(self.manifest, before)
            raise
        said = (answer.study, answer.owner, answer.commitments, answer.revision)
        offer = submission.offer
        if said != (self.manifest.study_hash, self.kit.name, offer.commitments, offer.revision):
            raise PeerMisbehavedError(server.title, "acknowledged something else than was sent")
        return self.outbox.acknowledge(submission, server, answer)

    def _is_there(self, client: NodeClient, submission: OutgoingSubmission) -> bool:
        """Return whether a node still has what it acknowledged: it has, unless its disk was lost since."""
        answer = client.status()
        is_here = self.kit.name in answer.submitted and answer.revision == submission.offer.revision
        return answer.state == StudyState.RELEASED or is_here

    @contextlib.contextmanager
    def _told_how_far(self) -> Iterator[None]:
        """Whatever cuts it off says who has what, and what to do next."""
        try:
            yield
        except BaseException as error:
            if not (isinstance(error, RefusedError) and error.code in REPLACEABLE):
                with contextlib.suppress(InputError, OSError):
                    self.outbox.discard_unsent()
            if isinstance(error, PeerError | RefusedError | KeyboardInterrupt):
                error.add_note(self._how_far(error))
            raise

    def _how_far(self, error: BaseException) -> str:
        found = self.outbox.find()
        is_final = isinstance(error, RefusedError) and error.code in FINAL
        if found is None or not found.sent:
            if not is_final:
                state = "nothing was sent, and this or another file can be submitted"
                return Wording(f"{state}: '{self.command('submit', 'DATA')}'", state)
            if isinstance(error, RefusedError) and error.code in REPLACEABLE:
                replacing, until = (
                    self.command("submit", "DATA", "--replace"),
                    "until the computation begins,",
                )
                return Wording(
                    f"{until} '{replacing}' sends this in its place",
                    f"{until} submit this file once more, and it takes the place of that",
                )
            state = "nothing is kept of this file"
        elif self.outbox.is_complete(found):
            return f"what was submitted before stands: {self.outbox.delivered(found)}"
        else:
            state = f"{found.samples:,} samples are {self.outbox.delivered(found)}"
        if is_final:
            shows = "shows how far the study is"
            return Wording(
                f"{state}; '{self.command('status')}' {shows}", f"{state}; the study's page {shows}"
            )
        return Wording(
            f"{state}; to go on, run '{self.command('submit', 'DATA')}' again with the same file",
            f"{state}; to go on, submit the same file again",
        )

    def command(self, name: str, *arguments: str) -> str:
        """Return the command to type, with this kit and study."""
        study = ("--study", self.manifest.study)
        return command_line(["ppaurora", name, str(self.kit.folder), *arguments, *study])

    def describe(self, heard: Mapping[str, StudyStatus], *, has_result: bool = False) -> str:
        """Return what was sent and who has it: as the nodes say, by title, else as they have acknowledged.

        Nobody is told to send again what a study that is over does not take.
        """
        found = self.outbox.find()
        if found is None or not (found.sent or found.withdrawal):
            return "nothing"
        has = [server.title for server in self.servers if self._has(found, server, heard.get(server.title))]
        lacks = [server.title for server in self.servers if server.title not in has]
        if found.withdrawal:
            what = "withdrawn"
            again = Wording(f"'{self.command('withdraw')}' completes it", "withdraw again to complete it")
        else:
            again = Wording(
                f"run '{self.command('submit', 'DATA')}' again with the same file",
                "submit the same file again",
            )
            what = f"{found.samples:,} samples"
        said = f"{what}: {' and '.join(has) or 'nobody'} acknowledged it"
        if not lacks:
            return said
        names, states = " and ".join(lacks), {answer.state for answer in heard.values()}
        if has_result:
            return f"{said}, {names} no longer has it; this kit has the result: nothing is to be sent again"
        if StudyState.RELEASED in states:
            return (
                f"{said}, {names} has lost it since. The result was released, so nothing can be sent again: "
                f"ask the operator of {names} for a backup; without one, a new study is needed"
            )
        if states.intersection(GONE):
            return f"{said}, {names} no longer has it; the study is over"
        if StudyState.STOPPED in states and not found.withdrawal:
            return f"{said}, {names} did not; the study has stopped, and takes nothing until it goes on"
        said = f"{said}, {names} did not;"
        return Wording(f"{said} {again}", f"{said} {again.page}")

    def _has(self, found: OutgoingSubmission, server: Server, heard: StudyStatus | None) -> bool:
        if heard is None:
            return server.file_name in (found.withdrawn if found.withdrawal else found.acknowledged)
        named = heard.withdrawn if found.withdrawal else heard.submitted
        return self.kit.name in named and heard.revision == found.revision

    def withdraw(self) -> OutgoingSubmission | None:
        """Take back what was submitted, at all nodes. After a cut, the same call goes on.

        None if this kit does not know what it was: it was submitted from another copy of it.
        """
        found = self.outbox.find()
        leader, *others = self.servers
        try:
            revision = self._withdrawal_revision(found)
            if found is not None and found.withdrawal != revision:
                found = self.outbox.withdraws(found, revision)
            self._withdraw_from(leader, revision)
        except RefusedError as error:
            if found is not None and error.code in FINAL:
                self.outbox.withdraws(found, 0)
            if self.forget_if_never_begun(self._statuses()):
                error.add_note("nothing was computed with what was submitted; other studies may have it")
            raise
        except (PeerError, KeyboardInterrupt) as error:
            said = (
                f"{leader.title} has not acknowledged a withdrawal: what was submitted may still be computed "
                "with. To go on,"
            )
            again = f"{said} run '{self.command('withdraw')}' again"
            error.add_note(Wording(again, f"{said} withdraw again"))
            raise
        if found is not None:
            found = self.outbox.acknowledge_withdrawal(found, leader)
        has_nothing: RefusedError | None = None
        for server in others:
            try:
                self._hear_of_withdrawal(server, revision)
            except RefusedError as error:
                if error.code not in _HAS_NOTHING:
                    raise
                has_nothing = error
                continue
            if found is not None:
                found = self.outbox.acknowledge_withdrawal(found, server)
        self.ledger.forget(self.manifest)
        if has_nothing is not None:
            raise has_nothing
        return found

    def forget_if_never_begun(self, answers: Mapping[Server, StudyStatus]) -> bool:
        """Take a study off the ledger that is over, if no node has an attempt; return whether that is so.

        Nothing begins at a leader where the study is over. If one of the others is silent, nobody knows what
        a leader that was restored from a backup has forgotten.
        """
        leader = answers.get(self.manifest.protocol.leader)
        is_over = leader is not None and leader.state in GONE
        if not is_over or len(answers) < len(self.clients) or any(one.attempt for one in answers.values()):
            return False
        self.ledger.forget(self.manifest)
        return True

    def _withdrawal_revision(self, found: OutgoingSubmission | None) -> int:
        """Return the revision of a withdrawal that was begun, or one above all that any node knows.

        Raises if there is nothing to withdraw.
        """
        leader = self.servers[0]
        at_leader = self._status(leader)
        answers = self._statuses()
        self._check_leader_knows(answers)
        known = [at_leader.revision, *(answer.revision for answer in answers.values())]
        if found is not None and found.withdrawal:
            return found.withdrawal
        last = max(*known, 0 if found is None else found.revision)
        if self.kit.name in at_leader.withdrawn and at_leader.revision == last:
            return last
        if not max(known) and (found is None or not found.sent):
            self.outbox.discard()
            raise InputError(
                f"nothing was submitted to the study '{self.manifest.study}'; there is nothing to withdraw"
            )
        return last + 1

    def _withdraw_from(self, server: Server, revision: int) -> None:
        answer = self.clients[server].withdraw(revision)
        if (answer.study, answer.owner, answer.revision) != (
            self.manifest.study_hash,
            self.kit.name,
            revision,
        ):
            raise PeerMisbehavedError(server.title, "acknowledged something else than was asked for")

    def _hear_of_withdrawal(self, server: Server, revision: int) -> None:
        """The leader tells the others; each of them acknowledges it to the owner."""
        deadline = time.monotonic() + _SECONDS_FOR_OTHERS
        leader = self.servers[0].title
        recorded = f"{leader} has recorded the withdrawal: nothing will be computed with what was submitted"
        told = f"{recorded}. {server.title} has not acknowledged it yet; {leader} tells it as soon as it can."
        note = Wording(
            f"{told} To see whether it has, run '{self.command('withdraw')}' again",
            f"{told} The study's page shows whether it has",
        )
        while True:
            try:
                self._withdraw_from(server, revision)
            except RefusedError as error:
                if error.code != RefusalCode.PENDING:
                    error.add_note(recorded)
                    raise
                if time.monotonic() > deadline:
                    late = PeerTimeoutError(server.title, "has not heard of the withdrawal in time")
                    late.add_note(note)
                    raise late from None
            except PeerError as error:
                error.add_note(note)
                raise
            else:
                return
            time.sleep(_SECONDS_BETWEEN_LOOKS)
