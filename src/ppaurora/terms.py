"""What is computed, how, and within which limits; and a job: terms and everybody's numbers of samples."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Annotated

import msgspec
from msgspec import Meta

from ppaurora.algorithms.curve import MOST_SAMPLES
from ppaurora.errors import InputError
from ppaurora.metrics import check_metrics
from ppaurora.models import StrictModel, canonical_json
from ppaurora.protocols import Fast, Protocol

Positive = Annotated[int, Meta(ge=1)]


class Limits(StrictModel):
    """What the servers take on."""

    samples_per_owner: Positive = 1_000_000  # at most
    attempts: Annotated[int, Meta(ge=1, le=1000)] = 5  # after so many a person has to look


class ReleaseTerms(StrictModel):
    """When there is a result, and how long it and the shares are kept."""

    minimum_samples: Annotated[int, Meta(ge=2)] = 2  # of all owners together
    minimum_samples_per_owner: Positive = 1
    retention_days: Positive = 30  # of the result, and of shares that were never evaluated


class Terms(StrictModel):
    """What is computed, how, and within which limits."""

    metrics: tuple[str, ...]
    protocol: Protocol = msgspec.field(default_factory=Fast)
    limits: Limits = Limits()
    release: ReleaseTerms = ReleaseTerms()

    def __post_init__(self) -> None:
        check_metrics(self.metrics)

    def problem_with(self, sizes: Sequence[int], *, awaited: int = 0) -> str:
        """Why owners' numbers of samples may not be evaluated, or nothing.

        While further owners are awaited, only what cannot become right any more is a problem.
        """
        if any(size < 1 for size in sizes):
            return "every owner must have at least one sample"
        if sum(sizes) + awaited > MOST_SAMPLES:
            return f"{sum(sizes):,} samples are too many; the arithmetic holds {MOST_SAMPLES:,} in all"
        if any(size > self.limits.samples_per_owner for size in sizes):
            return f"an owner has more than {self.limits.samples_per_owner:,} samples"
        if any(size < self.release.minimum_samples_per_owner for size in sizes):
            return f"an owner has fewer than {self.release.minimum_samples_per_owner:,} samples"
        if not awaited and sum(sizes) < self.release.minimum_samples:
            return f"there are fewer than {self.release.minimum_samples:,} samples in all"
        return ""


class Job(StrictModel):
    """Public in all its parts; its hash is bound into the session's keys."""

    terms: Terms
    sizes: tuple[int, ...]

    def __post_init__(self) -> None:
        if len(self.sizes) < 2:
            raise InputError(f"at least two owners are needed, got {len(self.sizes)}")
        problem = self.terms.problem_with(self.sizes)
        if problem:
            raise InputError(problem)

    def hash(self, study: bytes = b"") -> bytes:
        """Also of the study that the job belongs to: its manifest and what was submitted to it."""
        content = hashlib.sha256(study).digest() + canonical_json(self)
        return hashlib.sha256(b"ppaurora job\0" + content).digest()
