"""Strict models: what they do not know is refused with its place, and nothing is converted."""

from __future__ import annotations

import json
from typing import Annotated, Any, Self

import msgspec
import pytest
from msgspec import Meta

from ppaurora.errors import InputError
from ppaurora.io.models import (
    StrictModel,
    canonical_json,
    checked,
    from_builtins,
    from_json,
    to_builtins,
    to_json,
)


class Colour:
    """A type of our own that is no model."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Colour) and other.name == self.name

    def __hash__(self) -> int:
        return hash(self.name)

    def to_plain(self) -> str:
        return self.name

    @classmethod
    def from_plain(cls, plain: Any) -> Self:
        if plain not in ("red", "blue"):
            raise ValueError("a colour is red or blue")
        return cls(plain)


class Wheel(StrictModel):
    spokes: int
    label: str = ""


class Cart(StrictModel):
    wheels: tuple[Wheel, ...] = ()
    spare: Wheel | None = None
    parts: dict[str, Wheel] = msgspec.field(default_factory=dict)
    prices: dict[Annotated[str, Meta(pattern="^[a-z]+$")], int] = msgspec.field(default_factory=dict)
    loads: dict[str, dict[str, Wheel]] = msgspec.field(default_factory=dict)
    heaps: tuple[dict[str, Wheel], ...] = ()
    width: Annotated[int, Meta(ge=1, le=9)] = 1
    weight: float = 1.0
    sold: bool = False
    colour: Colour = Colour("red")


def refusal(content: Any, source: str = "") -> str:
    with pytest.raises(InputError) as caught:
        checked(Cart, content, source)
    return str(caught.value)


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ({"wheel": []}, "wheel: there is no such setting; did you mean 'wheels'?"),
        (
            {"spare": {"spokes": 1, "lable": "x"}},
            "spare.lable: there is no such setting; did you mean 'label'?",
        ),
        ({"spare": {"spokes": 1, "zzz": 0}}, "spare.zzz: there is no such setting; there are: spokes, label"),
        (
            {"parts": {"left": {"spokes": 1}, "right": {"spoke": 1}}},
            "parts.right.spoke: there is no such setting; did you mean 'spokes'?",
        ),
        (
            {"wheels": [{"spokes": 1}, {"spokes": 2, "labels": "x"}]},
            "wheels, entry 2, labels: there is no such setting; did you mean 'label'?",
        ),
        (
            {"loads": {"top": {"a": {"spokes": 1}, "b": {"spook": 1}}}},
            "loads.top.b.spook: there is no such setting; did you mean 'spokes'?",
        ),
        (
            {"heaps": [{"a": {"spokes": 1}}, {"b": {"spokes": 1, "labl": ""}}]},
            "heaps, entry 2, b.labl: there is no such setting; did you mean 'label'?",
        ),
    ],
)
def test_an_unknown_field_is_refused_with_its_place_and_the_nearest_name(content: Any, says: str) -> None:
    assert refusal(content) == says


@pytest.mark.parametrize(
    ("content", "place"),
    [
        ({"spare": {}}, "spare.spokes"),
        ({"wheels": [{"spokes": 1}, {"label": "x"}]}, "wheels, entry 2, spokes"),
        ({"parts": {"left": {"spokes": 1}, "right": {}}}, "parts.right.spokes"),
        ({"loads": {"top": {}, "bottom": {"a": {}}}}, "loads.bottom.a.spokes"),
    ],
)
def test_a_missing_field_is_named_with_its_place(content: Any, place: str) -> None:
    assert refusal(content) == f"{place}: is missing"


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (5, "expected object, got int"),
        ([], "expected object, got array"),
        ({"wheels": {}}, "wheels: expected array, got object"),
        ({"wheels": [5]}, "wheels, entry 1: expected object, got int"),
        ({"parts": {"left": 5}}, "parts.left: expected object, got int"),
        ({"parts": {"left": {"spokes": 1, "label": None}}}, "parts.left.label: expected str, got null"),
        ({"prices": {"wood": 1, "Iron": 2}}, "prices.Iron: expected str matching regex '^[a-z]+$'"),
        ({"prices": {"wood": "1", "Iron": 2}}, "prices.wood: expected int, got str"),
        ({"width": 0}, "width: expected int >= 1"),
        ({"width": 10}, "width: expected int <= 9"),
        ({"colour": "green"}, "colour: a colour is red or blue"),
        ({"colour": 5}, "colour: a colour is red or blue"),
    ],
)
def test_what_does_not_fit_is_refused_with_its_place(content: Any, says: str) -> None:
    assert refusal(content) == says


NOT_CONVERTED = [
    ("width", "1"),
    ("width", 1.0),
    ("width", True),
    ("width", None),
    ("weight", "1.5"),
    ("weight", True),
    ("sold", 0),
    ("sold", "false"),
    ("wheels", None),
]


@pytest.mark.parametrize(("name", "value"), NOT_CONVERTED)
def test_nothing_is_converted(name: str, value: Any) -> None:
    assert refusal({name: value}).startswith(f"{name}: expected ")
    with pytest.raises(ValueError, match=f"at `\\$.{name}`"):
        from_builtins(Cart, {name: value})
    with pytest.raises(ValueError, match=f"at `\\$.{name}`"):
        from_json(Cart, json.dumps({name: value}))


def test_a_whole_number_is_a_number() -> None:
    """As people write it, and as JSON has it: nothing is lost."""
    cart = checked(Cart, {"weight": 2})
    assert cart.weight == 2.0
    assert isinstance(cart.weight, float)


def test_the_source_comes_first() -> None:
    assert refusal({"width": 0}, "cart.toml") == "cart.toml: width: expected int >= 1"
    assert refusal(5, "cart.toml") == "cart.toml: expected object, got int"


CART = Cart(
    wheels=(Wheel(spokes=3), Wheel(spokes=4, label="rear")),
    parts={"left": Wheel(spokes=5)},
    loads={"top": {"a": Wheel(spokes=6)}},
    weight=0.1,
    colour=Colour("blue"),
)


def test_models_survive_json_and_builtins() -> None:
    assert from_json(Cart, to_json(CART)) == CART
    assert from_builtins(Cart, to_builtins(CART)) == CART
    assert checked(Cart, json.loads(canonical_json(CART))) == CART
    assert to_builtins(CART)["colour"] == "blue"
    assert b"\n" not in to_json(CART)


def test_canonical_json_writes_everything_out_and_sorts_it() -> None:
    plain = json.loads(canonical_json(CART))
    assert set(plain) == set(Cart.__struct_fields__)
    assert canonical_json(CART) == json.dumps(plain, sort_keys=True, separators=(",", ":")).encode()
    assert canonical_json(CART, indent=2) == json.dumps(plain, sort_keys=True, indent=2).encode()
    one, other = ({"b": Wheel(spokes=1), "a": Wheel(spokes=2)}, {"a": Wheel(spokes=2), "b": Wheel(spokes=1)})
    assert canonical_json(Cart(parts=one)) == canonical_json(Cart(parts=other))


@pytest.mark.parametrize("raw", [b"", b"{", b"nonsense", b"[]", b'{"width": 1} {}', b"\xff", b"null"])
def test_what_is_no_json_of_the_model_is_a_value_error(raw: bytes) -> None:
    with pytest.raises(ValueError, match=r"."):
        from_json(Cart, raw)


def test_a_model_does_not_change_and_is_built_by_keywords() -> None:
    with pytest.raises(AttributeError):
        CART.width = 2
    with pytest.raises(TypeError):
        Wheel(3)  # type: ignore[call-arg]
    with pytest.raises(TypeError):
        Wheel(spokes=3, colour="red")  # type: ignore[call-arg]


def test_only_models_and_types_of_our_own_are_written() -> None:
    for write in (to_json, canonical_json, to_builtins):
        with pytest.raises(NotImplementedError, match="object is no part of a model"):
            write({"it": object()})


def test_a_kind_of_message_is_told_by_its_tag() -> None:
    class Greeting(StrictModel, tag_field="say", tag="hello"):
        name: str

    class Farewell(StrictModel, tag_field="say", tag="bye"):
        pass

    for message in (Greeting(name="Ada"), Farewell()):
        assert from_json(Greeting | Farewell, to_json(message)) == message
    with pytest.raises(msgspec.ValidationError):
        from_json(Greeting | Farewell, b'{"say":"nothing"}')
    with pytest.raises(msgspec.ValidationError):
        from_json(Greeting | Farewell, b'{"say":"bye","name":"Ada"}')
