"""Tables of bins: observed and predicted probabilities in each, and a histogram of scores."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Annotated, Any

import numpy as np
from msgspec import Meta

from ppaurora.data.samples import Samples
from ppaurora.io.models import StrictModel
from ppaurora.metrics.base import (
    Counts,
    Metric,
    check_growing,
    plain_estimate,
    wilson_estimate,
)
from ppaurora.metrics.evidence import Evidence
from ppaurora.metrics.facts import Figure, PublicCounts
from ppaurora.metrics.outputs import Form, Output, Ratio
from ppaurora.metrics.private.noisy import NoisyRelease
from ppaurora.metrics.private.table import Cell, Cut, CutKind, OffsetsIn, TableMechanism
from ppaurora.metrics.query import Query
from ppaurora.metrics.registry import register
from ppaurora.metrics.sums import (
    STEPS_PER_ONE,
    Disjoint,
    ExpectedIn,
    Fit,
    NegativesIn,
    Ordered,
    OwnerSum,
    PositivesIn,
    SamplesIn,
)
from ppaurora.sharing.shares import WideShare
from ppaurora.statistics.calibration import (
    Bin,
    class_counts,
    reliability,
)
from ppaurora.statistics.estimates import Estimate, Row, Table
from ppaurora.statistics.intervals import proportion_interval
from ppaurora.statistics.noisy_numbers import (
    noisy_count,
    noisy_position,
    noisy_proportion,
)

MOST_BINS = 100
_OBSERVED = "observed"
_IN_A_BIN = ("mean_predicted", _OBSERVED)


class Bins(StrictModel):
    bins: Annotated[
        tuple[float, ...],
        Meta(
            min_length=2,
            max_length=MOST_BINS + 1,
            description="Edges of the bins, in increasing order; by default ten equal bins from 0 to 1.",
        ),
    ] = tuple(edge / 10 for edge in range(11))

    def __post_init__(self) -> None:
        check_growing("bins", self.bins, what="edges ")


class ProbabilityBins(Bins):
    def __post_init__(self) -> None:
        super().__post_init__()
        if self.bins[0] != 0 or self.bins[-1] != 1:
            raise ValueError("bins: edges must go from 0 to 1")


class InProbabilityBins(Metric):
    """Made of how many samples and positives every bin has, and of their probabilities.

    Bins are open below, but the first.
    """

    Parameters = ProbabilityBins
    parameters: ProbabilityBins
    of_probabilities = True

    def edges(self) -> tuple[float, ...]:
        return self.parameters.bins

    def bins(self) -> list[Bin]:
        edges = self.parameters.bins
        return [Bin(low, high, low == edges[0], with_high=True) for low, high in pairwise(edges)]

    def sums(self, query: Query) -> tuple[OwnerSum, ...]:
        return tuple(kind(one) for one in self.bins() for kind in (SamplesIn, PositivesIn, ExpectedIn))

    def fits(self, query: Query) -> tuple[Fit, ...]:
        bins = self.bins()
        return (
            *(Disjoint(tuple(map(kind, bins))) for kind in (SamplesIn, PositivesIn)),
            *(Ordered(SamplesIn(one), kind(one)) for one in bins for kind in (PositivesIn, ExpectedIn)),
        )

    def mechanism(self) -> TableMechanism:
        cuts = tuple(Cut(edge, CutKind.EDGE_ABOVE) for edge in self.parameters.bins[1:-1])
        return TableMechanism(cuts, tuple(self.offsets()))

    def offsets(self) -> list[OffsetsIn]:
        """Every probability is at least the first edge and at most the last, which are no cuts therefore."""
        edges = self.parameters.bins
        cuts = (None, *(Cut(edge, CutKind.EDGE_ABOVE) for edge in edges[1:-1]), None)
        ends = zip(pairwise(cuts), pairwise(edges), strict=True)
        return [OffsetsIn(Cell(low, high), *bounds) for (low, high), bounds in ends]


@register
class Reliability(InProbabilityBins):
    """For every bin the mean probability and the fraction of positives.

    Where counts are hidden, numbers of a bin have few decimals: more would tell how many samples it has.
    """

    name = "reliability"
    title = "observed and predicted probabilities in bins"
    unit = "probability"
    figure = Figure.RELIABILITY_DIAGRAM
    has_own_table = True
    description = "mean predicted and observed probability, in bins"
    definition = "`calibration_curve(y_true, y_score)`"

    def outputs(self, query: Query) -> tuple[Output, ...]:
        outputs = []
        for one in self.bins():
            at = (("low", one.low), ("high", one.high))
            outputs += [
                Output(name, at, conditional=True, most_digits=query.most_rate_digits) for name in _IN_A_BIN
            ]
            if query.tells_counts:
                outputs.append(Output("samples", at, form=Form.COUNT, conditional=True))
        return tuple(outputs)

    def read_noisy(self, noisy: NoisyRelease, level: float | None) -> Table:
        rows = []
        for one in self.offsets():
            positives, negatives = (noisy.count(one.bin, label) for label in (1, 0))
            samples = positives + negatives
            numbers = (
                noisy_position(noisy.offsets(one), samples, (one.low, one.high)),
                noisy_proportion(positives, negatives, level),
                noisy_count(samples, noisy.samples),
            )
            rows.append(
                Row(
                    {"low": one.low, "high": one.high},
                    dict(zip((*_IN_A_BIN, "samples"), numbers, strict=True)),
                )
            )
        return Table(tuple(rows))

    def formula(self, secrets: Sequence[WideShare], evidence: Evidence) -> list[Ratio]:
        ratios = []
        for one in self.bins():
            samples, behind = evidence.totals[SamplesIn(one)], (evidence.by_owner[SamplesIn(one)],)
            ratios += [
                Ratio(evidence.totals[ExpectedIn(one)], samples * STEPS_PER_ONE, behind),
                Ratio(evidence.totals[PositivesIn(one)], samples, behind),
            ]
            if evidence.query.tells_counts:
                ratios.append(Ratio(samples, behind=behind))
        return ratios

    def read(self, values: Sequence[float | None], query: Query, counts: Counts) -> Table:
        """With Wilson's interval of what was observed, where the samples in a bin are released."""
        table = read_rows(self.outputs(query), values, query)
        if not query.tells_counts:
            return table
        outputs = {output.at: output for output in self.outputs(query) if output.name == _OBSERVED}
        return Table(tuple(self._with_interval(row, outputs[tuple(row.at.items())], query) for row in table))

    def _with_interval(self, row: Row, output: Output, query: Query) -> Row:
        samples = row["samples"].value
        trials = None if samples is None else query.least_count(samples, query.policy.minimum_per_cell)
        observed = wilson_estimate(row[_OBSERVED].value, trials, output, query)
        return Row(row.at, {**row.values, _OBSERVED: observed})

    def reference(self, y_true: Any, y_score: Any) -> Any:
        found = reliability(y_true, y_score, self.bins())
        return [dict(zip(_IN_A_BIN, row or (math.nan, math.nan), strict=True)) for row in found]

    def on_own_data(self, samples: Samples, level: float) -> Table:
        scores = samples.scores_of_source
        found = reliability(samples.labels, scores, self.bins())
        return Table(
            tuple(
                Row({"low": one.low, "high": one.high}, _own_row(row, int(one.holds(scores).sum()), level))
                for one, row in zip(self.bins(), found, strict=True)
            )
        )

    def sensitivity_to_one_person(self, public: PublicCounts) -> float:
        """One sample that leaves a bin, joins it or changes in it moves its means by at most 1/samples."""
        return 1 / public.per_cell


def _own_row(row: tuple[float, float] | None, trials: int, level: float) -> dict[str, Estimate]:
    """Return the numbers in a bin of an owner's own data."""
    if row is None:
        return dict.fromkeys(_IN_A_BIN, Estimate(None, note="no samples in this bin"))
    predicted, observed = row
    interval = proportion_interval(observed, trials, level)
    estimate = Estimate(observed, interval=interval, method="Wilson", confidence_level=level)
    return dict(zip(_IN_A_BIN, (Estimate(predicted), estimate), strict=True))


@register
class Histogram(Metric):
    """Bins are open above, but the last; scores outside are not counted."""

    name = "histogram"
    title = "scores by class"
    unit = "samples"
    description = "numbers of positives and negatives, in bins of scores"
    definition = "`numpy.histogram(y_score[y_true == 1], bins)`, and of `y_score[y_true == 0]`"
    figure = Figure.SCORES_BY_CLASS
    has_own_table = True
    Parameters = Bins
    parameters: Bins
    discloses_counts = True

    def edges(self) -> tuple[float, ...]:
        return self.parameters.bins

    def _bins(self) -> list[Bin]:
        edges = self.parameters.bins
        return [Bin(low, high, with_low=True, with_high=high == edges[-1]) for low, high in pairwise(edges)]

    def outputs(self, query: Query) -> tuple[Output, ...]:
        return tuple(
            Output(name, (("low", one.low), ("high", one.high)), form=Form.COUNT, conditional=True)
            for one in self._bins()
            for name in ("positives", "negatives")
        )

    def sums(self, query: Query) -> tuple[OwnerSum, ...]:
        return tuple(kind(one) for one in self._bins() for kind in (PositivesIn, NegativesIn))

    def fits(self, query: Query) -> tuple[Fit, ...]:
        return tuple(Disjoint(tuple(map(kind, self._bins()))) for kind in (PositivesIn, NegativesIn))

    def mechanism(self) -> TableMechanism:
        return TableMechanism(tuple(sorted({cut for cell in self._cells() for cut in cell})))

    def _cells(self) -> list[tuple[Cut, Cut]]:
        *below, last = self.parameters.bins
        cuts = [*(Cut(edge, CutKind.EDGE_BELOW) for edge in below), Cut(last, CutKind.EDGE_ABOVE)]
        return list(pairwise(cuts))

    def read_noisy(self, noisy: NoisyRelease, level: float | None) -> Table:
        rows = []
        for low, high in self._cells():
            counts = {
                name: noisy_count(noisy.count(Cell(low, high), label), noisy.samples)
                for name, label in (("positives", 1), ("negatives", 0))
            }
            rows.append(Row({"low": low.value, "high": high.value}, counts))
        return Table(tuple(rows))

    def formula(self, secrets: Sequence[WideShare], evidence: Evidence) -> list[Ratio]:
        return [
            Ratio(evidence.totals[total], behind=(evidence.by_owner[total],))
            for total in self.sums(evidence.query)
        ]

    def read(self, values: Sequence[float | None], query: Query, counts: Counts) -> Table:
        return read_rows(self.outputs(query), values, query)

    def reference(self, y_true: Any, y_score: Any) -> Any:
        labels, scores = np.asarray(y_true), np.asarray(y_score)
        by_class = [np.histogram(scores[labels == label], self.parameters.bins)[0] for label in (1, 0)]
        return [
            {"positives": int(positives), "negatives": int(negatives)}
            for positives, negatives in zip(*by_class, strict=True)
        ]

    def on_own_data(self, samples: Samples, level: float) -> Table:
        found = class_counts(samples.labels, samples.scores_of_source, self._bins())
        return Table(
            tuple(
                Row(
                    {"low": one.low, "high": one.high},
                    {
                        "positives": Estimate(positives, digits=0),
                        "negatives": Estimate(negatives, digits=0),
                    },
                )
                for one, (positives, negatives) in zip(self._bins(), found, strict=True)
            )
        )

    def sensitivity_to_one_person(self, public: PublicCounts) -> float:
        """A person leaves one count and joins another."""
        return 1.0


def read_rows(outputs: Sequence[Output], values: Sequence[float | None], query: Query) -> Table:
    """Outputs that are of one place make a row."""
    rows: dict[tuple[tuple[str, float], ...], dict[str, Estimate]] = {}
    for output, value in zip(outputs, values, strict=True):
        rows.setdefault(output.at, {})[output.name] = plain_estimate(value, output, query)
    return Table(tuple(Row(dict(at), estimates) for at, estimates in rows.items()))
