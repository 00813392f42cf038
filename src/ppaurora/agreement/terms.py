"""What is computed, how, and under which policy; and a job: terms and everybody's numbers of samples."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated, Any, Self

import msgspec
from msgspec import Meta

from ppaurora.agreement.designs import (
    check_design_of,
    check_limits_of,
    check_rows_per_person,
    problem_with_owners,
)
from ppaurora.algorithms.curve import MOST_SAMPLES
from ppaurora.data.count_table import CountTable
from ppaurora.data.design import Design
from ppaurora.data.layout import Layout
from ppaurora.data.samples import Samples, check_probabilities
from ppaurora.errors import InputError
from ppaurora.io.models import StrictModel, canonical_json
from ppaurora.metrics import METRICS, Metric, Query, check_metrics
from ppaurora.metrics.extras.study import released_parts, word_count, words_of
from ppaurora.metrics.extras.variances import MOST_CLUSTERED
from ppaurora.metrics.parts import layout_of
from ppaurora.metrics.private.budget import check_noise
from ppaurora.metrics.sums import OwnerSum
from ppaurora.policy.broken_rules import BrokenRule, Cure
from ppaurora.policy.rules import HIDDEN, MOST_DEMANDED, Floors, Policy
from ppaurora.protocols import Fast, Protocol
from ppaurora.session.worker import MOST_WORKERS, is_possible
from ppaurora.sharing.stages import OwnerShare, Shape
from ppaurora.statistics.intervals import checked_level

LEAST_PER_WORKER = 64  # samples, or nobody gains anything


class Limits(StrictModel):
    """What the servers take on, and how long they keep what they have."""

    samples_per_owner: Annotated[int, Meta(ge=1, le=MOST_DEMANDED)] = 1_000_000  # at most
    attempts: Annotated[int, Meta(ge=1, le=1000)] = 5  # after so many a person has to look
    # Of the result, and of shares that were never evaluated. A century at most.
    retention_days: Annotated[int, Meta(ge=1, le=36_500)] = 30

    def describe(self) -> list[tuple[str, str]]:
        """Return labels and texts for people, line by line."""
        return [
            ("at most", f"{self.samples_per_owner:,} samples of an owner, {self.attempts} attempts"),
            ("kept", f"{self.retention_days} days; shares until the release"),
        ]


class Terms(Design):
    """What is computed, how, and under which policy.

    Everything else takes the terms whole: a plan's settings, the manifest and a job get a new field from
    here, and so do the pages. A setting that is one line of a plan says in its `Meta` how the sample plan
    explains it. `evaluate` names its keywords itself; a test says which it lacks.
    """

    metrics: tuple[Metric, ...]
    confidence_level: Annotated[
        float | None,
        Meta(description="Level of confidence intervals; leave it out for none.", examples=[0.95]),
    ] = None
    protocol: Protocol = msgspec.field(default_factory=Fast)
    limits: Limits = Limits()
    policy: Policy = Policy()

    def __hash__(self) -> int:
        return hash(canonical_json(self))

    def __post_init__(self) -> None:
        check_metrics(self.metrics)
        if not self.is_plain:
            self.check_design()
            check_design_of(self)
        if self.confidence_level is not None:
            checked_level(self.confidence_level)
        telling = [metric.name for metric in self.metrics if metric.discloses_counts]
        if telling and self.policy.counts == HIDDEN:
            raise InputError(
                f"the metric '{telling[0]}' tells numbers of positives and negatives, which the policy "
                "hides; leave it out, or agree on counts = 'rounded'"
            )
        if self.policy.is_private:
            self._check_mechanisms()
        if self.policy.withholds_cells:
            self._check_cuts()
        if not (self._has_tables or self.policy.is_private):
            self._check_tables()
        problem = self.protocol.problem_with(self.metrics, self.policy, self.confidence_level)
        if problem:
            raise InputError(problem)
        if not self.is_plain:
            check_limits_of(self)

    def _check_cuts(self) -> None:
        """Refuse a cut inside of a bin: numbers there and at the bin's edges are about the few between."""
        cuts = {cut for metric in self.metrics for cut in (*metric.thresholds(), *metric.edges())}
        for metric in self.metrics:
            edges = metric.edges()
            inside = {cut for cut in cuts if edges and edges[0] < cut < edges[-1]} - {*edges}
            if inside:
                bins = ", ".join(f"{edge:g}" for edge in sorted({*edges, *inside}))
                raise InputError(
                    f"the metric '{metric.name}' has {min(inside):g} inside of a bin, where another metric "
                    "has numbers: together they would tell about the few samples between; give "
                    f"'{metric.name}' the bins [{bins}]"
                )

    @property
    def _has_tables(self) -> bool:
        """Whether scores of all models are counted."""
        return self.protocol.grid is not None or (not self.is_plain and self.layout.has_tables)

    def _check_tables(self) -> None:
        """Refuse what is computed from a table if there is none."""
        without = [metric.name for metric in self.metrics if metric.needs_table]
        if without:
            raise InputError(
                f"the metric '{without[0]}' is computed from a table of scores: use the protocol 'grid', or "
                "give 'fast' a grid beside its lists (in a plan grid = { decimals = 3 }, in Python "
                "grid=ppaurora.Grid(decimals=3), as an option --grid-decimals 3)"
            )

    def _check_mechanisms(self) -> None:
        """Refuse what no noise is known for that protects every person and leaves something of the number."""
        without = [metric.name for metric in self.metrics if metric.mechanism() is None]
        if without:
            possible = [name for name, metric in METRICS.items() if metric.sample().mechanism() is not None]
            raise InputError(
                f"the metric '{without[0]}' cannot be released with noise that protects every person; "
                f"kind = 'private' computes: {', '.join(possible)}"
            )
        for part in released_parts(self.query(())):
            check_noise(part.policy, part.mechanisms, of_level=part.slice.is_level)

    def problem_with(self, sizes: Sequence[int], floors: Sequence[Floors] = (), *, awaited: int = 0) -> str:
        """Return why owners' numbers of samples may not be evaluated under their floors, or nothing.

        While further owners are awaited, only what cannot become right any more is a problem.
        """
        broken = self.broken_rule(sizes, floors, awaited=awaited)
        return "" if broken is None else str(broken)

    def broken_rule(
        self, sizes: Sequence[int], floors: Sequence[Floors] = (), *, awaited: int = 0
    ) -> BrokenRule | None:
        """Return the public rule that `problem_with` tells of, with whose it is and what would mend it."""
        broken = self._beyond_limits(sizes, awaited) or self._against_policy(floors, sizes, awaited)
        if broken is None or not any(floor != Floors() for floor in floors):
            return broken
        alone = self._beyond_limits(sizes, awaited) or self._against_policy((), sizes, awaited)
        if alone is not None:
            return alone
        for place, floor in enumerate(floors):
            of_owner = self._against_policy([floor], sizes, awaited)
            if of_owner is not None:
                return replace(of_owner, demanded_by=place)
        return broken

    def _beyond_limits(self, sizes: Sequence[int], awaited: int) -> BrokenRule | None:
        """Return what is more than servers or arithmetic take on; who is awaited has one sample at least."""
        for place, size in enumerate(sizes):
            if size < 1:
                return BrokenRule("every owner", "must have at least one sample", Cure.LARGER, place)
        least = sum(sizes) + awaited
        if least > MOST_SAMPLES:
            return BrokenRule(
                f"{sum(sizes):,} samples",
                f"are too many; the arithmetic holds {MOST_SAMPLES:,} in all",
                Cure.SMALLER,
            )
        for metric in self.metrics:
            if least > metric.most_samples and not self.protocol.tabulated:
                return BrokenRule(
                    f"the metric '{metric.name}'",
                    f"takes at most {metric.most_samples:,} samples in all",
                    Cure.SMALLER,
                )
        weight = 1 if self.weight is None else self.weight.most
        if self.is_clustered and not self.policy.is_private and least * weight > MOST_CLUSTERED:
            weighted = (
                "" if weight == 1 else f", as each may count {weight:,} times; state a smaller weight.most"
            )
            return BrokenRule(
                "with patients or weights",
                f"at most {MOST_CLUSTERED:,} samples are possible{weighted}",
                Cure.SMALLER,
            )
        for place, size in enumerate(sizes):
            if size > self.limits.samples_per_owner:
                many = f"has more than {self.limits.samples_per_owner:,} samples"
                return BrokenRule("an owner", many, Cure.SMALLER, place)
        too_many = problem_with_owners(self, len(sizes) + awaited)
        return BrokenRule("", too_many) if too_many else None

    def _against_policy(
        self, floors: Sequence[Floors], sizes: Sequence[int], awaited: int
    ) -> BrokenRule | None:
        try:
            policy = self.under(floors).policy
        except InputError as error:
            return BrokenRule("with owners' floors:", str(error))
        return policy.broken_rule(sizes, awaited=awaited, most=self.limits.samples_per_owner)

    def under(self, floors: Sequence[Floors]) -> Self:
        """Return these terms with the strictest of the policy and all owners' floors."""
        return msgspec.structs.replace(self, policy=self.policy.strictest(floors))

    def describe(self) -> list[tuple[str, str]]:
        """Return labels and texts for people, line by line: of every field, in the order of the fields."""
        level = self.confidence_level
        told = {
            **{field: [] for field in Design.__struct_fields__},
            "models": self.describe_design(),
            "metrics": [("metrics", ", ".join(map(str, self.metrics)))],
            "confidence_level": [("intervals", f"at confidence level {level}")] if level else [],
            "protocol": [
                ("protocol", str(self.protocol)),
                *self.reading(),
                *(
                    (f"learnt by {party}", what)
                    for party, what in self.protocol.discloses(self.policy).items()
                ),
                ("servers", f"learn no more, {self.protocol.privacy.condition}"),
            ],
            "limits": self.limits.describe(),
            "policy": [(f"policy: {rule}", what) for rule, what in self.policy.described()],
        }
        for field in self.__struct_fields__:
            told.setdefault(field, [(field.replace("_", " "), str(getattr(self, field)))])
        return [line for field in self.__struct_fields__ for line in told[field]]

    def reading(self) -> list[tuple[str, str]]:
        """Return how a grid reads scores, as a line for people; none without one."""
        grid = self.protocol.grid
        if grid is None:
            return []
        where = "" if self.protocol.tabulated else "for the table beside the lists, "
        refused = f"one below {grid.low:g} or above {grid.high:g} is refused"
        return [("scores are read", f"{where}{grid.reading}; {refused}")]

    @property
    def sums(self) -> tuple[OwnerSum, ...]:
        """What every owner of a plain study submits beside its list."""
        return self.query(()).submitted_sums

    @property
    def layout(self) -> Layout:
        """Which counts owners submit to a study with a design."""
        return layout_of(self.query(()))

    @property
    def shape(self) -> Shape:
        """How much every owner submits."""
        if self.is_plain:
            return self.protocol.shape(len(self.sums))
        lists = 0 if self.protocol.tabulated else len(self.wholes)
        return Shape(word_count(self.query(())), lists, self.layout.counts)

    def share(self, samples: Samples | CountTable) -> tuple[OwnerShare, ...]:
        """Split all that an owner submits: a share for every input server."""
        if not self.is_plain:
            return self._share_design(samples)
        self._check_probabilities(samples)
        return self.protocol.share(samples, self.sums)

    def _share_design(self, samples: Samples | CountTable) -> tuple[OwnerShare, ...]:
        """Split the lists of all wholes, all words and all counts."""
        if isinstance(samples, CountTable):
            raise InputError(
                f"{samples.source}: a table of counts of one score is not enough for this study, which has "
                "several columns or asks for more of them; give the samples"
            )
        check_rows_per_person(samples, self.policy)
        wholes = [samples.of(whole) for whole in self.wholes]
        for own in wholes:
            self._check_probabilities(own)
        words = words_of(self.layout.read(samples), self.query(()))
        return self.protocol.share_parts(wholes, words, self.layout.fill(samples))

    def _check_probabilities(self, samples: Samples | CountTable) -> None:
        for metric in self.metrics:
            if metric.of_probabilities and isinstance(samples, Samples):
                check_probabilities(samples, f"the metric '{metric.name}' takes probabilities")
            elif metric.of_probabilities and samples.negated:
                raise InputError(
                    f"{samples.source}: the metric '{metric.name}' takes probabilities, of which the higher "
                    "one is the more positive"
                )

    def query(self, sizes: Sequence[int], *, negated: bool = False) -> Query:
        """Return what is asked for, with these numbers of samples."""
        return Query(
            self.metrics,
            tuple(sizes),
            self.policy,
            self.confidence_level,
            negated,
            self.protocol.grid,
            self.protocol.tabulated,
            design=None if self.is_plain else self.design,
        )

    @property
    def design(self) -> Design:
        """The models, outcomes, subgroups and so on that the study names, apart from its other terms."""
        return Design(**{name: getattr(self, name) for name in Design.__struct_fields__})


class Job(StrictModel):
    """Public in all its parts; its hash is bound into the session's keys."""

    terms: Terms
    sizes: tuple[int, ...]
    negated: bool = False  # whether lower scores are the more positive ones

    def __post_init__(self) -> None:
        if len(self.sizes) < 2:
            raise InputError(f"at least two owners are needed, got {len(self.sizes)}")
        problem = self.terms.problem_with(self.sizes)
        if problem:
            raise InputError(problem)

    @property
    def query(self) -> Query:
        return self.terms.query(self.sizes, negated=self.negated)

    def fitting_workers(self, wanted: int) -> int:
        """Return so many workers of a server, or as many as there is work for."""
        most = min(self.terms.protocol.most_workers, max(sum(self.sizes) // LEAST_PER_WORKER, 1))
        while wanted > most:
            wanted //= 2
        return wanted

    def check_workers(self, workers: Any) -> int:
        """Return how many workers a server may have; refuse another number."""
        if not isinstance(workers, int) or isinstance(workers, bool) or not is_possible(workers):
            raise InputError(f"workers must be a power of two, from 1 to {MOST_WORKERS}, not {workers!r}")
        protocol = self.terms.protocol
        if workers > protocol.most_workers:
            raise InputError(f"a server of the protocol '{protocol.name}' has one worker; leave workers out")
        samples = sum(self.sizes)
        if workers > 1 and samples < LEAST_PER_WORKER * workers:
            enough = max(samples // LEAST_PER_WORKER, 1)
            fitting = 1 << (enough.bit_length() - 1)
            raise InputError(
                f"{workers} workers are too many for {samples:,} samples, of which each should have "
                f"{LEAST_PER_WORKER}; use workers={fitting}"
            )
        return workers

    def hash(self, study: bytes = b"") -> bytes:
        """Return the hash of the job and of its study: the manifest and what was submitted to it."""
        content = hashlib.sha256(study).digest() + canonical_json(self)
        return hashlib.sha256(b"ppaurora job\0" + content).digest()
