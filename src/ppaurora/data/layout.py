"""Which counts an owner of a study with a design submits, in which order: blocks of one long list.

    table       counts per class and grid value of a whole, or of one level of a variable
    joint       counts per class of samples whose scores of two models lie in two coarse cells; of clusters,
                sums over clusters of products of counts
    clusters    how many clusters have positives, negatives, and either: in all, and in every level
    classes     how many rows are positive and how many negative, where rows have weights

A cluster is a patient, or a row that counts several times.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from itertools import accumulate, pairwise

import numpy as np
from numpy.typing import NDArray

from ppaurora.data.count_table import CountTable
from ppaurora.data.design import Design, Model
from ppaurora.data.further import Further
from ppaurora.data.grid import Grid
from ppaurora.data.samples import Samples
from ppaurora.data.slices import Pair, Slice
from ppaurora.errors import DataError, InputError

MOST_COUNTS = 1 << 24  # of one owner: 64 MB
MOST_PRODUCTS = 1 << 24  # of counts, in one block of one owner: 256 owners then have at most 2^32
CLUSTER_CELLS = 128  # coarse cells of a model at most, where samples are clustered

Counts = NDArray[np.uint32]


@dataclass(frozen=True)
class CoarseCells:
    """The values of a grid in groups of neighbours: the public cells in which scores are counted jointly."""

    grid: Grid
    most: int
    spacing: str

    @property
    def count(self) -> int:
        """Return how many cells there are."""
        return int(self.of_value[-1]) + 1

    @property
    def are_exact(self) -> bool:
        """Return whether every value has a cell of its own."""
        return self.count == self.grid.cells

    @cached_property
    def of_value(self) -> NDArray[np.int64]:
        """The cell of every value of the grid; none is without values."""
        return _cells_of(self.grid.cells, self.most, self.spacing)

    def of(self, samples: Samples) -> NDArray[np.int64]:
        """Return the cell of every sample."""
        cells: NDArray[np.int64] = self.of_value[self.grid.places(samples)]
        return cells


@lru_cache(maxsize=32)
def _cells_of(values: int, most: int, spacing: str) -> NDArray[np.int64]:
    places = np.arange(values, dtype=np.int64)
    if values <= most:
        return places
    if spacing == "even":
        return places * most // values
    # Cell k begins with the smallest value that is not below (1 + values)^(k / most) - 1, in whole numbers.
    starts = {_root_power(values + 1, cell, most) - 1 for cell in range(most)}
    marks = np.zeros(values, dtype=np.int64)
    marks[[start for start in sorted(starts) if start < values]] = 1
    cells: NDArray[np.int64] = np.cumsum(marks) - 1
    return cells


def _root_power(base: int, power: int, root: int) -> int:
    """Return the smallest whole number that is not below base^(power / root), whatever the processor."""
    low, high, wanted = 1, base, base**power
    while low < high:
        middle = (low + high) // 2
        if middle**root >= wanted:
            high = middle
        else:
            low = middle + 1
    return low


@dataclass(frozen=True)
class Block:
    """Some counts that belong together."""

    counts: int


@dataclass(frozen=True)
class TableBlock(Block):
    """Counts of positives at every value of a grid, then of negatives."""

    slice: Slice
    grid: Grid


@dataclass(frozen=True)
class JointBlock(Block):
    """A matrix of coarse cells of two models (or of one, twice), for two classes.

    Between rows of class `first` in a cell of model a and rows of class `second` in a cell of model b:
    without clusters, how many samples are in both; else over clusters the sum of products of their counts.
    """

    pair: Pair
    first: int
    second: int
    shape: tuple[int, int]


@dataclass(frozen=True)
class ClusterBlock(Block):
    """How many clusters have positives, how many have negatives, how many there are.

    Of a level of a subgroup: clusters with rows in it, by those rows.
    """

    outcome: str
    variable: str = ""
    level: str = ""


@dataclass(frozen=True)
class ClassBlock(Block):
    """How many rows are positive and how many negative, whatever they weigh."""

    outcome: str


@dataclass(frozen=True)
class Layout:
    """All counts of a submission, block after block. Public: it follows from design and protocol."""

    design: Design
    protocol_grid: Grid | None
    tabulated: bool  # whether everything is computed from tables, and no list is submitted
    is_private: bool = False  # with noise, intervals need nothing of single samples or clusters

    def __post_init__(self) -> None:
        if self.needs_grids:
            for model in self.design.model_names:
                self.grid_of(model)
        if self.counts > MOST_COUNTS:
            raise InputError(
                f"the study's tables have {self.counts:,} counts of every owner; at most {MOST_COUNTS:,} are "
                "possible: take fewer decimals, fewer levels or fewer models"
            )

    @property
    def needs_grids(self) -> bool:
        """Return whether scores are counted."""
        design = self.design
        return bool(self.tabulated or design.subgroups or self.joint_pairs)

    @property
    def has_tables(self) -> bool:
        """Return whether there is a table of every whole."""
        counted = self.design.subgroups or (self.design.is_clustered and not self.is_private)
        return bool(self.tabulated or counted or self.protocol_grid is not None)

    def grid_of(self, model: str) -> Grid:
        """Return how a model's scores are read where they are counted."""
        spec = self.design.models.get(model, Model())
        grid = spec.grid or self.protocol_grid
        if grid is None:
            which = f"models.{model}" if model else "protocol"
            raise InputError(
                f"{which}: comparisons, subgroups and patients with several rows need scores that are "
                "counted on a grid: write grid = { low = 0.0, high = 1.0, decimals = 4 } there, with the "
                "range and the decimals of the scores"
            )
        return grid

    def cells_of(self, model: str) -> CoarseCells:
        """Return the cells in which a model's scores are counted jointly."""
        spec = self.design.models.get(model, Model())
        most = min(spec.cells, CLUSTER_CELLS) if self.design.is_clustered else spec.cells
        return CoarseCells(self.grid_of(model), most, spec.spacing)

    @cached_property
    def blocks(self) -> tuple[Block, ...]:
        """All blocks, in the order in which they are submitted."""
        return tuple(self._blocks())

    def _blocks(self) -> Iterator[Block]:
        design = self.design
        for whole in design.wholes if self.has_tables else ():
            for slice_ in self.tables_of(whole):
                grid = self.grid_of(whole.model)
                yield TableBlock(2 * grid.cells, slice_, grid)
        for pair in self.joint_pairs:
            shape = (self.cells_of(pair.a.model).count, self.cells_of(pair.b.model).count)
            for first, second in self.classes_of(pair):
                yield JointBlock(shape[0] * shape[1], pair, first, second, shape)
        for outcome in design.outcome_names:
            if design.is_clustered and not self.is_private:
                yield ClusterBlock(3, outcome)
                for variable in design.variables if design.patient else ():
                    for level in design.subgroups[variable].levels:
                        yield ClusterBlock(3, outcome, variable, level)
            if design.weight is not None:
                yield ClassBlock(2, outcome)

    def tables_of(self, whole: Slice) -> tuple[Slice, ...]:
        """Return the slices whose tables are submitted: of a whole without levels, it alone."""
        design = self.design
        if not design.variables:
            return (whole,)
        return tuple(one for variable in design.variables for one in design.levels_of(whole, variable))

    @property
    def joint_pairs(self) -> tuple[Pair, ...]:
        """Pairs of models whose scores are counted jointly; of clusters, also every model with itself."""
        if self.is_private:
            return ()
        alone = tuple(Pair(whole, whole) for whole in self.design.wholes) if self.design.is_clustered else ()
        return (*alone, *self.design.pairs)

    def classes_of(self, pair: Pair) -> tuple[tuple[int, int], ...]:
        """Return between which classes there are counts: of single samples, within a class alone."""
        if not self.design.is_clustered:
            return ((1, 1), (0, 0))
        return ((1, 1), (0, 0), (1, 0)) if pair.a == pair.b else ((1, 1), (0, 0), (1, 0), (0, 1))

    @cached_property
    def counts(self) -> int:
        """How many counts an owner submits."""
        return sum(block.counts for block in self.blocks)

    @cached_property
    def places(self) -> dict[Block, slice]:
        """Where the counts of every block are."""
        ends = accumulate((block.counts for block in self.blocks), initial=0)
        return {block: slice(*span) for block, span in zip(self.blocks, pairwise(ends), strict=True)}

    # The owner's side

    def read(self, samples: Samples) -> Samples:
        """Return samples with all models' scores as they are counted, where only counts are computed with."""
        if not self.tabulated:
            return samples
        names = self.design.model_names
        read = {model: self.grid_of(model).read(samples.of(Slice(model))) for model in names}
        further = samples.further or Further()
        scores = {model: own.scores_of_source for model, own in read.items() if model}
        return replace(samples, scores=read[names[0]].scores, further=replace(further, scores=scores))

    def fill(self, samples: Samples) -> Counts:
        """Count an owner's samples, block after block."""
        parts = [self._count(block, samples) for block in self.blocks]
        return np.concatenate(parts) if parts else np.zeros(0, dtype=np.uint32)

    def _count(self, block: Block, samples: Samples) -> Counts:
        if isinstance(block, TableBlock):
            levels = self.design.subgroups[block.slice.variable].levels if block.slice.is_level else ()
            return CountTable.of(samples.of(block.slice, levels), block.grid).counts
        if isinstance(block, JointBlock):
            return self._joint(block, samples)
        if isinstance(block, ClusterBlock):
            levels = self.design.subgroups[block.variable].levels if block.variable else ()
            own = samples.of(Slice("", block.outcome, block.variable, block.level), levels)
            clusters, labels = clusters_of(own), own.labels
            having = [len(np.unique(clusters[labels == label])) for label in (1, 0)]
            return np.array([*having, len(np.unique(clusters))], dtype=np.uint32)
        if isinstance(block, ClassBlock):
            labels = samples.of(Slice(outcome=block.outcome)).labels
            return np.array([np.count_nonzero(labels == label) for label in (1, 0)], dtype=np.uint32)
        raise NotImplementedError(type(block).__name__)

    def _joint(self, block: JointBlock, samples: Samples) -> Counts:
        a, b = samples.of(block.pair.a), samples.of(block.pair.b)
        cells = [self.cells_of(one.model).of(own) for one, own in ((block.pair.a, a), (block.pair.b, b))]
        if not self.design.is_clustered:
            chosen = a.labels == block.first
            flat = cells[0][chosen] * block.shape[1] + cells[1][chosen]
            return np.bincount(flat, minlength=block.counts).astype(np.uint32)
        return _products(block, cells, a.labels, clusters_of(samples), weights_of(samples), samples.source)


def clusters_of(samples: Samples) -> NDArray[np.int64]:
    """Return to which cluster every row belongs: that of its patient, or one of its own."""
    further = samples.further
    if further is None or further.patients is None:
        return np.arange(len(samples), dtype=np.int64)
    return further.patients


def weights_of(samples: Samples) -> NDArray[np.int64]:
    """Return how often every row counts."""
    further = samples.further
    if further is None or further.weights is None:
        return np.ones(len(samples), dtype=np.int64)
    return further.weights.astype(np.int64)


def _products(
    block: JointBlock,
    cells: Sequence[NDArray[np.int64]],
    labels: NDArray[np.uint8],
    clusters: NDArray[np.int64],
    weights: NDArray[np.int64],
    source: str,
) -> Counts:
    """Add up, cluster by cluster, the products of counts in every two cells."""
    found = np.zeros(block.shape, dtype=np.int64)
    order = np.argsort(clusters, kind="stable")
    starts = np.flatnonzero(np.append(True, np.diff(clusters[order]) != 0)) if len(order) else order
    for rows in np.split(order, starts[1:]):
        first, second = rows[labels[rows] == block.first], rows[labels[rows] == block.second]
        if len(first) and len(second):
            products = weights[first][:, None] * weights[second][None, :]
            np.add.at(found, (cells[0][first][:, None], cells[1][second][None, :]), products)
    if found.sum() > MOST_PRODUCTS:
        raise DataError(
            "patients have so many rows, or rows such weights, that their products cannot be counted",
            source=source,
            hint="divide all weights by a common number",
        )
    return found.astype(np.uint32).ravel()
