"""Everything that can be wrong with one field of a message, derived from its type."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from msgspec import inspect

from ppaurora.messages.workers import HOST_ALONE
from ppaurora.policy.rules import Floors
from tests.messages.vectors.examples import main_type
from tests.messages.vectors.spoiling import MISSING, Path, with_value

_EXPECTED = "Expected `"
_NEVER_ALONE = (Floors,)  # no message, and in no other file of vectors


@dataclass(frozen=True)
class Fault:
    why: str
    says: str
    content: Any


def faults(kind: type, content: Any) -> Iterator[Fault]:
    """The good content with one thing wrong in it, in every place.

    A model inside is only given a field too many, if what else can be wrong is said where it stands alone.
    """
    yield _surplus(content, ())
    yield from _of_fields(inspect.type_info(kind), content, ())


def _surplus(whole: Any, path: Path) -> Fault:
    inside = f" in {_shown(path)}" if path else ""
    return Fault(f"an unknown field{inside}", "unknown field", with_value(whole, (*path, "surplus"), 0))


def _of_fields(info: inspect.Type, whole: Any, path: Path) -> Iterator[Fault]:
    assert isinstance(info, inspect.StructType | inspect.DataclassType)
    for field in info.fields:
        place = (*path, field.encode_name)
        if field.required:
            yield Fault(
                f"{_shown(place)} is missing", "missing required field", with_value(whole, place, MISSING)
            )
        yield from _of_value(main_type(field.type), whole, place)


def _of_value(info: inspect.Type, whole: Any, path: Path) -> Iterator[Fault]:
    for why, says, value in _wrong_values(info, _value_at(whole, path)):
        yield Fault(f"{_shown(path)} is {why}", says, with_value(whole, path, value))
    match info:
        case inspect.StructType():
            yield _surplus(whole, path)
            if info.cls in _NEVER_ALONE:
                yield from _of_fields(info, whole, path)
        case inspect.DataclassType():
            yield from _of_fields(info, whole, path)
        case inspect.VarTupleType():
            yield from _of_value(info.item_type, whole, (*path, 0))
        case inspect.TupleType():
            yield Fault(f"{_shown(path)} is too short", "of length", with_value(whole, path, []))
            for place, item in enumerate(info.item_types):
                yield from _of_value(item, whole, (*path, place))
        case inspect.DictType():
            yield from _of_value(info.value_type, whole, (*path, next(iter(_value_at(whole, path)))))


def _wrong_values(info: inspect.Type, good: Any) -> Iterator[tuple[str, str, Any]]:
    """How it is wrong, what the error says, and the value."""
    match info:
        case inspect.StrType() if info.pattern == HOST_ALONE:
            yield "a number", _EXPECTED, 7
            yield "nothing", "regex", ""
            yield "two words", "regex", "a b"
            yield "followed by a line break", "regex", good + "\n"
            yield "too long", "of length", "a" * 256
        case inspect.StrType() if info.pattern is not None:
            yield from _wrong_digests(good)
        case inspect.StrType():
            yield "a number", _EXPECTED, 7
        case inspect.IntType():
            yield "a text", _EXPECTED, str(good)
            yield "a fraction", _EXPECTED, good + 0.5
            yield "a truth value", _EXPECTED, True
            if info.ge is not None:
                yield "too small", f">= {info.ge}", info.ge - 1
            if info.le is not None:
                yield "too large", f"<= {info.le}", info.le + 1
        case inspect.FloatType():
            yield "a text", _EXPECTED, str(good)
            if info.gt is not None:
                yield "too small", f"> {info.gt}", info.gt
            if info.le is not None:
                yield "too large", f"<= {info.le}", info.le + 0.5
        case inspect.LiteralType():
            yield "a number", _EXPECTED, 7
            yield "not among the words that there are", "Invalid enum value", "perhaps"
        case inspect.UnionType():
            yield from _wrong_numbers_or_words(info)
        case inspect.BoolType():
            yield "a number", _EXPECTED, 1
        case inspect.BytesType():
            yield "not base64", "Invalid base64", "?"
        case inspect.EnumType():
            yield "not among the words that there are", "Invalid enum value", "perhaps"
        case inspect.CustomType():
            yield "a number", "", 7
        case inspect.VarTupleType() | inspect.TupleType():
            yield "no list", _EXPECTED, {}
        case _:
            yield "no object", _EXPECTED, []


def _wrong_numbers_or_words(info: inspect.UnionType) -> Iterator[tuple[str, str, Any]]:
    (number,) = [one for one in info.types if isinstance(one, inspect.IntType)]
    yield "a fraction", _EXPECTED, 1.5
    yield "a truth value", _EXPECTED, True
    yield "not among the words that there are", "Invalid enum value", "perhaps"
    if number.ge is not None:
        yield "too small", f">= {number.ge}", number.ge - 1
    if number.le is not None:
        yield "too large", f"<= {number.le}", number.le + 1


def _wrong_digests(good: str) -> Iterator[tuple[str, str, Any]]:
    yield "a number", _EXPECTED, 7
    yield "not hexadecimal", "regex", "g" + good[1:]
    yield "in capitals", "regex", good.upper()
    yield "a digit too short", "regex", good[:-1]
    yield "a digit too long", "of length", good + "0"
    yield "followed by a line break", "of length", good + "\n"


def _value_at(whole: Any, path: Path) -> Any:
    for step in path:
        whole = whole[step]
    return whole


def _shown(path: Path) -> str:
    return ".".join(map(str, path))
