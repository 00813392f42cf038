"""process.json, owners.json, nodes.json: every message of a module, derived from its type.

A new message or field needs nothing here: examples, and what is wrong with them, follow from the types.
"""

from __future__ import annotations

import json
from functools import partial
from types import ModuleType, UnionType
from typing import Any, get_args

from ppaurora.io.models import StrictModel, from_builtins, from_json, to_builtins, to_json
from ppaurora.messages import nodes, owners, process, workers
from tests.messages.vectors.examples import enum_fields, full_example, least_example
from tests.messages.vectors.faults import Fault, faults
from tests.messages.vectors.file import Bad, Entry, VectorFile
from tests.messages.vectors.spoiling import with_value

_COMMON = """
`line` is the message as JSON, with its fields in the order in which it is sent; who reads takes them in
any order. A field that has a default may be left out; no other may, and none that is not known may be
added. The values are made up. `constants` are what else both sides must have alike.
"""
PROCESS_WHAT = """
Messages between a server process and the process that started it, a line each: the task on its
standard input, its events on its standard output.
"""
OWNERS_WHAT = """
Messages between owners and nodes over HTTPS, and the receipt that an owner keeps.
"""
NODES_WHAT = """
Questions between nodes and answers to them, a line each.
"""
WORKERS_WHAT = """
What a server process with several workers is told beside its task, a line: where everybody's workers are.
Nodes tell each other the same.
"""


def message_types(module: ModuleType) -> dict[str, type[StrictModel]]:
    """Those of this module by name, without those that only others derive from."""
    found = {
        name: kind
        for name, kind in vars(module).items()
        if isinstance(kind, type) and issubclass(kind, StrictModel) and kind.__module__ == module.__name__
    }
    return {
        name: kind
        for name, kind in found.items()
        if not any(kind in other.__bases__ for other in found.values())
    }


def reading_type(module: ModuleType, kind: type[StrictModel]) -> Any:
    """What a reader asks for: any of a kind of messages, if it cannot know which will come."""
    unions = [value for value in vars(module).values() if isinstance(value, UnionType)]
    return next((union for union in unions if kind in get_args(union)), kind)


def examples(kind: type[StrictModel]) -> dict[str, StrictModel]:
    """The fullest, the one with all defaults, and one for every value of an enumeration."""
    full = full_example(kind)
    found = {"full": full, "defaults": least_example(kind)}
    for name, members in enum_fields(kind).items():
        found |= {f"{name} {member}": {**full, name: member} for member in members}
    distinct: dict[bytes, tuple[str, StrictModel]] = {}
    for name, content in found.items():
        message = from_builtins(kind, content)
        distinct.setdefault(to_json(message), (name, message))
    return dict(distinct.values())


def _constants(module: ModuleType) -> dict[str, str]:
    return {name: value for name, value in vars(module).items() if isinstance(value, str) and name.isupper()}


def make(module: ModuleType) -> list[Entry]:
    entries: list[Entry] = [
        {"name": f"{name}, {which}", "type": name, "line": to_json(message).decode()}
        for name, kind in message_types(module).items()
        for which, message in examples(kind).items()
    ]
    constants = _constants(module)
    return [*entries, {"name": "constants", "constants": constants}] if constants else entries


def check(module: ModuleType, vector: Entry) -> None:
    if "constants" in vector:
        assert _constants(module) == vector["constants"]
        return
    kind = message_types(module)[vector["type"]]
    message = from_json(kind, vector["line"])
    assert to_json(message).decode() == vector["line"]
    read = from_json(reading_type(module, kind), vector["line"])
    assert type(read) is kind
    assert to_builtins(read) == to_builtins(message) == to_builtins(from_builtins(kind, to_builtins(message)))


def take(module: ModuleType, bad: Entry) -> object:
    return from_json(reading_type(module, message_types(module)[bad["type"]]), bad["line"])


def _line(content: Any) -> str:
    return json.dumps(content, ensure_ascii=False, separators=(",", ":"))


def _bad_lines(line: str) -> list[Fault]:
    """Lines that are no message of any type."""
    return [
        Fault("cut off", "truncated", line[:-1]),
        Fault("more after its end", "trailing", line + "}"),
        Fault("nothing", "truncated", ""),
        Fault("a list", "Expected `object`", "[]"),
        Fault("no JSON", "malformed", line.replace('"', "'")),
    ]


def spoil(module: ModuleType) -> list[Bad]:
    refused = []
    for name, kind in message_types(module).items():
        content = json.loads(to_json(examples(kind)["full"]))
        found = [Fault(fault.why, fault.says, _line(fault.content)) for fault in faults(kind, content)]
        tag = kind.__struct_config__.tag_field
        if tag is not None:
            found.append(
                Fault("of an unknown kind", "Invalid value", _line(with_value(content, (tag,), "x")))
            )
        refused += [
            Bad(f"{name}: {fault.why}", ValueError, fault.says, {"type": name, "line": fault.content})
            for fault in (*found, *_bad_lines(_line(content)))
        ]
    return refused


def _file(name: str, what: str, module: ModuleType) -> VectorFile:
    return VectorFile(
        name,
        what,
        partial(make, module),
        partial(spoil, module),
        partial(check, module),
        partial(take, module),
    )


MODULES = (process, owners, nodes, workers)
FILES = (
    _file("process", PROCESS_WHAT + _COMMON, process),
    _file("owners", OWNERS_WHAT + _COMMON, owners),
    _file("nodes", NODES_WHAT + _COMMON, nodes),
    _file("workers", WORKERS_WHAT + _COMMON, workers),
)
