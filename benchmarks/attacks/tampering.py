"""A proxy that deviates in the real protocol, and reads the published AUROC.

It is after the label of one record of its choice. It turns the first bit of the key of that record and of all
after it in its owner's list, in its share: they are then below everybody, in the same order, so the record's
place j in the merged list is known. Then it adds e, -e, e, ... to TP[j], TP[j+1], ..., in messages of the
curve. The area under the curve, 2·AUROC·PN, becomes larger by e·(1 - label), and by nothing else.

With e = 1 an exact AUROC shows whether the area is odd. A large negative e moves the AUROC itself. What the
protocol computes is then rounded, or gets its noise, in the clear.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from benchmarks.attacks.counts import fits_exactly
from benchmarks.attacks.frame import Effort, Played, Setting
from benchmarks.attacks.numbers import AUROC_ALONE, numbers_of
from benchmarks.attacks.policy import (
    EXACT,
    NEGATIVES,
    POLICIES,
    POSITIVES,
    PRIVATE,
    PUBLICATION,
    Bools,
    Floats,
    Ints,
    Random,
    published,
)
from benchmarks.attacks.population import Population
from benchmarks.attacks.reading import LabelReader
from ppaurora.agreement.terms import Job, Terms
from ppaurora.channel.servers import Server
from ppaurora.data import check_samples
from ppaurora.errors import MisuseError, ProtocolError
from ppaurora.local.threads import run_in_threads
from ppaurora.metrics.roc import Auroc
from ppaurora.policy import rules as policy
from ppaurora.protocols.fast import Fast
from ppaurora.session import Context, no_progress
from ppaurora.sharing.algebra import RING, Ring
from ppaurora.sharing.planes import LANES, pack_lanes
from ppaurora.sharing.shares import RingShare, Words
from ppaurora.sharing.stages import OwnerShare
from ppaurora.statistics.estimates import Estimate
from ppaurora.suites.bitsliced import BitslicedSuite
from ppaurora.suites.bitsliced.gates import Finish
from ppaurora.suites.bitsliced.lanes import MaskedBits
from ppaurora.suites.bitsliced.shares import PlanesShare
from ppaurora.suites.role import Role

NAME = "tampering"
OWNERS = 3
SIZES = (90, 600)
TRIALS = 100
REHEARSALS = 4000
POPULATION = Population(prevalence=0.35)
BY_ONE, BY_MUCH = "moves the area by 1", "moves the area a lot"


class _TamperingSuite(BitslicedSuite):
    """Spoils TP from a position on, each value once."""

    def __init__(self, context: Context, key_bits: int, position: int, error: int) -> None:
        super().__init__(context, key_bits)
        self._position, self._error = position, error
        self._spoiled: set[int] = set()
        self._to_add: Words | None = None
        self._show = self._gates._begin_masked
        vars(self._gates)["_begin_masked"] = self._show_spoiled

    def _show_spoiled(self, t: Words, out: Words, ring: Ring = RING) -> Finish:
        """Adds to the ring values that the other proxy is shown, and goes on with the sum."""
        errors, self._to_add = self._to_add, None
        return self._show(t if errors is None else t + errors, out, ring)

    def carry(
        self, flags: MaskedBits, values: RingShare, source: slice, target: slice, *, join: bool
    ) -> None:
        targets = range(len(flags))[target]
        rows = values.values.shape[1]
        errors = np.zeros((rows, len(targets)), dtype=np.uint64)
        for place, position in enumerate(targets):
            if position >= self._position and position not in self._spoiled:
                self._spoiled.add(position)
                sign = 1 if (position - self._position) % 2 == 0 else -1
                errors[0, place] = np.uint64(sign * self._error % 2**64)  # TP is the first row
        self._to_add = errors
        super().carry(flags, values, source, target, join=join)


class _TamperedFast(Fast):
    """The real protocol, with one proxy that deviates."""

    position = 0
    error = 0

    def suite(self, context: Context) -> BitslicedSuite:
        if context.role is Role.PROXY_0:
            return _TamperingSuite(context, self.key_bits, self.position, self.error)
        return super().suite(context)


def tampered_auroc(owners: Sequence[tuple[Any, Any]], owner: int, index: int, error: int) -> float:
    """What the owners then publish; `index` is the record's place in its owner's sorted list."""
    sizes = [len(labels) for labels, _ in owners]
    protocol = _TamperedFast(key_bits=64)
    protocol.position, protocol.error = sum(sizes) - sizes[owner] + index + 1, error
    names = [f"owner {number}" for number in range(len(owners))]
    terms = Terms(metrics=(Auroc(),), protocol=protocol, policy=policy.Policy.exact())
    shares = [
        terms.share(check_samples(name, labels, scores, None))
        for name, (labels, scores) in zip(names, owners, strict=True)
    ]
    shares[owner] = _turned(shares[owner][0], index), shares[owner][1]
    inputs: dict[Server, Sequence[OwnerShare]] = dict(
        zip(protocol.input_servers, zip(*shares, strict=True), strict=True)
    )
    job = Job(terms=terms, sizes=tuple(sizes))
    outcomes = run_in_threads(job, inputs, no_progress, 60.0)
    parts = [outcomes[server].parts[0] for server in protocol.result_servers]
    found = protocol.combine(parts, job.query, names).metrics[Auroc.name]
    if not isinstance(found, Estimate) or found.value is None:
        raise MisuseError("an AUROC without a policy has a value")
    return found.value


def _turned(submitted: OwnerShare, index: int) -> OwnerShare:
    """The first bit of every key from this record on is turned."""
    share = submitted.samples
    if not isinstance(share, PlanesShare):
        raise MisuseError("'fast' shares planes")
    records = np.arange(share.planes.shape[1] * LANES)
    planes = share.planes.copy()
    planes[0] ^= pack_lanes(((records >= index) & (records < share.size)).astype(np.uint8))
    return OwnerShare(PlanesShare(planes, share.size), submitted.sums)


@dataclass(frozen=True)
class Chosen:
    """Studies, a row each; of the first owner's list, the record at `index` is the one to read."""

    scores: Floats
    labels: Bools
    index: Ints
    record: Ints  # the same record as a column

    @property
    def secrets(self) -> Bools:
        chosen: Bools = self.labels[np.arange(len(self.labels)), self.record]
        return chosen


def draw(random: Random, trials: int, samples: int) -> Chosen:
    """Any record of the first owner; its label is a fair coin."""
    scores, labels = POPULATION.draw(random, trials, samples)
    size = samples // OWNERS
    index = random.integers(size, size=trials)
    record = np.argsort(-scores[:, :size], axis=1)[np.arange(trials), index]
    labels[np.arange(trials), record] = random.random(trials) < 0.5
    return Chosen(scores, labels, index, record)


def rehearsed_aurocs(studies: Chosen, error: int) -> Floats:
    """What the protocol would give, in the clear."""
    size = studies.scores.shape[1] // OWNERS
    first = studies.scores[:, :size]
    bar = studies.scores[np.arange(len(first)), studies.record]
    moved = studies.scores.copy()
    moved[:, :size] -= 2.0 * (first <= bar[:, np.newaxis])
    positives = studies.labels.sum(axis=1)
    pairs = positives * (studies.labels.shape[1] - positives)
    added = error * ~studies.secrets / (2 * pairs)
    plain: Floats = numbers_of(moved, studies.labels, ~studies.labels)[Auroc.name] + added
    return plain


def run_aurocs(studies: Chosen, error: int) -> Floats:
    """By the protocol; nothing where the owners refuse what is no result."""
    samples = studies.scores.shape[1]
    values = np.full(len(studies.scores), np.nan)
    for row, (scores, labels) in enumerate(zip(studies.scores, studies.labels, strict=True)):
        parts = np.split(np.arange(samples), OWNERS)
        owners = [(labels[part], scores[part]) for part in parts]
        with suppress(ProtocolError):
            values[row] = tampered_auroc(owners, 0, int(studies.index[row]), error)
    return values


def play(random: Random, trials: int, *, samples: int, how: str) -> dict[str, Played]:
    usual_pairs = POPULATION.prevalence * (1 - POPULATION.prevalence) * samples**2
    error = 1 if how == BY_ONE else -int(0.8 * usual_pairs)
    studies, rehearsed = draw(random, trials, samples), draw(random, REHEARSALS, samples)
    values, plain = run_aurocs(studies, error), rehearsed_aurocs(rehearsed, error)
    accepted = ~np.isnan(values)
    found = {}
    for release in (EXACT, PUBLICATION, PRIVATE):
        rows, rehearsed_rows = (
            _published(some, aurocs, release, random)
            for some, aurocs in ((studies, np.nan_to_num(values)), (rehearsed, np.maximum(plain, 0)))
        )
        guesses = LabelReader(rehearsed_rows, rehearsed.secrets).guesses(rows)
        if release == EXACT and how == BY_ONE:
            guesses = _odd_means_negative(values, samples)
        found[release] = Played(guesses == studies.secrets, accepted)
    return found


def _published(studies: Chosen, aurocs: Floats, release: str, random: Random) -> Floats:
    positives = studies.labels.sum(axis=1).astype(float)
    numbers = {
        Auroc.name: aurocs,
        POSITIVES: positives,
        NEGATIVES: studies.labels.shape[1] - positives,
    }
    everything = np.ones(len(aurocs), dtype=bool)
    return published(POLICIES[release], random, numbers, AUROC_ALONE, everything)


def _odd_means_negative(aurocs: Floats, samples: int) -> Bools:
    """Guesses of the label: whether 2·AUROC·PN is even, for every P that fits, each as likely as it is."""
    candidates = np.arange(2, samples // 2 + 1)
    guesses = np.zeros(len(aurocs), dtype=bool)
    for row, auroc in enumerate(aurocs):
        weights = fits_exactly(float(auroc), candidates, samples, parts=2)
        odd = np.rint(2 * auroc * candidates * (samples - candidates)) % 2 == 1
        guesses[row] = weights[~odd].sum() > weights[odd].sum()
    return guesses


def settings(effort: Effort) -> Iterator[Setting]:
    for how in (BY_ONE, BY_MUCH):
        for samples in SIZES:
            one = partial(play, samples=samples, how=how)
            yield Setting(NAME, how, samples, one, min(effort.of(TRIALS), TRIALS))
