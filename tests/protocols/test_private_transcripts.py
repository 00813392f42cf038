"""A private study looks the same to servers whatever the data is, and always has a result."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from ppaurora.agreement.terms import Terms
from ppaurora.errors import UnsortedListError
from ppaurora.metrics import release as release_module
from ppaurora.policy.rules import Policy
from ppaurora.protocols import Fast, Prepared
from ppaurora.sharing.stages import OwnerShare
from ppaurora.testing.world import WorldRun
from tests.support.cases import Owner, transcript
from tests.support.private import EVERYTHING
from tests.support.runs import Submission, combined, samples_of, watched_run

SIZES = (9, 6, 13)


def terms_for(metrics: Sequence[Any], **rules: Any) -> Terms:
    return Terms(metrics=tuple(metrics), confidence_level=0.95, policy=Policy.private(**rules))


TERMS = {
    "auroc": terms_for(EVERYTHING[:1]),
    "tables and sums": terms_for(EVERYTHING[1:]),
    "everything": terms_for(EVERYTHING),
}


def study(*positives: int, scores: Sequence[float] = (0.1, 0.25, 0.5, 0.9)) -> list[Owner]:
    """So many positives at every owner, the first ones."""
    return [
        [(scores[k * 7 % len(scores)], int(k < own)) for k in range(size)]
        for size, own in zip(SIZES, positives, strict=True)
    ]


STUDIES = {
    "half of all": study(4, 3, 6),
    "no positives": study(0, 0, 0),
    "no negatives": study(*SIZES),
    "one positive": study(0, 1, 0),
    "positives at one owner only": study(0, 6, 0),
    "one score": study(4, 3, 6, scores=(0.5,)),
    "only on edges": study(4, 3, 6, scores=(0.0, 1.0)),
}


def submitted(terms: Terms, owners: Sequence[Owner]) -> list[Submission]:
    return [terms.share(samples_of(owner)) for owner in owners]


def run_of(terms: Terms, owners: Sequence[Owner]) -> WorldRun:
    return watched_run(terms, submitted(terms, owners))


@pytest.mark.parametrize("name", TERMS)
def test_the_conversation_tells_nothing_of_the_data(name: str) -> None:
    terms, shapes = TERMS[name], []
    for what, owners in STUDIES.items():
        run = run_of(terms, owners)
        released = combined(terms, run, SIZES)
        assert not released.suppressed, what
        assert released.epsilon == 2.0
        assert not run.openings
        shapes.append(transcript(run))
    assert all(shape == shapes[0] for shape in shapes)


def test_the_shape_is_that_of_the_question() -> None:
    """The positive control: what else could differ does; noise of another size has other bits."""
    owners = STUDIES["half of all"]
    shape = transcript(run_of(TERMS["everything"], owners))
    others = (
        terms_for(EVERYTHING[:-2]),
        terms_for(EVERYTHING[1:]),
        terms_for(EVERYTHING, epsilon=0.25),
        terms_for(EVERYTHING, rows_per_person=8),
    )
    for other in others:
        assert transcript(run_of(other, owners)) != shape


def test_a_server_that_draws_no_noise_for_nothing_would_be_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The positive control of the first test: this one knows that there are no positives."""
    terms = TERMS["auroc"]
    shape = transcript(run_of(terms, STUDIES["half of all"]))

    def careless(suite: Any, part: Any) -> Any:
        return suite.blank(2, len(part.query.outputs))

    monkeypatch.setattr(release_module, "noisy_integers", careless)
    assert transcript(run_of(terms, STUDIES["no positives"])) != shape


def unsorted(owner: Owner, sums: np.ndarray) -> Submission:
    fast = Fast()
    prepared = fast.prepare(samples_of(owner))
    lists = fast.split(Prepared(prepared.keys[::-1].copy(), prepared.labels[::-1].copy()))
    return OwnerShare(lists[0], sums), OwnerShare(lists[1], np.zeros_like(sums))


@pytest.mark.parametrize("what", ["sums", "list"])
def test_only_what_an_owner_sent_itself_stops_a_result(what: str) -> None:
    """An owner whose sums do not fit its list, or whose list is not sorted: all get zeros and its name."""
    terms = TERMS["everything"]
    honest = submitted(terms, STUDIES["half of all"])
    one, two = honest[1]
    bad = {
        "sums": (OwnerShare(one.samples, one.sums + np.uint64(1 << 40)), two),
        "list": unsorted(STUDIES["half of all"][1], one.sums + two.sums),
    }[what]
    run = watched_run(terms, [honest[0], bad, honest[2]])
    assert transcript(run) == transcript(watched_run(terms, honest))
    with pytest.raises(UnsortedListError, match="owner 2"):
        combined(terms, run, SIZES)
    words = sum(run.results[server][0].words for server in terms.protocol.result_servers)
    assert not np.asarray(words)[:, : -len(SIZES)].any()
