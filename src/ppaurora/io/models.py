"""Strict models of everything that comes from outside: files that people write, and messages.

A model refuses what it does not know and converts nothing. Types of our own that are no models take
part by two methods: `to_plain` gives what JSON can hold, the class method `from_plain` takes it back and
raises ValueError for what it does not understand.
"""

from __future__ import annotations

import difflib
import re
import threading
from collections.abc import Mapping
from typing import (
    Any,
    Protocol,
    Self,
    TypeVar,
    dataclass_transform,
    get_args,
    get_type_hints,
    overload,
    runtime_checkable,
)

import msgspec

from ppaurora.errors import InputError


class _StrictMeta(msgspec.StructMeta):
    """Every model is frozen, built by keywords, and refuses what it does not know; said here once."""

    def __new__(
        mcls, name: str, bases: tuple[type, ...], namespace: dict[str, Any], **options: Any
    ) -> _StrictMeta:
        options |= {"frozen": True, "kw_only": True, "forbid_unknown_fields": True}
        return super().__new__(mcls, name, bases, namespace, **options)


@dataclass_transform(field_specifiers=(msgspec.field,), kw_only_default=True)
class StrictModel(msgspec.Struct, metaclass=_StrictMeta):
    """A model that refuses what it does not know, and converts nothing."""


@runtime_checkable
class Plain(Protocol):
    """A type of our own inside models."""

    def to_plain(self) -> Any: ...

    @classmethod
    def from_plain(cls, plain: Any) -> Self: ...


M = TypeVar("M")
_TOO_DEEP = "is nested too deeply"
_LEARNT: set[Any] = set()  # types that msgspec has looked into
_LEARNING = threading.Lock()


def to_json(value: Any) -> bytes:
    """Return a value as JSON, on one line."""
    try:
        return msgspec.json.encode(value, enc_hook=_to_plain)
    except OverflowError:
        raise InputError("a number is too large to be written down") from None


def canonical_json(value: Any, indent: int = 0) -> bytes:
    """Return JSON with every field written out, and sorted: what is hashed has one text only."""
    text = msgspec.json.encode(value, enc_hook=_to_plain, order="sorted")
    return msgspec.json.format(text, indent=indent) if indent else text


@overload
def from_json(kind: type[M], raw: bytes | str) -> M: ...
@overload
def from_json(kind: Any, raw: bytes | str) -> Any: ...
def from_json(kind: Any, raw: bytes | str) -> Any:
    """Return a value of this kind; raise ValueError, which quotes no value, if it is not of that kind."""
    _learn(kind)
    try:
        return msgspec.json.decode(raw, type=kind, dec_hook=_from_plain)
    except RecursionError:
        raise ValueError(_TOO_DEEP) from None


def to_builtins(value: Any) -> Any:
    """Dictionaries, lists, texts and numbers."""
    return msgspec.to_builtins(value, enc_hook=_to_plain)


def from_builtins(kind: type[M], content: Any) -> M:
    _learn(kind)
    return msgspec.convert(content, kind, dec_hook=_from_plain)


def _learn(kind: Any) -> None:
    """Have msgspec look into a type before it is read: two threads that do so at once would crash."""
    if kind not in _LEARNT:
        with _LEARNING:
            msgspec.json.Decoder(kind, dec_hook=_from_plain)
            _LEARNT.add(kind)


def _to_plain(value: Any) -> Any:
    if isinstance(value, Plain):
        return value.to_plain()
    raise NotImplementedError(f"{type(value).__name__} is no part of a model")


def _from_plain(kind: type[Any], plain: Any) -> Any:
    return kind.from_plain(plain)


def checked(kind: type[M], content: Any, source: str = "") -> M:
    """Return what a person wrote as a model, or raise an error that names the place and what to do."""
    try:
        return from_builtins(kind, content)
    except msgspec.ValidationError as error:
        place, problem = _locate(kind, content, error)
        raise InputError(": ".join(filter(None, (source, place, problem)))) from None
    except RecursionError:
        raise InputError(": ".join(filter(None, (source, _TOO_DEEP)))) from None
    except UnicodeError:
        raise InputError(": ".join(filter(None, (source, "has half a letter in a text")))) from None


_UNKNOWN = re.compile(r"Object contains unknown field `(.*)`")
_MISSING = re.compile(r"Object missing required field `(.*)`")


def _locate(kind: Any, content: Any, error: msgspec.ValidationError) -> tuple[str, str]:
    """Return the place, with dots, and the problem."""
    message, _, path = str(error).partition(" - at `")
    before, _, path = path.partition("$")
    steps = re.findall(r"\.?([^.\[\]`]+|\[[^\]]*\])", path)
    if before:  # "key in": it is the name of an entry that is refused
        steps.append("[...]")
    place: list[str] = []
    for step in steps:
        if _in_words(kind):  # also of what is inside
            return _joined(place), f"expected {_in_words(kind)}"
        if step == "[...]" and isinstance(content, Mapping):
            # An entry of a dictionary, which the library does not name: the first that is refused.
            entry, more = _refused_entry(kind, content)
            return _joined([*place, entry, *([more[0]] if more[0] else [])]), more[1]
        name = step.strip("[]")
        kind = _inner(kind, name)
        if isinstance(content, list | tuple):
            content = content[int(name)]
            place.append(f"entry {int(name) + 1}")
        else:
            content = content.get(name)
            place.append(name)
    return _told(kind, place, message)


def _refused_entry(kind: Any, content: Mapping[str, Any]) -> tuple[str, tuple[str, str]]:
    key_kind, value_kind = get_args(kind)
    for key, value in content.items():
        for part, of_kind in ((key, key_kind), (value, value_kind)):
            try:
                from_builtins(of_kind, part)
            except msgspec.ValidationError as error:
                return key, _locate(of_kind, part, error)
    raise AssertionError("every entry is taken by itself")


def _told(kind: Any, place: list[str], message: str) -> tuple[str, str]:
    unknown, missing = _UNKNOWN.fullmatch(message), _MISSING.fullmatch(message)
    if unknown:
        hint = _nearest(unknown[1], list(getattr(kind, "__struct_fields__", ())))
        return _joined([*place, unknown[1]]), f"there is no such setting; {hint}"
    if missing:
        expected = _in_words(_inner(kind, missing[1]))
        return _joined([*place, missing[1]]), f"is missing; expected {expected}" if expected else "is missing"
    if _in_words(kind):
        return _joined(place), f"expected {_in_words(kind)}"
    message = message.replace("`", "")
    return _joined(place), message[:1].lower() + message[1:]


def _in_words(kind: Any) -> str:
    """Return what is expected, where a type says it in words because its rule is hard to read."""
    said = (meta.extra.get("expected", "") for meta in getattr(kind, "__metadata__", ()) if meta.extra)
    return next(said, "")


def _joined(place: list[str]) -> str:
    """Return the way to a value: names with dots between, and entries of lists, counted from 1."""
    way, link = "", ""
    for step in place:
        is_entry = step.startswith("entry ")
        way += (", " if is_entry and way else link) + step
        link = ", " if is_entry else "."
    return way


def _nearest(key: str, known: list[str]) -> str:
    close = difflib.get_close_matches(key, known, n=1, cutoff=0.5)
    return f"did you mean '{close[0]}'?" if close else f"there are: {', '.join(known) or 'none'}"


def _inner(kind: Any, name: str) -> Any:
    """Return the type of a model's field, or of an element of a tuple."""
    hints = get_type_hints(kind, include_extras=True) if isinstance(kind, type) else {}
    inner = hints.get(name, next(iter(get_args(kind)), Any))
    parts = get_args(get_args(inner)[0] if hasattr(inner, "__metadata__") else inner)
    models = [part for part in parts if hasattr(part, "__struct_fields__")]
    return models[0] if models and type(None) in parts else inner
