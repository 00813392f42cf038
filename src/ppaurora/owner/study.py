"""An owner's part in a study, from its samples to the result."""

from __future__ import annotations

import contextlib
import time
import warnings
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Unpack

from ppaurora.check import DataCheck, check_data, check_rows_per_person
from ppaurora.data import ColumnKeywords, Columns, Design
from ppaurora.errors import (
    InputError,
    NotReleasedError,
    NotVerifiedError,
    PeerError,
    PeerLostError,
    PeerMisbehavedError,
    PeerTimeoutError,
    ProtocolError,
    RefusedError,
    Wording,
    text_of,
)
from ppaurora.messages.owners import UNDER_WAY, ReleasedPart, SignedStatement, StudyState, StudyStatus
from ppaurora.messages.refusals import PASSING, RefusalCode
from ppaurora.owner.agreeing import Agreements, Proposal
from ppaurora.owner.client import NodeClient, clients_of
from ppaurora.owner.delivery import Delivery
from ppaurora.owner.inbox import Inbox
from ppaurora.owner.ledger import Ledger, Seen
from ppaurora.owner.outbox import Outbox, OutgoingSubmission, has_result
from ppaurora.owner.prepared import OwnData, PreparedSubmission, Scores
from ppaurora.owner.report import OwnPart, StudyReport, receipt_from, save_receipt
from ppaurora.study.amendments import Amendments
from ppaurora.study.kit import OwnerKit
from ppaurora.study.manifest import Manifest
from ppaurora.study.receipt import problem_with_statement

_SECONDS_BETWEEN_LOOKS = 1.0

Watch = Callable[[str], None]
Review = Callable[[DataCheck], None]


@dataclass(frozen=True)
class Unreachable:
    """A node that gave no status, and why."""

    note: str
    state: str = "unknown"
    refused: bool = False  # it answered, and told nothing


NodeStatus = StudyStatus | Unreachable


class Study:
    """One owner's side of a study, given its kit.

    Parameters
    ----------
    kit
        The folder of the kit.
    study
        The study's name; may be left out if the kit has one study only.
    timeout
        Seconds to wait for an answer from a node.
    expect_hash
        The hash of the manifest that this owner agreed to, or at least its first 12 digits. If the kit holds
        another manifest, nothing is done. Give all 64 digits if you do not trust the maker of the manifest.

    Examples
    --------
    The other owner of this study has already submitted `([0, 1, 0], [0.3, 0.6, 0.6])`:

    >>> import ppaurora
    >>> study = ppaurora.Study("kits/north", "sepsis-2026")
    >>> report = study.evaluate([1, 0, 1, 0], [0.9, 0.4, 0.7, 0.2])
    >>> report.auroc
    0.9583333333333334
    >>> report.receipt.samples
    {'north': 4, 'harbour': 3}
    """

    def __init__(
        self,
        kit: str | Path,
        study: str | None = None,
        timeout: float = 60.0,
        *,
        expect_hash: str | None = None,
    ) -> None:
        self.kit = OwnerKit.read(Path(kit))
        self.manifest: Manifest = self.kit.manifest(study)
        self.kit.expect(self.manifest, expect_hash)
        self.kit.check_own(self.manifest)
        self.kit.check_key()
        self._ledger = Ledger(self.kit)
        self._timeout = timeout
        self._work_with(self.manifest)

    def _work_with(self, manifest: Manifest) -> None:
        """Take part in the study as this manifest has it."""
        self.manifest = manifest
        self._clients = clients_of(self.kit, manifest, self._timeout)
        self._outbox = Outbox(self.kit, manifest)
        self._inbox = Inbox(self.kit, manifest)
        self._delivery = Delivery(self.kit, manifest, self._outbox, self._ledger, self._clients)
        self._agreements = Agreements(self.kit, manifest)

    def __repr__(self) -> str:
        return f"<Study {self.manifest.study} of {self.kit.name}>"

    def evaluate(
        self,
        data: Any,
        y_score: Scores | None = None,
        *,
        watch: Watch | None = None,
        timeout: float | None = None,
        **columns: Unpack[ColumnKeywords],
    ) -> StudyReport:
        """Submit, wait until all owners have, and return the result: `submit` and then `wait`.

        Parameters
        ----------
        data, y_score
            As for `submit`, for instance `evaluate(y_true, y_score)`.
        watch
            Called with a line of text whenever there is news, for instance `print`.
        timeout
            Seconds to wait for the result; by default as long as it takes. After that,
            `NotReleasedError` is raised, and the same call later continues with the same submission.
        **columns
            As `submit` takes them: `score`, `label`, `id`, `pos_label`, and those of studies with a design.

        Returns
        -------
        StudyReport
            The metrics, by name and as attributes, and the receipt. Both are saved, see `result`.
        """
        self.submit(data, y_score, **columns)
        return self.wait(watch, timeout)

    def check(
        self,
        data: Any,
        y_score: Scores | None = None,
        **columns: Unpack[ColumnKeywords],
    ) -> DataCheck:
        """Check data before it is submitted: counts, scores by class, local AUROC, and anything unusual.

        Data is given as to `submit`. Nothing leaves this machine, and nothing is kept. `spending` says how
        much epsilon the study and earlier ones on the same data spend, and what the kit's floor allows.

        Examples
        --------
        >>> import ppaurora
        >>> study = ppaurora.Study("kits/north", "sepsis-2026")
        >>> found = study.check({"risk": [0.1, 0.6, 0.3], "died": [1, 0, 0]}, score="risk", label="died")
        >>> [concern.code for concern in found.warnings]
        ['auroc-below-half']
        """
        own = self._read(data, y_score, columns)
        seen = self._ledger.look(own.samples, self.manifest)
        return self._check(own, seen, self._refusal(own, seen))

    @property
    def design(self) -> Design:
        """The models, outcomes, subgroups and further columns of the study."""
        return self.manifest.terms

    def _read(self, data: Any, y_score: Scores | None, columns: ColumnKeywords) -> OwnData:
        grid = self.manifest.protocol.counting_grid
        return OwnData.read(self.kit.name, data, y_score, Columns.called(**columns), grid, self.design)

    def _refusal(self, own: OwnData, seen: Seen) -> InputError | None:
        """Return why the study does not take this data now, or may not have it, if so."""
        try:
            seen.spending.check()
            check_rows_per_person(own.samples, self.manifest.terms.policy)
            self._outbox.check(own.samples)
        except InputError as error:
            return error
        return None

    def _check(self, own: OwnData, seen: Seen, refusal: InputError | None) -> DataCheck:
        return check_data(
            own.samples,
            own.description,
            pos_label=own.columns.pos_label,
            owner=self.kit.name,
            manifest=self.manifest,
            overlaps=seen.overlaps,
            spending=seen.spending,
            floors=self.kit.settings.floors,
            refusal="" if refusal is None else text_of(refusal),
            moved=own.moved,
            design=self.design,
        )

    def prepare(
        self,
        data: Any,
        y_score: Scores | None = None,
        *,
        replace: bool = False,
        **columns: Unpack[ColumnKeywords],
    ) -> PreparedSubmission:
        """Read and check data, to decide whether to `send` it. Nothing is kept, and nothing leaves.

        Arguments are those of `submit`. Data that the study does not take is prepared nevertheless, and
        `send` refuses it: `check.refusal` says why. Other data than was submitted before is refused here, if
        it is not to replace that.

        Examples
        --------
        >>> import ppaurora
        >>> study = ppaurora.Study("kits/north", "corrected-2026")
        >>> prepared = study.prepare(([1, 0, 0], [0.85, 0.15, 0.35]))
        >>> prepared.check.positives, [concern.code for concern in prepared.check.warnings]
        (1, [])
        >>> study.send(prepared).samples
        3
        >>> sent = study.withdraw()
        """
        own = self._read(data, y_score, columns).fixed()
        if self._inbox.find() is not None:
            raise has_result(self.manifest.study)
        before = self._outbox.state()
        if not replace:
            self._outbox.check_other(own.samples)
        seen = self._ledger.look(own.samples, self.manifest)
        refusal = self._refusal(own, seen)
        return PreparedSubmission(
            check=self._check(own, seen, refusal),
            replace=replace,
            is_begun=not replace and self._outbox.has(own.samples),
            samples=own.samples,
            floors=self.kit.settings.floors,
            seen=seen,
            refusal=refusal,
            before=before,
        )

    def send(self, prepared: PreparedSubmission) -> OutgoingSubmission:
        """Send what was prepared to every node that takes submissions, or raise if that is not as it was.

        Shares are drawn and kept in the kit before the first of them leaves. If interrupted, the same call,
        or `submit` with the same data, continues with the same shares.
        """
        with self._outbox.alone():
            self._check_no_result()
            return self._delivery.send(prepared)

    def submit(
        self,
        data: Any,
        y_score: Scores | None = None,
        *,
        replace: bool = False,
        review: Review | None = None,
        **columns: Unpack[ColumnKeywords],
    ) -> OutgoingSubmission:
        """Prepare data, and send it to every node that takes submissions: `prepare`, and then `send`.

        After a cut, the same call goes on with the same shares. What a check of the data warns of is a
        `DataWarning`; that nearly the same data was submitted to another study from this kit, an
        `OverlapWarning`. Shares leave this machine, scores and labels do not.

        Parameters
        ----------
        data, y_score
            A table: a data frame, a file's path, a database's cursor, anything that `ppaurora.data.read_data`
            takes, also what that returns. Or a pair `(y_true, y_score)`, or these two one after the other. In
            a study that names models, scores are a dict by model, and likewise labels by outcome; a dict of
            further columns may follow in the pair: variables of subgroups, "patient", "weight".
            Where the study's protocol is "grid", files and cursors may be of any size, and what
            `ppaurora.tabulate` returns for the study's grid takes the place of data.
            Scores as the model gives them: if the study says that lower means more positive, they are
            negated here.
        replace
            It takes the place of something else that was submitted before, until the computation begins.
            The same samples in another order are the same. There is no other way to replace.
        review
            Deprecated: `prepare` returns the check of the data, and `send` is called if a person agrees. It
            is called with that check in place of warnings, and raises if a person declines.
        **columns
            `score` and `label`, the names of a table's columns, by default these; `id`, the name of a column
            that tells samples apart, to look for duplicates (it is not sent); `pos_label`, the label of the
            positive class, if labels are not 0/1 or true/false. In a study that names them, `score` is a dict
            by model, `label` one by outcome and `group` one by variable; these, `patient` and `weight` are
            columns that the table calls otherwise than the plan. `leave_out_missing=True` leaves out, and
            counts, rows without a score or a label; `left_out` says how many were left out before, for
            instance `{"excluded": 12}`.

        Returns
        -------
        OutgoingSubmission
            What all these nodes have acknowledged.

        Examples
        --------
        A typo, found in time:

        >>> import ppaurora
        >>> study = ppaurora.Study("kits/north", "corrected-2026")
        >>> sent = study.submit({"risk": [0.8, 0.1, 0.3], "died": [1, 1, 0]}, score="risk", label="died")
        >>> sent = study.submit(([1, 0, 0], [0.8, 0.1, 0.3]), replace=True)
        >>> study.is_submitted, sent.samples
        (True, 3)
        >>> sent = study.withdraw()
        >>> study.is_submitted
        False
        """
        prepared = self.prepare(data, y_score, replace=replace, **columns)
        if review is None:
            prepared.warn()
        else:
            warnings.warn("review: call prepare, and then send", DeprecationWarning, stacklevel=2)
            if not prepared.is_begun:
                review(prepared.check)
        return self.send(prepared)

    def withdraw(self) -> OutgoingSubmission | None:
        """Withdraw what was submitted, until the computation starts; all nodes acknowledge it.

        If interrupted, the same call continues. Afterwards this or other data can be submitted again. Return
        what was withdrawn, if this kit knows it.
        """
        with self._outbox.alone():
            self._check_no_result()
            return self._delivery.withdraw()

    def _check_no_result(self) -> None:
        if self._inbox.find() is not None:
            self._outbox.forget()
            raise has_result(self.manifest.study)

    @property
    def submitted(self) -> OutgoingSubmission | None:
        """Return what was prepared from this kit, whether or not all of it has arrived; None before that."""
        return self._outbox.find()

    @property
    def is_submitted(self) -> bool:
        """Whether every node that takes submissions has acknowledged one from this kit; not if withdrawn."""
        submission = self.submitted
        return submission is not None and self._outbox.is_complete(submission)

    @property
    def is_withdrawn(self) -> bool:
        """Whether every node that takes submissions has acknowledged a withdrawal from this kit."""
        submission = self.submitted
        return submission is not None and self._outbox.is_withdrawn(submission)

    @property
    def is_collected(self) -> bool:
        """Whether the parts of the result are in the kit, so that `result` answers from there."""
        return self._inbox.find() is not None

    def sent(self, answers: Mapping[str, NodeStatus]) -> str:
        """Return what was sent from this kit and who has it, as the nodes' answers and the kit say."""
        heard = {title: answer for title, answer in answers.items() if isinstance(answer, StudyStatus)}
        return self._delivery.describe(heard, has_result=self.is_collected)

    def status(self) -> dict[str, NodeStatus]:
        """Return what each node says of the study, by title; of one that cannot be reached, why.

        A node that does not know of the release whose result this kit has was rolled back, and is told. A
        study that is over and never began has no part in this owner's budget any more.
        """
        released = self._signed_release()

        def ask(client: NodeClient) -> NodeStatus:
            try:
                return _remind(client, client.status(), released)
            except (PeerError, RefusedError) as error:
                return Unreachable(str(error), refused=isinstance(error, RefusedError))

        with ThreadPoolExecutor(len(self._clients)) as pool:
            answers = dict(zip(self._clients, pool.map(ask, self._clients.values()), strict=True))
        heard = {server: answer for server, answer in answers.items() if isinstance(answer, StudyStatus)}
        self._delivery.forget_if_never_begun(heard)
        return {server.title: answer for server, answer in answers.items()}

    def _signed_release(self) -> SignedStatement | None:
        """Return a statement of the release whose result this kit has; None without one.

        The shortest, since nodes take no long ones: a helper's has no history.
        """
        try:
            collected = self._inbox.find()
        except InputError:
            return None
        signed = [] if collected is None else [one for part in collected.answers for one in part.statements]
        fitting = [one for one in signed if not problem_with_statement(one, self.manifest)]
        return min(fitting, key=lambda one: len(one.statement.history), default=None)

    def proposal(self, file: str | Path | Amendments | None = None) -> Proposal | None:
        """Return how the coordinator has amended the study since this kit last agreed; None if not at all.

        Parameters
        ----------
        file
            `STUDY.amendments.json` from the coordinator, or its content; by default, what the nodes have.
        """
        if file is None:
            amendments = self._agreements.fetch(self._clients.values())
        elif isinstance(file, Amendments):
            amendments = file
        else:
            amendments = Amendments.read(Path(file))
        return None if amendments is None else self._agreements.proposal(amendments)

    def agree(self, proposal: Proposal) -> None:
        """Agree to amendments: they are the terms of this study from now on, and nodes are told.

        If interrupted, `tell_agreement` tells them; what was submitted stands.
        """
        self._agreements.agree(proposal)
        self._work_with(proposal.amendments.latest)
        self.tell_agreement()

    def tell_agreement(self) -> bool:
        """Tell the nodes what this owner has agreed to; False if it has signed nothing, as it was not asked.

        The one that leads has to take it, and tells the others.
        """
        signed = self._agreements.signed()
        if signed is None:
            return False
        for server in self._delivery.servers:
            try:
                self._clients[server].agree(signed)
            except (PeerError, RefusedError) as error:
                if server is self.manifest.protocol.leader:
                    again = self._delivery.command("accept")
                    kept = "the agreement is in the kit, and was not delivered;"
                    error.add_note(
                        Wording(f"{kept} run '{again}' again", f"{kept} the study's page has a button for it")
                    )
                    raise
        return True

    def wait(self, watch: Watch | None = None, timeout: float | None = None) -> StudyReport:
        """Wait until the result is released, someone has to act, or the time is up.

        `watch` and `timeout` are as `evaluate` takes them.
        """
        if self._inbox.find() is not None:
            return self.result()
        deadline = None if timeout is None else time.monotonic() + timeout
        leader = self.manifest.protocol.leader.title
        last = ""
        while True:
            answers = self.status()
            if all(answer.state == StudyState.RELEASED for answer in answers.values()):
                # Whoever has waited for days does not mind a cut, or a full disk, at the very end.
                try:
                    return self.result()
                except (PeerLostError, PeerTimeoutError):
                    pass
                except RefusedError as error:
                    if error.code not in PASSING:
                        raise
            for title, answer in answers.items():
                # The leader may be trying again when the others have not heard of it yet.
                stopped = answer.state == StudyState.STOPPED and title == leader
                if stopped or answer.state in (StudyState.EXPIRED, StudyState.DELETED):
                    raise NotReleasedError(f"{title}: the study is {answer.state}: {answer.note}")
            said = _summary(answers)
            if watch is not None and said != last:
                watch(said)
                last = said
            if deadline is not None and time.monotonic() > deadline:
                raise NotReleasedError(f"there is no result yet: {said}")
            time.sleep(_SECONDS_BETWEEN_LOOKS)

    def result(self) -> StudyReport:
        """Fetch the parts of the result, combine them, and return the report. No server learns the outcome.

        The parts are fetched once, and kept in the kit before they are used. Every later call answers from
        there, with the same result or the same error, without contacting a server. Result and receipt are
        saved in the kit, see `results`.
        """
        protocol = self.manifest.protocol
        collected = self._inbox.find() or self._inbox.keep(self._fetch())
        self._outbox.forget()
        answers, first = collected.answers, collected.answers[0]
        try:
            manifest, amended = self._agreements.counted(answers, protocol.result_servers)
        except NotVerifiedError as error:
            raise ProtocolError(f"what the nodes signed does not verify: {error}") from None
        self.manifest = manifest
        for server, answer in zip(protocol.result_servers, answers, strict=True):
            if (answer.study, answer.owner) != (manifest.study_hash, self.kit.name):
                raise PeerMisbehavedError(server.title, "answered with another study's result")
            if answer.protocol_version != manifest.version:
                raise PeerMisbehavedError(server.title, "computed with another version of the protocol")
            for what in ("attempt", "submissions"):
                if getattr(answer, what) != getattr(first, what):
                    raise ProtocolError(
                        f"the nodes do not agree on the {what} behind the result; there is none to trust"
                    )
        self._check_own_submission(first)
        try:
            receipt = receipt_from(answers, manifest, amended)
            save_receipt(receipt, self.results)
            parts = [
                OwnPart(server=server.file_name, salt=answer.salt, part=answer.part)
                for server, answer in zip(protocol.result_servers, answers, strict=True)
            ]
            report = StudyReport.of(receipt, self.kit.name, parts)
        except NotVerifiedError as error:
            raise ProtocolError(f"what the nodes signed does not verify: {error}") from None
        report.save(self.results)
        return report

    @property
    def results(self) -> Path:
        """Return the path of the result of this study; the receipt alone is next to it."""
        return self.kit.folder / "results" / f"{self.manifest.study}.json"

    def _fetch(self) -> list[ReleasedPart]:
        try:
            return [self._clients[server].release() for server in self.manifest.protocol.result_servers]
        except RefusedError as error:
            if error.code in (RefusalCode.NOT_RELEASED, RefusalCode.EXPIRED, RefusalCode.DELETED):
                missing = NotReleasedError(str(error))
                for note in getattr(error, "__notes__", ()):
                    missing.add_note(note)
                shows = "shows how far the study is"
                missing.add_note(
                    Wording(f"'{self._delivery.command('status')}' {shows}", f"the study's page {shows}")
                )
                raise missing from None
            raise
        except PeerError as error:
            checks = f"'{self._delivery.command('preflight')}' checks the connections to all nodes"
            error.add_note(Wording(checks, f"in a terminal, {checks}"))
            raise

    def _check_own_submission(self, answer: ReleasedPart) -> None:
        """Was it computed with what this owner sent?"""
        submission = self.submitted
        if submission is None or (submission.withdrawal and not submission.withdrawn):
            return
        used = [(one.commitments, one.floors) for one in answer.submissions if one.owner == self.kit.name]
        is_ours = used in [[(offer.commitments, offer.floors)] for offer in submission.offers]
        if submission.withdrawal and is_ours:
            raise ProtocolError("the result was computed with what this owner had withdrawn")
        if not is_ours:
            raise ProtocolError("the result was computed with something else than this owner submitted")


def _summary(answers: dict[str, NodeStatus]) -> str:
    """Describe the study in one line for people."""
    heard = [answer for answer in answers.values() if isinstance(answer, StudyStatus)]
    missing = sorted({name for answer in heard for name in answer.missing})
    progress = next((answer.progress for answer in heard if answer.progress), "")
    said = [f"waiting for submissions of {', '.join(missing)}"] if missing else []
    said += [f"{title}: {answer.note}" for title, answer in answers.items() if answer.note]
    return progress or "; ".join(said) or next(iter(answers.values())).state


def _remind(client: NodeClient, answer: StudyStatus, released: SignedStatement | None) -> StudyStatus:
    """Show a release to a node whose answer does not know of it, and return what it says then."""
    if released and answer.state in UNDER_WAY:
        with contextlib.suppress(PeerError, RefusedError):  # an earlier version knows no such request
            return client.tell(released)
    return answer
