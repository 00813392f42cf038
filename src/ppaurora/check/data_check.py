"""All that there is to say of an owner's data before it is sent."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from ppaurora.agreement.saving import saving_on
from ppaurora.check.concerns import (
    Concern,
    Whole,
    concerns_of,
    duplicate_concerns,
    precision_concerns,
    size_concerns,
)
from ppaurora.check.design_check import DesignCheck, design_concerns
from ppaurora.check.grid_effect import GridEffect, GridProposal, propose_grid
from ppaurora.check.labels import Spelling, spellings
from ppaurora.data import CountTable, Description, Design, Grid, Samples, ScoreCounts
from ppaurora.data.further import LeftOut
from ppaurora.data.single_precision import SinglePrecision
from ppaurora.data.slices import WHOLE
from ppaurora.errors import InputError
from ppaurora.io.models import to_builtins
from ppaurora.metrics.bins import Histogram
from ppaurora.metrics.roc import Auroc
from ppaurora.policy.budget import Spending
from ppaurora.policy.rules import Floors, Policy
from ppaurora.statistics.auroc import auroc_of_counts
from ppaurora.statistics.estimates import Estimate
from ppaurora.statistics.histogram import ScoreBin, histogram, span

if TYPE_CHECKING:
    from ppaurora.study.manifest import Manifest


@dataclass(frozen=True, repr=False)
class DataCheck:
    """An owner's data, checked before it is sent. It stays with the owner, and its repr shows no counts.

    Attributes
    ----------
    owner, manifest
        Who would submit it, and to which study; None if it was checked without a kit.
    source
        The file, or whose data it is.
    description
        How it was read: columns, rows, duplicates. None for `Samples`, which have already been read.
    samples, positives, negatives
        How many there are.
    labels
        How labels are spelt, how often, and what counts as positive. Empty without a description.
    distinct_scores, tied_samples
        How many distinct scores there are, and how many samples share theirs with another one.
    lowest, highest
        Round numbers that bound the scores.
    auroc
        AUROC of these samples alone, as the study reads their scores; without a value for a single class.
        Rows count as often as they weigh; there is no interval where they are weighted, or where patients
        have several.
    histogram
        Scores by class.
    concerns
        What to review; `warnings` are those that stop a submission if nobody is there to confirm it.
    refusal
        Why `submit` would refuse this data now; empty if it would not.
    of_others
        How many samples the other owners need together for the study to be computed beside these, in words;
        empty without a kit, or if any number does.
    spending
        The epsilon that the study spends on this data, beside earlier ones; None without a kit.
    grid_effect
        What reading scores on the study's grid changes; None if it has none, or does not take these scores.
    grid_proposal
        A grid that would fit these scores, where no study has one.
    saving
        How much less the study would cost on that grid, if it changes no score; else empty.
    counts
        The scores as they are read, by class, of which all of this is told.
    design
        In a study with several models, outcomes, subgroups, patients or weights, or with rows left out: what
        there is to say of these. Concerns are about every model and outcome, and name the one that is meant.
        All else is then told of rows, with the first model and the first outcome, which `design.first` names;
        AUROC, with their weights.
    single_precision
        What float32 does to the scores, if they are kept so and not counted on a grid; of the first model.

    Examples
    --------
    `Study.check` compares with a study's plan as well.

    >>> from ppaurora.check import check_data
    >>> from ppaurora.data import read_data
    >>> data = read_data({"risk": [0.1, 0.6, 0.3], "died": [1, 0, 0]}, "risk", "died")
    >>> found = check_data(data.samples(), data.description)
    >>> found.positives, found.negatives, found.auroc.value
    (1, 2, 0.0)
    >>> [concern.code for concern in found.concerns]
    ['auroc-below-half', 'few-samples']
    """

    owner: str | None
    manifest: Manifest | None
    source: str
    description: Description | None
    samples: int
    positives: int
    labels: tuple[Spelling, ...]
    distinct_scores: int
    tied_samples: int
    lowest: float
    highest: float
    auroc: Estimate
    histogram: tuple[ScoreBin, ...]
    concerns: tuple[Concern, ...]
    counts: ScoreCounts
    refusal: str = ""
    of_others: str = ""
    spending: Spending | None = None
    grid_effect: GridEffect | None = None
    grid_proposal: GridProposal | None = None
    saving: str = ""
    design: DesignCheck | None = None
    single_precision: SinglePrecision | None = None

    def __repr__(self) -> str:
        codes = ", ".join(concern.code for concern in self.concerns) or "none"
        return f"<DataCheck of {self.source}: {self.samples} samples; concerns: {codes}>"

    @property
    def negatives(self) -> int:
        """Return the number of samples of the negative class."""
        return self.samples - self.positives

    @property
    def left_out(self) -> LeftOut:
        """Return how many rows were left out, by reason."""
        return LeftOut() if self.design is None else self.design.left_out

    @property
    def warnings(self) -> tuple[Concern, ...]:
        """Return the concerns that stop a submission if nobody is there to confirm it."""
        return tuple(concern for concern in self.concerns if concern.is_warning)

    def to_dict(self) -> dict[str, Any]:
        """Return what `ppaurora check --format json` prints."""
        manifest, about = self.manifest, self.description
        return {
            "owner": self.owner,
            "study": None if manifest is None else manifest.study,
            "manifest": None if manifest is None else manifest.hash,
            "evaluation": None if manifest is None else to_builtins(manifest.evaluation),
            "source": self.source,
            "columns": None if about is None else list(about.columns),
            "score_column": None if about is None else about.score_column,
            "label_column": None if about is None else about.label_column,
            "id_column": None if about is None else about.id_column,
            "samples": self.samples,
            "missing": 0 if about is None else about.incomplete,
            "duplicates": None if about is None or about.id_column is None else about.duplicates,
            "positives": self.positives,
            "negatives": self.negatives,
            "labels": [asdict(spelling) for spelling in self.labels],
            "distinct_scores": self.distinct_scores,
            "tied_samples": self.tied_samples,
            "lowest": self.lowest,
            "highest": self.highest,
            Auroc.name: self.auroc.to_dict(),
            Histogram.name: [asdict(bin_) for bin_ in self.histogram],
            "concerns": [
                {"code": one.code, "text": one.text, "warning": one.is_warning} for one in self.concerns
            ],
            "grid": None if self.grid_effect is None else self.grid_effect.to_dict(),
            "proposed_grid": None if self.grid_proposal is None else self.grid_proposal.to_dict(),
            "saving": self.saving or None,
            "epsilon": None if self.spending is None else self.spending.to_dict(),
            "at_edges_in_float32": None if self.single_precision is None else self.single_precision.at_edges,
            "left_out": asdict(self.left_out),
            "refusal": self.refusal or None,
            **({} if self.design is None else {"design": self.design.to_dict()}),
        }


def check_data(
    samples: Samples | CountTable,
    description: Description | None = None,
    *,
    pos_label: object | None = None,
    owner: str | None = None,
    manifest: Manifest | None = None,
    overlaps: Sequence[Concern] = (),
    spending: Spending | None = None,
    floors: Floors | None = None,
    refusal: str = "",
    moved: int | None = None,
    design: Design | None = None,
) -> DataCheck:
    """Look at samples; with a manifest, also whether they are what its plan says.

    The description is that of the data that the samples were read from, with this positive label. `overlaps`
    says of which other studies nearly the same data was a part, and `spending` what all of them spend on it;
    `floors` are what the owner demands besides the study's policy.
    Of a table, `moved` says how many scores are not the values that they were counted at. The design is that
    of the study, for which the samples were read.

    Where the study computes on a grid, everything is told of scores as they are read there, unless they
    cannot be, which is then the refusal.
    """
    design = Design() if design is None else design
    protocol = None if manifest is None else manifest.protocol
    is_lower = manifest is not None and manifest.evaluation.lower_is_positive
    own = samples.negate() if is_lower else samples
    of_design, of_levels = _of_design(own, design, manifest)
    counting_grid = None if protocol is None else protocol.counting_grid
    look = partial(
        SinglePrecision.of,
        edges=_edges(manifest),
        takes_float64=protocol is None or protocol.takes_float64,
    )
    wholes = _wholes(own, design, of_design, counting_grid, description, pos_label, look)
    own = replace(own, further=None) if isinstance(own, Samples) else own  # else rows would have weights
    grid = None if protocol is None else _grid_of(design.model_names[0], protocol.grid, design)
    effect = None if grid is None else _effect(own, grid, moved)
    proposal = None
    if isinstance(own, Samples) and grid is None:
        proposal = propose_grid(own)
    first = wholes[0]
    counts = first.counts
    lowest, highest = span(counts)
    found = [
        *concerns_of(wholes, None if manifest is None else manifest.evaluation, _thresholds(manifest)),
        *overlaps,
        *precision_concerns(wholes),
        *duplicate_concerns(description),
        *size_concerns(wholes),
        *of_levels,
    ]
    positives, negatives = counts.by_class
    return DataCheck(
        owner=owner,
        manifest=manifest,
        source=samples.source,
        description=description,
        samples=positives + negatives,
        positives=positives,
        labels=tuple(first.labels),
        distinct_scores=len(counts.values),
        tied_samples=counts.tied,
        lowest=lowest,
        highest=highest,
        auroc=first.auroc,
        histogram=histogram(counts),
        concerns=tuple(sorted(found, key=lambda concern: not concern.is_warning)),
        refusal=refusal,
        of_others="" if refusal or manifest is None else _of_others(manifest, positives + negatives, floors),
        spending=spending,
        grid_effect=effect,
        grid_proposal=proposal,
        saving=_saving(proposal, manifest, positives + negatives),
        counts=counts,
        design=of_design,
        single_precision=first.single_precision,
    )


def _of_others(manifest: Manifest, samples: int, floors: Floors | None) -> str:
    policy = manifest.terms.under([] if floors is None else [floors]).policy
    return policy.asked_of_others(samples, len(manifest.owners) - 1)


def _of_design(
    own: Samples | CountTable, design: Design, manifest: Manifest | None
) -> tuple[DesignCheck | None, list[Concern]]:
    """Return what there is to say of further columns, if there are any."""
    if isinstance(own, CountTable) or (own.further is None and not design.left_out):
        return None, []
    grid = None if manifest is None else manifest.protocol.counting_grid
    policy = Policy.exact() if manifest is None else manifest.terms.policy
    found = DesignCheck.of(own, design, grid)
    return found, list(design_concerns(own, design, found, policy))


def _wholes(
    own: Samples | CountTable,
    design: Design,
    found: DesignCheck | None,
    grid: Grid | None,
    description: Description | None,
    pos_label: object | None,
    look: Callable[[Samples], SinglePrecision | None],
) -> tuple[Whole, ...]:
    """Return every model with every outcome, as the study reads the scores; rows count once here."""
    aurocs = {} if found is None else {one.slice: one.auroc for one in found.wholes}
    names = design.wholes if isinstance(own, Samples) and own.further is not None else (WHOLE,)
    wholes = []
    for one in names:
        rows = replace(own.of(one), further=None) if isinstance(own, Samples) else own
        own_grid = _grid_of(one.model, grid, design)
        counts = ScoreCounts.of(_as_read(rows, own_grid))
        single = look(rows) if isinstance(rows, Samples) and own_grid is None else None
        auroc = aurocs[one] if one in aurocs else auroc_of_counts(*counts.ascending)
        wholes.append(Whole(one, counts, auroc, spellings(description, pos_label, one.outcome), single))
    return tuple(wholes)


def _grid_of(model: str, grid: Grid | None, design: Design) -> Grid | None:
    """Return on which grid a model's scores are read, where scores are."""
    spec = design.models.get(model)
    return grid if grid is None or spec is None else spec.grid or grid


def _saving(proposal: GridProposal | None, manifest: Manifest | None, samples: int) -> str:
    """Compare costs as if all owners had as many samples as this one."""
    if proposal is None or manifest is None or not proposal.effect.changes_nothing:
        return ""
    said = saving_on(proposal.grid, manifest.terms, [samples] * len(manifest.owners))
    return f"if all owners have as many samples, {said}" if said else ""


def _effect(own: Samples | CountTable, grid: Grid, moved: int | None) -> GridEffect | None:
    try:
        return GridEffect.of(own, grid, moved)
    except InputError:
        return None


def _as_read(own: Samples | CountTable, grid: Grid | None) -> Samples | CountTable:
    """Return the scores as a study computes with them; as they are, if it does not take them."""
    if grid is None or isinstance(own, CountTable):
        return own
    try:
        return CountTable.of(own, grid)
    except InputError:
        return own


def _edges(manifest: Manifest | None) -> list[float]:
    """Return all thresholds and all edges of bins of the plan's metrics."""
    metrics = () if manifest is None else manifest.terms.metrics
    return sorted({at for metric in metrics for at in (*metric.thresholds(), *metric.edges())})


def _thresholds(manifest: Manifest | None) -> list[float]:
    """Return all thresholds of the plan's metrics, in increasing order."""
    metrics = () if manifest is None else manifest.terms.metrics
    return sorted({at for metric in metrics for at in getattr(metric.parameters, "thresholds", ())})
