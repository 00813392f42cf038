"""A protocol's whole run by three parties whose messages are watched, on what owners submit or on worse."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import numpy as np

from ppaurora.agreement.terms import Job, Terms
from ppaurora.data import Samples
from ppaurora.metrics.reading import ReleasedResult
from ppaurora.session import Context
from ppaurora.sharing.shares import Words
from ppaurora.sharing.stages import OwnerShare, ResultShare
from ppaurora.testing import World
from ppaurora.testing.world import WorldRun
from tests.support.oracles import Sample

Submission = tuple[OwnerShare, ...]  # one for every input server


def samples_of(owner: Sequence[Sample], name: str = "owner") -> Samples:
    scores, labels = zip(*owner, strict=True)
    return Samples(name, np.array(scores, dtype=np.float64), np.array(labels, dtype=np.uint8))


def watched_run(
    terms: Terms,
    submissions: Sequence[Submission],
    sizes: Sequence[int] | None = None,
    *,
    negated: bool = False,
) -> WorldRun:
    """`.results` has every server's parts of the result. Sizes are the lists', or as announced."""
    announced = list_sizes(submissions) if sizes is None else tuple(sizes)
    job = Job(terms=terms, sizes=announced, negated=negated)
    inputs = dict(zip(terms.protocol.input_servers, zip(*submissions, strict=True), strict=True))

    def party(context: Context) -> tuple[ResultShare, ...]:
        return terms.protocol.run(context, job.query, list(inputs.get(context.role, ())), 1)

    world = World(
        terms.protocol, suite=cast(Any, lambda context: context)
    )  # the protocol makes its suite itself
    return world.run(party)


def list_sizes(submissions: Sequence[Submission]) -> tuple[int, ...]:
    """Return how long owners' lists are."""
    lists = [shares[0].samples for shares in submissions]
    return tuple(len(samples) for samples in lists if samples is not None)


def whole_result(terms: Terms, run: WorldRun) -> Words:
    """Rows of mantissas and exponents, as only owners see them."""
    parts = [part.words for part in _parts(terms, run)]
    whole: Words = np.sum(parts, axis=0, dtype=np.uint64)
    return whole


def combined(terms: Terms, run: WorldRun, sizes: Sequence[int], *, negated: bool = False) -> ReleasedResult:
    """As an owner reads it."""
    parts = _parts(terms, run)
    names = [f"owner {number}" for number in range(1, len(sizes) + 1)]
    return terms.protocol.combine(parts, terms.query(sizes, negated=negated), names)


def _parts(terms: Terms, run: WorldRun) -> list[ResultShare]:
    results = dict(zip(terms.protocol.servers, run.results, strict=True))
    return [results[server][0] for server in terms.protocol.result_servers]
