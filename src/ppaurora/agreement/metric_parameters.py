"""Parameters that metrics need and nobody gave, with an example of each to show."""

from __future__ import annotations

from collections.abc import Container
from typing import Any

from msgspec import structs

from ppaurora.metrics import Metric


def missing_parameters(kind: type[Metric], given: Container[str] = ()) -> dict[str, Any]:
    """Return the parameters without a default that are not among those given, each with an example."""
    return {
        field.name: kind.sample_parameters[field.name]
        for field in structs.fields(kind.Parameters)
        if field.required and field.name not in given and field.name in kind.sample_parameters
    }


def as_written(example: Any) -> str:
    """Return an example as Python and a plan have it."""
    return str(list(example) if isinstance(example, tuple) else example)
