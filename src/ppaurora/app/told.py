"""The disclosure of a study's result, for whoever is asked to agree to it."""

from __future__ import annotations

from dataclasses import dataclass

from ppaurora.setup.acceptance import review
from ppaurora.study.manifest import Manifest


@dataclass(frozen=True)
class Told:
    """What owners will learn from the result, and what to think about before agreeing."""

    each: int  # samples of every owner for which this was computed
    is_example: bool  # nobody said how many
    sentences: tuple[str, ...]
    more: tuple[str, ...]  # one step further
    warnings: tuple[str, ...]

    @classmethod
    def of(cls, manifest: Manifest, samples: int | None = None) -> Told:
        """Tell it; the first time takes some tenths of a second, as studies are simulated for it."""
        found = review(manifest, None if samples is None else [samples] * len(manifest.owners))
        told = found.disclosure
        return cls(found.sizes[0], samples is None, told.told, told.more, found.warnings)
