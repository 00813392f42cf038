"""Every message survives the wire, whatever is in it; and none is told apart from another by luck."""

from __future__ import annotations

from types import ModuleType

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ppaurora.io.models import StrictModel, canonical_json, from_builtins, from_json, to_builtins, to_json
from ppaurora.sharing.stages import ResultShare
from tests.messages.strategies import messages
from tests.messages.vectors.typed import MODULES, message_types, reading_type

KINDS = [(module, kind) for module in MODULES for kind in message_types(module).values()]
each_kind = pytest.mark.parametrize(("module", "kind"), KINDS, ids=[kind.__name__ for _, kind in KINDS])


def same(one: object, other: object) -> bool:
    """Equal in type and value, parts of results word by word."""
    if type(one) is not type(other):
        return False
    if isinstance(one, ResultShare) and isinstance(other, ResultShare):
        return np.array_equal(one.words, other.words)
    if isinstance(one, StrictModel):
        return all(same(getattr(one, name), getattr(other, name)) for name in one.__struct_fields__)
    if isinstance(one, tuple) and isinstance(other, tuple):
        return len(one) == len(other) and all(map(same, one, other))
    return one == other


@each_kind
@settings(max_examples=10, deadline=None)
@given(data=st.data())
def test_a_message_survives_the_wire(
    module: ModuleType, kind: type[StrictModel], data: st.DataObject
) -> None:
    message = data.draw(messages(kind))
    line = to_json(message)
    assert b"\n" not in line, "a message is one line"
    read = from_json(reading_type(module, kind), line)
    assert same(read, message)
    assert to_json(read) == line
    assert same(from_json(kind, canonical_json(message)), message), "the order of fields does not matter"
    assert same(from_builtins(kind, to_builtins(message)), message)


def test_messages_that_say_what_they_are_are_among_those_that_a_reader_takes() -> None:
    for module, kind in KINDS:
        told_apart = kind.__struct_config__.tag_field is not None
        assert told_apart == (reading_type(module, kind) is not kind), kind


def test_messages_that_differ_are_told_apart() -> None:
    """The control of `same`."""
    one, other = (ResultShare(np.array([[number], [0]], dtype=np.uint64)) for number in (1, 2))
    assert same(one, ResultShare(one.words.copy()))
    assert not same(one, other)
    assert not same((one,), (other,))
    assert not same((one,), (one, one))
    assert not same(1, True)
