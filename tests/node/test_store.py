"""What is stored stays as it is: results, releases, the end of a study."""

from __future__ import annotations

import contextlib

import numpy as np
import pytest

from ppaurora.errors import PpauroraError
from ppaurora.messages.owners import StudyState
from ppaurora.node.states import AttemptState, StaleAttemptError
from ppaurora.node.store import Store
from tests.support.trials import Trials, kept_share, part


def test_a_released_result_is_never_replaced(store: Store, consortium: Trials) -> None:
    """Proxy 0 may begin attempt 2 while attempt 1 awaits its release; what was released stays as it is."""
    study = consortium.manifest.hash
    first, second = part(np.arange(4)), part(np.ones(4))
    store.begin_attempt(study, 1)
    store.computed(study, 1, {"north": first})
    store.begin_attempt(study, 2)
    store.release(study, 1)
    with contextlib.suppress(PpauroraError):
        store.computed(study, 2, {"north": second})
    found = store.result(study, "north")
    assert found is not None
    assert (found[0], found[1].to_bytes()) == (1, first.to_bytes())


def test_results_of_another_attempt_are_never_released(store: Store, consortium: Trials) -> None:
    """What owners get is of the attempt that was released, or nothing is released."""
    study = consortium.manifest.hash
    for number in (1, 2):
        store.begin_attempt(study, number)
        store.computed(study, number, {"north": part(np.full(4, number))})
    with pytest.raises(StaleAttemptError):
        store.release(study, 1)
    found = store.study(study)
    assert found is not None
    assert found.state is StudyState.RUNNING
    store.release(study, 2)
    assert store.attempt_state(study, 2) is AttemptState.RELEASED


def test_an_expired_study_is_over(store: Store, consortium: Trials) -> None:
    """An upload or an attempt that ends after the study's time does not bring it back."""
    study = consortium.manifest
    store.begin_attempt(study.hash, 1)
    store.set_state(study.hash, StudyState.EXPIRED)
    with contextlib.suppress(PpauroraError):
        kept_share(store, study)
    with contextlib.suppress(PpauroraError):
        store.computed(study.hash, 1, {"north": part(np.zeros(4))})
    with contextlib.suppress(PpauroraError):
        store.release(study.hash, 1)
    found = store.study(study.hash)
    assert found is not None
    assert found.state is StudyState.EXPIRED
    assert store.submission(study.hash, "north") is None
    assert store.result(study.hash, "north") is None
