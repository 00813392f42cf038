"""An example of any type that messages are made of, as JSON holds it."""

from __future__ import annotations

import base64
from collections.abc import Callable
from enum import Enum
from typing import Any

from msgspec import inspect

from ppaurora.agreement.evaluation_spec import EvaluationSpec
from ppaurora.agreement.terms import Job
from ppaurora.io.models import StrictModel, to_builtins
from ppaurora.io.times import Time
from ppaurora.messages.workers import HOST_ALONE
from ppaurora.policy.rules import Floors, Policy
from ppaurora.protocols import Paper, Protocol
from ppaurora.sharing.commitment import Salt
from ppaurora.sharing.stages import ResultShare
from tests.messages.vectors.job import FULL
from tests.messages.vectors.manifest import FULL_EVALUATION, FULL_POLICY
from tests.messages.vectors.seeds import seed

# Of bytes in hexadecimal; a host, too, may have such a name.
PATTERNS: dict[str | None, int] = {"^[0-9a-f]{64}$": 32, "^[0-9a-f]{32}$": 16, HOST_ALONE: 16}

FULL_FLOORS = {name: value for name, value in FULL_POLICY.items() if name in Floors.__struct_fields__}

# Types whose values must fit together, or that only they themselves understand.
_WHOLE: dict[type, Callable[[str], Any]] = {
    EvaluationSpec: lambda label: dict(FULL_EVALUATION),
    Floors: lambda label: dict(FULL_FLOORS),
    Job: lambda label: to_builtins(FULL),
    Policy: lambda label: dict(FULL_POLICY),
    Protocol: lambda label: Paper(delta=3).to_plain(),
    ResultShare: lambda label: base64.b64encode(seed(label, 64)).decode(),
    Salt: lambda label: seed(label, 32).hex(),
    Time: lambda label: f"2026-03-02T09:41:{seed(label, 1)[0] % 60:02}Z",
}


def full_example(kind: type[StrictModel]) -> dict[str, Any]:
    """Every field has a value of its own."""
    content: dict[str, Any] = example(inspect.type_info(kind), kind.__name__)
    return content


def least_example(kind: type[StrictModel]) -> dict[str, Any]:
    """Only what has no default is said."""
    info = inspect.type_info(kind)
    assert isinstance(info, inspect.StructType)
    full = full_example(kind)
    required = {field.encode_name for field in info.fields if field.required} | {info.tag_field}
    return {name: value for name, value in full.items() if name in required}


def enum_fields(kind: type[StrictModel]) -> dict[str, list[Any]]:
    info = inspect.type_info(kind)
    assert isinstance(info, inspect.StructType)
    return {
        field.encode_name: [member.value for member in field.type.cls]
        for field in info.fields
        if isinstance(field.type, inspect.EnumType)
    }


def example(info: inspect.Type, label: str, number: int = 1) -> Any:
    """`label` and `number` make values of the same type differ."""
    whole = _WHOLE.get(getattr(info, "cls", type(None)))
    if whole is not None:
        return whole(label)
    match info:
        case inspect.StructType() | inspect.DataclassType():
            fields = {
                field.encode_name: example(field.type, f"{label}.{field.name}", place)
                for place, field in enumerate(info.fields, start=1)
            }
            tag = getattr(info, "tag_field", None)
            return {tag: info.tag, **fields} if tag and isinstance(info, inspect.StructType) else fields
        case inspect.VarTupleType():
            return [example(info.item_type, f"{label}[{place}]", number + place) for place in range(2)]
        case inspect.TupleType():
            return [example(item, f"{label}[{place}]", number) for place, item in enumerate(info.item_types)]
        case inspect.DictType():
            return {
                f"{name}-é": example(info.value_type, f"{label}.{name}", number) for name in ("one", "other")
            }
        case inspect.UnionType():
            return example(main_type(info), label, number)
    return _scalar(info, label, number)


def _scalar(info: inspect.Type, label: str, number: int) -> Any:
    match info:
        case inspect.StrType() if info.pattern is not None:
            return seed(label, PATTERNS[info.pattern]).hex()
        case inspect.StrType():
            return f'"{label}", ü\n'
        case inspect.BytesType():
            return base64.b64encode(seed(label, 20)).decode()
        case inspect.IntType():
            number += (info.ge or 0) + 1000
            return number if info.le is None else min(number, info.le)
        case inspect.FloatType():
            return (info.ge or 0) + number + 1 / 3
        case inspect.BoolType():
            return True
        case inspect.EnumType():
            member: Enum = next(iter(info.cls))
            return member.value
    raise NotImplementedError(f"say what an example of {info} is")


def main_type(info: inspect.Type) -> inspect.Type:
    """Of what may be missing: what it is if it is not. A number or one of some words stays that."""
    if isinstance(info, inspect.Metadata):
        info = info.type
    if isinstance(info, inspect.UnionType):
        present = [one for one in info.types if not isinstance(one, inspect.NoneType)]
        return present[0] if len(present) == 1 else info
    return info
