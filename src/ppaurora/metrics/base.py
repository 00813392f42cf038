"""What a metric is: one entry that says everything about it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from ppaurora.algorithms.curve import Curve, Finish, Quantity
from ppaurora.errors import InputError


class Denominator(Enum):
    """Of a metric; each is computed once for all."""

    POSITIVES = "P"
    CLASS_PRODUCT = "P·N"


@dataclass(frozen=True)
class SecretFraction:
    """numerator / (denominator·2^shift), from 0 to 1, each a list of one. The numerator is begun."""

    numerator: Finish
    denominator: Denominator
    shift: int = 0


@dataclass(frozen=True)
class Metric:
    """Everything about a metric. Help texts, the sample plan, reports and documents derive from it."""

    name: str
    description: str  # what it is, in a few words
    definition: str  # the same on pooled data in the clear, as people know it
    # ... and as a function of (y_true, y_score)
    reference: Callable[[Any, Any], float] = field(repr=False)
    fraction: Callable[[Curve], SecretFraction] = field(repr=False)  # how it is computed on shares
    needs: tuple[Quantity, ...] = field(default=(), repr=False)  # rows of the curve, besides TP
    # Whether it is computed once the curve has kept only ends of tie groups; then `fraction` must not wait
    # for anything, only begin, so that all such metrics share a round.
    at_ends: bool = True
    uses_ends: bool = True  # whether it needs to know where tie groups end at all
    lowest: float = 0.0
    highest: float = 1.0
    decimals: int = 12  # as people see it

    def shown(self, value: float) -> str:
        return f"{value:.{self.decimals}f}"


def scikit_learn(function: str) -> Callable[..., Any]:
    """A function of sklearn.metrics, loaded when it is first called: it takes a second."""

    def call(*arguments: Any, **options: Any) -> Any:
        try:
            import sklearn.metrics
        except ImportError:
            raise InputError("references are scikit-learn's: pip install 'ppaurora[demo]'") from None
        return getattr(sklearn.metrics, function)(*arguments, **options)

    return call
