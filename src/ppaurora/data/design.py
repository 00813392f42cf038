"""The design of a study: which models and outcomes, in which subgroups, whether patients have several rows.

A study without any of this has one score and one label per row. Every combination of a model, an outcome and
perhaps a level of a subgroup is a *slice*: samples with a score and a label each, that metrics are about.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from itertools import combinations
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from ppaurora.data.grid import Grid
from ppaurora.data.slices import Pair, Slice
from ppaurora.errors import InputError
from ppaurora.io.models import StrictModel, canonical_json

MOST_MODELS = 8
MOST_OUTCOMES = 8
MOST_COARSE_CELLS = 1024
MOST_LEVELS = 64  # of all subgroups together
MOST_WEIGHT = 1000
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_.-]{0,39}")


class Model(StrictModel):
    """A model whose scores are evaluated."""

    column: str = ""  # by which owners' tables call its scores; by default the model's name
    grid: Grid | None = None  # how its scores are read where they are counted; by default the protocol's
    # Into how many cells at most its scores are counted together with those of another model or of the same
    # patient, and whether these are equally wide, or wider for scores that are further above the lowest.
    cells: Annotated[
        int,
        Meta(
            ge=2, le=MOST_COARSE_CELLS, extra={"expected": f"a whole number from 2 to {MOST_COARSE_CELLS:,}"}
        ),
    ] = 256
    spacing: Annotated[Literal["even", "log"], Meta(extra={"expected": '"even" or "log"'})] = "even"


class Outcome(StrictModel):
    """An outcome that models predict."""

    column: str = ""  # by which owners' tables call its labels; by default the outcome's name


class Subgroup(StrictModel):
    """A variable that divides all samples, and its levels; every sample has one of them."""

    column: str = ""  # by default the variable's name
    levels: Annotated[
        tuple[str, ...],
        Meta(
            min_length=2,
            max_length=MOST_LEVELS,
            extra={
                "expected": f'from 2 to {MOST_LEVELS} levels, each in quotes, as in ["f", "m"] or ["0", "1"]'
            },
        ),
    ]

    def __post_init__(self) -> None:
        for level in self.levels:
            if not level.strip() or level != level.strip() or len(level) > 40 or not level.isprintable():
                raise ValueError("levels: each is a short text, as owners' tables spell it")
        if len(set(self.levels)) < len(self.levels):
            raise ValueError("levels: each must stand once")


class SampleWeight(StrictModel):
    """A column of whole numbers that say how often every row counts."""

    column: str = "weight"
    most: Annotated[  # that one row may have
        int, Meta(ge=1, le=MOST_WEIGHT, extra={"expected": f"a whole number from 1 to {MOST_WEIGHT:,}"})
    ] = 100


class Design(StrictModel):
    """What a study evaluates beside one score and one label per row; empty by default.

    Attributes
    ----------
    models
        By name, the models whose scores are evaluated: `[models.a]`, with `column` and perhaps `grid`.
    comparisons
        Pairs of models of which differences are computed, on the same samples.
    outcomes
        By name, the outcomes, each with a column of labels.
    subgroups
        By name of a variable, its column and its levels. Which sample has which level is secret.
    patient
        The name of a column that tells which rows are of one patient; it stays with the owner. Intervals of
        AUROC then allow for that.
    weight
        The column of whole numbers that say how often a row counts, and the most that one may be.
    sites
        Whether heterogeneity between owners is computed.
    left_out
        Whether every owner states how many rows it left out, and why.
    """

    models: dict[str, Model] = msgspec.field(default_factory=dict)
    comparisons: Annotated[
        tuple[tuple[str, str], ...],
        Meta(extra={"expected": 'pairs of models, as in [["a", "b"]] or [["a", "b"], ["a", "c"]]'}),
    ] = ()
    outcomes: dict[str, Outcome] = msgspec.field(default_factory=dict)
    subgroups: dict[str, Subgroup] = msgspec.field(default_factory=dict)
    patient: str = ""
    weight: SampleWeight | None = None
    sites: bool = False
    left_out: bool = False

    def __hash__(self) -> int:
        return hash(canonical_json(self))

    def check_design(self) -> None:
        """Raise `InputError` unless names are names, pairs are of models, and there are not too many."""
        for field, most in (("models", MOST_MODELS), ("outcomes", MOST_OUTCOMES), ("subgroups", MOST_LEVELS)):
            names = getattr(self, field)
            if len(names) > most:
                raise InputError(f"{field}: there are {len(names)}; at most {most} are possible")
            for name in names:
                if not _NAME.fullmatch(name):
                    raise InputError(
                        f"{field}.{name}: a name begins with a letter, followed by letters, digits, '_', '.' "
                        "and '-', 40 at most"
                    )
            _check_columns(field, names)
        levels = sum(len(subgroup.levels) for subgroup in self.subgroups.values())
        if levels > MOST_LEVELS:
            raise InputError(
                f"subgroups: there are {levels} levels in all; at most {MOST_LEVELS} are possible"
            )
        for pair in self.comparisons:
            self._check_comparison(pair)
        if len({frozenset(pair) for pair in self.comparisons}) < len(self.comparisons):
            raise InputError("comparisons: a pair of models stands more than once")

    def _check_comparison(self, pair: tuple[str, str]) -> None:
        unknown = [name for name in pair if name not in self.models]
        if unknown:
            there = ", ".join(self.models) or "none"
            raise InputError(f"comparisons: '{unknown[0]}' is not a model in this study; there are: {there}")
        if pair[0] == pair[1]:
            raise InputError(f"comparisons: '{pair[0]}' cannot be compared with itself")

    @property
    def is_plain(self) -> bool:
        """Return whether every row has one score and one label, and nothing else."""
        return not (self.names_columns or self.comparisons or self.sites or self.left_out)

    @property
    def names_columns(self) -> bool:
        """Return whether owners' tables need other columns than one of scores and one of labels."""
        return bool(self.models or self.outcomes or self.subgroups or self.patient or self.weight)

    @property
    def model_names(self) -> tuple[str, ...]:
        """The models in the order of their names, in which manifests have them."""
        return tuple(sorted(self.models)) or ("",)

    @property
    def outcome_names(self) -> tuple[str, ...]:
        """The outcomes in the order of their names."""
        return tuple(sorted(self.outcomes)) or ("",)

    @property
    def variables(self) -> tuple[str, ...]:
        """The variables that make subgroups, in the order of their names."""
        return tuple(sorted(self.subgroups))

    @property
    def wholes(self) -> tuple[Slice, ...]:
        """Every model with every outcome, over all samples."""
        return tuple(Slice(model, outcome) for outcome in self.outcome_names for model in self.model_names)

    def levels_of(self, whole: Slice, variable: str) -> tuple[Slice, ...]:
        """Return the slices of all levels of a variable."""
        levels = self.subgroups[variable].levels
        return tuple(Slice(whole.model, whole.outcome, variable, level) for level in levels)

    @property
    def slices(self) -> tuple[Slice, ...]:
        """Everything that metrics are computed on: wholes first, then level by level."""
        levels = (
            one
            for whole in self.wholes
            for variable in self.variables
            for one in self.levels_of(whole, variable)
        )
        return (*self.wholes, *levels)

    @property
    def pairs(self) -> tuple[Pair, ...]:
        """The comparisons, for every outcome."""
        return tuple(
            Pair(Slice(a, outcome), Slice(b, outcome))
            for outcome in self.outcome_names
            for a, b in self.comparisons
        )

    @property
    def is_clustered(self) -> bool:
        """Return whether rows are not independent, each counting once."""
        return bool(self.patient) or self.weight is not None

    def describe_design(self) -> list[tuple[str, str]]:
        """Return labels and texts for people, line by line."""
        lines = []
        if self.models:
            lines.append(("models", ", ".join(_with_column(name, one) for name, one in self.models.items())))
        if self.comparisons:
            lines.append(("comparisons", ", ".join(f"{a} with {b}" for a, b in self.comparisons)))
        if self.outcomes:
            lines.append(
                ("outcomes", ", ".join(_with_column(name, one) for name, one in self.outcomes.items()))
            )
        for name, subgroup in self.subgroups.items():
            lines.append((f"subgroups by {_with_column(name, subgroup)}", ", ".join(subgroup.levels)))
        if self.patient:
            lines.append(("patients", f"rows with the same '{self.patient}' are of one; it is not sent"))
        if self.weight is not None:
            lines.append(("weights", f"column '{self.weight.column}', from 1 to {self.weight.most:,}"))
        if self.sites:
            lines.append(("sites", "heterogeneity between owners; no owner's own value"))
        if self.left_out:
            lines.append(("rows left out", "every owner states how many, and why; the sum is released"))
        return lines


def all_pairs(models: Iterable[str]) -> tuple[tuple[str, str], ...]:
    """Return every pair of models once."""
    return tuple(combinations(models, 2))


def _check_columns(field: str, specs: Mapping[str, Model | Outcome | Subgroup]) -> None:
    """Refuse two models, outcomes or variables that would have the same column."""
    whose: dict[str, str] = {}
    for name in specs:
        column = column_of(name, specs)
        if column in whose:
            raise InputError(
                f"{field}: {whose[column]} and {name} have the same column, '{column}'; give each its own"
            )
        whose[column] = name


def _with_column(name: str, one: Any) -> str:
    return f"{name} (column '{one.column}')" if one.column and one.column != name else name


def column_of(name: str, specs: Mapping[str, Model | Outcome | Subgroup]) -> str:
    """Return by which name a table has the column of a model, an outcome or a variable."""
    return specs[name].column or name
