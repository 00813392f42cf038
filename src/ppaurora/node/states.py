"""The states of a study and of an attempt at one node, and what may follow what.

These tables are the only ones; the store refuses every change that they do not have. ARCHITECTURE.md shows
them, and a test compares.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType

from ppaurora.errors import PpauroraError
from ppaurora.messages.owners import StudyState


class AttemptState(StrEnum):
    """The states of an attempt at one node."""

    RUNNING = "running"
    FAILED = "failed"
    COMPUTED = "computed"  # this node's part of the result, if it gets any, is on disk
    RELEASED = "released"


STUDY_CHANGES: Mapping[tuple[StudyState, StudyState], str] = MappingProxyType(
    {
        (StudyState.COLLECTING, StudyState.RUNNING): (
            "at the leader, all owners have submitted, and no public rule is broken; elsewhere, the leader "
            "begins an attempt"
        ),
        (StudyState.RUNNING, StudyState.COLLECTING): (
            "an owner withdraws or replaces its submission, or a public rule is found broken, and no attempt "
            "was made here"
        ),
        (StudyState.COLLECTING, StudyState.STOPPED): (
            "the leader says that it has stopped; or this node's operator stops it"
        ),
        (StudyState.RUNNING, StudyState.STOPPED): (
            "all attempts that the manifest allows have failed here; or, at the leader, the nodes do not "
            "agree; or, elsewhere, the leader says that it has stopped; or this node's operator aborts or "
            "stops it"
        ),
        (StudyState.STOPPED, StudyState.COLLECTING): (
            "this node's operator retries, and no attempt was made here"
        ),
        (StudyState.STOPPED, StudyState.RUNNING): "this node's operator retries",
        (StudyState.RUNNING, StudyState.RELEASED): (
            "every server that gets a part of the result has it on disk; the leader tells the others"
        ),
        (
            StudyState.COLLECTING,
            StudyState.EXPIRED,
        ): "the last submission is older than the manifest keeps it",
        (StudyState.RUNNING, StudyState.EXPIRED): "the same",
        (StudyState.STOPPED, StudyState.EXPIRED): "the same",
        (StudyState.RELEASED, StudyState.EXPIRED): "the release is older than the manifest keeps it",
        (StudyState.COLLECTING, StudyState.DELETED): "this node's operator deletes it",
        (StudyState.RUNNING, StudyState.DELETED): "the same",
        (StudyState.STOPPED, StudyState.DELETED): "the same",
        (StudyState.RELEASED, StudyState.DELETED): "the same",
    }
)

ATTEMPT_CHANGES: Mapping[tuple[AttemptState, AttemptState], str] = MappingProxyType(
    {
        (AttemptState.RUNNING, AttemptState.COMPUTED): "this node's part is done, and on disk",
        (AttemptState.RUNNING, AttemptState.FAILED): "it was cut off, here or elsewhere",
        (AttemptState.COMPUTED, AttemptState.FAILED): (
            "another server did not finish its part, or the study stopped and this node's operator retries"
        ),
        (AttemptState.COMPUTED, AttemptState.RELEASED): "the study is released with it",
    }
)


# Who can do what about a study that does not go on; owners and operators read it at the end of notes.
THEY_RETRY = "the operator of every node at which it has stopped runs 'ppaurora retry'"
RETRY = f"once the cause is fixed, {THEY_RETRY}"
NEW_STUDY = "owners without a result need a new study"


class StateError(PpauroraError):
    """The study is in a state that does not allow this."""


class ChangedError(StateError):
    """Submissions have changed since an attempt was agreed on."""


class StaleAttemptError(StateError):
    """The attempt is not, or no longer, the one that counts."""
