"""The standard error of AUROC where patients have several rows, or rows weigh more than one."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ppaurora.data.slices import Slice
from ppaurora.metrics.extras.base import Extra, StudySecrets
from ppaurora.metrics.extras.comparisons import HIGHEST_CLUSTERED_ERROR, MOST_CLUSTERED_DENOMINATOR
from ppaurora.metrics.extras.variances import clustered_variance
from ppaurora.metrics.outputs import Output, Ratio, standard_error
from ppaurora.metrics.query import Query
from ppaurora.metrics.roc import Auroc


@dataclass(frozen=True)
class ClusteredError(Extra):
    """The standard error of a model's AUROC over clusters (Obuchowski)."""

    slice: Slice

    def outputs(self, query: Query) -> tuple[Output, ...]:
        error = standard_error(
            Output(Auroc.name), MOST_CLUSTERED_DENOMINATOR, highest=HIGHEST_CLUSTERED_ERROR, signed=True
        )
        return (replace(error, conditional=True),)

    def ratios(self, study: StudySecrets, query: Query) -> list[Ratio]:
        return [clustered_variance(study, self.slice)]
