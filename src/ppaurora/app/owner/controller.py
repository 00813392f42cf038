"""An owner's work on one study: the file at hand, what is under way, what the nodes say, the result."""

from __future__ import annotations

import contextlib
import threading
from dataclasses import dataclass, replace
from pathlib import Path

from ppaurora.app.jobs import AppJob, BusyError, Jobs
from ppaurora.app.owner.asking import StudyAsker
from ppaurora.app.owner.draft import Draft
from ppaurora.app.owner.own_values import OwnValues, OwnValuesFile
from ppaurora.app.owner.poller import Seen, StatusPoller
from ppaurora.check import DataCheck
from ppaurora.data import Columns
from ppaurora.errors import InputError, NotReleasedError, PpauroraError
from ppaurora.messages.owners import OVER, StudyState
from ppaurora.owner.agreeing import Proposal
from ppaurora.owner.outbox import OutgoingSubmission
from ppaurora.owner.prepared import PreparedSubmission
from ppaurora.owner.report import StudyReport
from ppaurora.owner.study import Study
from ppaurora.study.amendments import Amendments
from ppaurora.study.kit import OwnerKit
from ppaurora.study.manifest import Manifest

# States of a study at a node in which nothing is amended any longer.
_BEGUN = (StudyState.RUNNING, *OVER)


@dataclass(frozen=True)
class Agreement:
    """The boxes that a person has ticked before data is submitted."""

    to_the_study: bool
    despite_warnings: bool
    replace: bool
    keep_own: bool  # values of the owner's own samples, in its kit


class OwnerController:
    """One study. Tabs share it: one piece of work at a time, and the last file counts."""

    def __init__(self, kit: OwnerKit, manifest: Manifest) -> None:
        self.study = Study(kit.folder, manifest.study, expect_hash=manifest.hash)
        self.own_values = OwnValuesFile(kit, manifest)
        self.jobs = Jobs()
        self.poller = StatusPoller(StudyAsker(kit, lambda: self.manifest))
        self.draft: Draft | None = None
        self._given: Proposal | None = None  # amendments from a file
        self._agreed = ""  # the hash of the manifest that was agreed to here last
        self._lock = threading.Lock()

    @property
    def manifest(self) -> Manifest:
        """The study's manifest, as the amendments that this owner has agreed to have left it."""
        return self.study.manifest

    def follow(self, manifest: Manifest) -> None:
        """Go on with what the kit has, if amendments have come into it elsewhere, as by a command."""
        is_later = manifest.amendment > self.manifest.amendment
        if is_later and self.jobs.running is None and not self.study.is_collected:
            self.study = Study(self.study.kit.folder, manifest.study)
            self._put(None)

    def give(self, amendments: Amendments) -> None:
        """Propose amendments from a file, as where no node can be asked."""
        self._given = self.study.proposal(amendments)
        self._agreed = ""
        if self._given is None:
            raise InputError(
                f"{self.manifest.study}: your kit has these amendments, and you have agreed to them; nothing "
                "was changed"
            )

    def proposal(self, seen: Seen) -> Proposal | None:
        """Return how the study was amended, if this owner may still agree: no later than it is computed."""
        if self.study.is_collected or any(answer.state in _BEGUN for answer in seen.answers.values()):
            return None
        known = [one for one in (seen.proposal, self._given) if one is not None]
        latest = max(known, key=lambda one: one.number, default=None)
        if latest is None or latest.number < self.manifest.amendment:
            return None
        return None if latest.amendments.latest.hash == self._agreed else latest

    def agree(self, shown: str) -> AppJob:
        """Agree to the amendments that lead to the manifest of this hash, which a person was shown."""
        proposal = self.proposal(self.poller.look())
        if proposal is None or proposal.amendments.latest.hash != shown:
            raise InputError(
                "this amendment is no longer as it was shown: there is a later one, it was agreed to in "
                "another tab, or the computation has begun; nothing was done now. Reload the page"
            )
        if proposal.is_dropped:
            raise InputError(
                f"with amendment {proposal.number}, {self.study.kit.name} takes part no longer; there is "
                "nothing to agree to"
            )

        def work(job: AppJob) -> None:
            job.tell("signing, and telling the servers" if proposal.needs_agreement else "")
            self._put(None)  # it was looked at by the terms before
            try:
                self.study.agree(proposal)
            except InputError:
                raise
            except PpauroraError:  # it is in the kit, and was not delivered
                self._agreed = shown
                raise
            self._agreed = shown

        return self.jobs.start(f"taking amendment {proposal.number} into the kit", work)

    def tell_agreement(self) -> AppJob:
        """Tell the nodes again what this owner has agreed to."""

        def work(job: AppJob) -> None:
            job.tell("telling the servers")
            self.study.tell_agreement()

        return self.jobs.start("sending your agreement", work)

    def take(self, path: Path, name: str) -> AppJob:
        """A file that has arrived takes the place of the one before; if its columns are clear, it is read."""

        def work(job: AppJob) -> None:
            try:
                draft = Draft.of(path, name, self.study)
            except BaseException:
                path.unlink(missing_ok=True)
                raise
            self._look(draft, job)

        try:
            return self.jobs.start(f"reading {name}", work)
        except BusyError:
            path.unlink(missing_ok=True)
            raise

    def open(self, number: str, sheet: str | None, encoding: str | None) -> AppJob:
        """Read the names of its columns from another sheet, or in another encoding, and begin anew."""
        draft = self._current(number)
        return self.jobs.start(
            f"reading {draft.name}", lambda job: self._look(draft.opened(self.study, sheet, encoding), job)
        )

    def _look(self, draft: Draft, job: AppJob) -> None:
        self._put(draft)
        if draft.columns.is_complete:
            self._put(draft.checked(draft.columns, self.study, job))

    def check(self, number: str, columns: Columns) -> AppJob:
        """Read the file with these columns, and look at it."""
        draft = self._current(number)

        def work(job: AppJob) -> None:
            self._put(draft.checked(columns, self.study, job))

        return self.jobs.start(f"reading {draft.name}", work)

    def submit(self, number: str, agreement: Agreement) -> AppJob:
        """Split what was looked at and agreed to into shares, and send each to its node."""
        draft = self._current(number)
        prepared = draft.looked.prepared
        if prepared is None:
            raise InputError(f"{draft.name}: must be checked before it is submitted; nothing was sent")
        _check_agreed(prepared.check, agreement)
        agreed = replace(prepared, replace=agreement.replace)

        def work(job: AppJob) -> None:
            job.tell("splitting the data into shares, and sending each server its own")
            sent = self.study.send(agreed)
            self._put(None)
            self._keep_own(sent, agreed, keep=agreement.keep_own)

        return self.jobs.start(f"submitting {draft.name}", work)

    def withdraw(self) -> AppJob:
        """Take back what was submitted."""

        def work(job: AppJob) -> None:
            job.tell("telling the servers")
            self.study.withdraw()
            self.own_values.delete()

        return self.jobs.start("withdrawing", work)

    def collect(self) -> AppJob:
        """Fetch the parts of the result, put them together, and file them in the kit."""

        def work(job: AppJob) -> None:
            job.tell("fetching the parts of the result")
            self.study.result()

        return self.jobs.start("fetching the result", work)

    def result(self) -> StudyReport:
        """Return the collected result, which is filed in the kit, where `Study.results` says."""
        if not self.study.is_collected:
            raise NotReleasedError("the result was not fetched yet; the study's page has a button for it")
        return self.study.result()

    def own_beside(self) -> OwnValues | None:
        """Return the owner's own values of what the result was computed with, if they were kept."""
        return self.own_values.find(self.study.submitted)

    def put_away(self, number: str) -> None:
        """Delete the file that was taken, unless work on it is under way."""
        self._current(number)
        self.jobs.check_idle()
        self.jobs.forget()
        self._put(None)

    def _keep_own(self, sent: OutgoingSubmission, prepared: PreparedSubmission, *, keep: bool) -> None:
        """What was sent stands, whatever comes of this."""
        with contextlib.suppress(PpauroraError):
            if keep:
                self.own_values.keep(OwnValues.of(sent, prepared, self.manifest))
            else:
                self.own_values.delete()

    def _current(self, number: str) -> Draft:
        draft = self.draft
        if draft is None or draft.number != number:
            raise InputError(
                "this file is no longer as it was shown: it was submitted, removed, read with other columns "
                "or replaced by another one, perhaps in another tab; nothing was done now. Reload the page"
            )
        return draft

    def _put(self, draft: Draft | None) -> None:
        with self._lock:
            before, self.draft = self.draft, draft
        if before is not None and (draft is None or before.path != draft.path):
            before.path.unlink(missing_ok=True)


def _check_agreed(check: DataCheck, agreement: Agreement) -> None:
    if check.refusal:
        raise InputError(check.refusal)
    if not agreement.to_the_study:
        raise InputError(
            "not submitted; nothing was sent. Confirm that you agree to what the study discloses"
        )
    if check.warnings and not agreement.despite_warnings:
        codes = ", ".join(dict.fromkeys(concern.code for concern in check.warnings))
        raise InputError(
            f"not submitted; nothing was sent. The data check has warnings ({codes}): fix the data or, if "
            "it is correct, confirm that you submit it despite the warnings"
        )
