"""Which protocols there are. The only place that maps a protocol's name to its class."""

from __future__ import annotations

import operator
from numbers import Real
from typing import TYPE_CHECKING, Any, TypeVar, get_type_hints

import msgspec
import numpy as np

from ppaurora.errors import InputError
from ppaurora.io.models import StrictModel, checked, from_builtins, to_builtins

if TYPE_CHECKING:
    from ppaurora.protocols.base import Protocol

_PROTOCOLS: dict[str, type[Protocol]] = {}

P = TypeVar("P", bound="type[Protocol]")


def register(protocol: P) -> P:
    """Make a protocol known by its name; to be used as a decorator."""
    _PROTOCOLS[protocol.name] = protocol
    return protocol


def protocols() -> dict[str, type[Protocol]]:
    """Return all protocols by name, the default first."""
    return dict(_PROTOCOLS)


def find_protocol(name: Any) -> type[Protocol]:
    if not isinstance(name, str) or name not in _PROTOCOLS:
        raise InputError(f"unknown protocol '{name}'; there are: {', '.join(_PROTOCOLS)}")
    return _PROTOCOLS[name]


def check_parameters(kind: type[Protocol], given: dict[str, Any]) -> StrictModel:
    """Parameters as callers in Python write them: numbers of any type are taken."""
    parameters = {}
    for name, value in given.items():
        if name not in kind.Parameters.__struct_fields__:
            raise InputError(f"{name} {_whose(name, kind)}")
        try:
            parameters[name] = _plain(value)
            if not isinstance(parameters[name], dict):  # of which the whole check says more
                from_builtins(get_type_hints(kind.Parameters, include_extras=True)[name], parameters[name])
        except (TypeError, msgspec.ValidationError):
            raise InputError(f"{kind.expected[name]}, not {value!r}") from None
    return checked(kind.Parameters, parameters)


def _plain(value: Any) -> Any:
    """Return a number of any type as Python's own, and the fields of a model or table likewise."""
    if isinstance(value, StrictModel):
        value = to_builtins(value)
    if isinstance(value, dict):
        return {name: _plain(one) for name, one in value.items()}
    if value is None:
        return None
    try:
        return int(operator.index(value))
    except TypeError:
        if isinstance(value, Real | np.floating):
            return float(value)
        raise


def _whose(parameter: str, kind: type[Protocol]) -> str:
    for protocol in _PROTOCOLS.values():
        if parameter in protocol.Parameters.__struct_fields__:
            return f"applies to the protocol '{protocol.name}' only; leave it out"
    known = ", ".join(kind.Parameters.__struct_fields__) or "none"
    return f"is not a parameter of any protocol; those of '{kind.name}': {known}"
