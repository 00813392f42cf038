"""Heterogeneity between sites as a part of a study; `metrics/sites.py` has the arithmetic."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from ppaurora.data.samples import Samples
from ppaurora.data.slices import Slice
from ppaurora.metrics.base import Metric
from ppaurora.metrics.extras.base import Extra, Statement, StudySecrets
from ppaurora.metrics.outputs import Output, Ratio
from ppaurora.metrics.parts import layout_of
from ppaurora.metrics.query import Query
from ppaurora.metrics.roc import Auroc
from ppaurora.metrics.sites import (
    SITE_WORDS,
    WITHIN_WORDS,
    SiteFloors,
    SiteQuantity,
    pairs_by_owner,
    read_sites,
    site_checks,
    site_outputs,
    site_ratios,
    site_words,
    within_checks,
    within_outputs,
    within_ratios,
    within_words,
)
from ppaurora.sharing.shares import RingShare
from ppaurora.statistics.random_effects import LEAST_SITES, RandomEffects


@dataclass(frozen=True)
class OwnEffect(Statement):
    """An owner's own value of a quantity and its weight; nothing where it has too few samples."""

    slice: Slice
    quantity: SiteQuantity
    floors: SiteFloors
    step: float  # of the grid, 0 if the study has none
    words = SITE_WORDS

    def of(self, samples: Samples) -> Sequence[int]:
        found: list[int] = site_words(samples.of(self.slice), self.quantity, self.floors, self.step).tolist()
        return found

    def checks(self, words: RingShare, study: StudySecrets) -> list[RingShare]:
        return site_checks(words)


@dataclass(frozen=True)
class OwnArea(Statement):
    """An owner's own area and its standard error, in pairs."""

    slice: Slice
    words = WITHIN_WORDS

    def of(self, samples: Samples) -> Sequence[int]:
        found: list[int] = within_words(samples.of(self.slice)).tolist()
        return found

    def checks(self, words: RingShare, study: StudySecrets) -> list[RingShare]:
        return within_checks(words, pairs_by_owner(study.suite, study.parts[self.slice].inputs.list_counts))


@dataclass(frozen=True)
class SiteEffects(Extra):
    """Quantities over all sites that count, by random effects; all in the same rounds."""

    slice: Slice
    quantities: tuple[SiteQuantity, ...]

    def statements(self, query: Query) -> tuple[Statement, ...]:
        """Below the floors of the plan an owner states nothing; stricter ones on classes hold inside."""
        policy, layout = query.policy, layout_of(query)
        floors = SiteFloors(policy.minimum_positives, policy.minimum_negatives, policy.minimum_per_cell)
        step = layout.grid_of(self.slice.model).step if layout.has_tables else 0.0
        return tuple(OwnEffect(self.slice, quantity, floors, step) for quantity in self.quantities)

    def outputs(self, query: Query) -> tuple[Output, ...]:
        return tuple(output for quantity in self.quantities for output in site_outputs(quantity, query))

    def ratios(self, study: StudySecrets, query: Query) -> list[Ratio]:
        counts = study.eligible(self.slice, query)
        stated = [study.suite.mul(counts, study.words[statement]) for statement in self.statements(query)]
        return [ratio for own in site_ratios(study.suite, stated) for ratio in own]

    def read(self, values: Sequence[float | None], query: Query) -> dict[str, RandomEffects]:
        """Return what released numbers say, by metric."""
        rest, effects = list(values), {}
        for quantity in self.quantities:
            count = len(site_outputs(quantity, query))
            own, rest = rest[:count], rest[count:]
            effects[quantity.metric.name] = read_sites(quantity, own, query)
        return effects


@dataclass(frozen=True)
class WithinSites(Extra):
    """AUROC over pairs of one site only.

    Where the policy has floors, three owners must meet them alone, or there is no number: else it might be
    about one positive of an owner that has few, or the AUROC of the only other owner with both classes.
    """

    slice: Slice

    def statements(self, query: Query) -> tuple[Statement, ...]:
        return (OwnArea(self.slice),)

    def outputs(self, query: Query) -> tuple[Output, ...]:
        return within_outputs(query)

    def ratios(self, study: StudySecrets, query: Query) -> list[Ratio]:
        pairs = pairs_by_owner(study.suite, study.parts[self.slice].inputs.list_counts)
        ratios = within_ratios(study.suite, study.words[OwnArea(self.slice)], pairs, query)
        if not query.policy.has_floors:
            return ratios
        several = study.eligible(self.slice, query).sum() - (LEAST_SITES - 1)
        return [replace(ratio, positive=(*ratio.positive, several)) for ratio in ratios]


def site_extras(metrics: Sequence[Metric], slice_: Slice) -> tuple[Extra, ...]:
    """Return what there is to say of sites for the metrics of a study."""
    kinds = {type(metric) for metric in metrics}
    quantities = tuple(quantity for quantity in SiteQuantity if quantity.metric in kinds)
    within = [WithinSites(slice_)] if Auroc in kinds else []
    return (SiteEffects(slice_, quantities), *within)
