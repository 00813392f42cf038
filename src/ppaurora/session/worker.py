"""Which of a party's workers this is."""

from __future__ import annotations

from dataclasses import dataclass

from ppaurora.errors import MisuseError

MOST_WORKERS = 64  # at most as many as a word of bit planes has lanes


@dataclass(frozen=True)
class Worker:
    """Worker `index` of `count`. It has a session of its own with the workers of that number elsewhere."""

    index: int = 0
    count: int = 1

    def __post_init__(self) -> None:
        if not is_possible(self.count) or not 0 <= self.index < self.count:
            raise MisuseError(f"there is no worker {self.index} of {self.count}")

    @property
    def leads(self) -> bool:
        """Whether it is the one that finishes what all have begun."""
        return self.index == 0

    @property
    def label(self) -> str:
        """Its part of a stream's label; a single worker needs none."""
        return f"{self}/" if self.count > 1 else ""

    def __str__(self) -> str:
        return f"worker {self.index} of {self.count}"

    def to_bytes(self) -> bytes:
        """Return what keys are bound to; zeros for a single worker."""
        return self.index.to_bytes(2, "big") + (self.count - 1).to_bytes(2, "big")


def is_possible(count: int) -> bool:
    """Return whether a party can have so many workers: a power of two."""
    return 1 <= count <= MOST_WORKERS and count & (count - 1) == 0


SINGLE = Worker()
