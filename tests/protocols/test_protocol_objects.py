"""Protocols as objects: their parameters, how they are written and read, and what they say of themselves."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import ppaurora
from ppaurora.agreement.terms import Job, Terms
from ppaurora.data.grid import Grid
from ppaurora.errors import InputError
from ppaurora.io.models import from_json, to_json
from ppaurora.metrics import metrics_named
from ppaurora.policy.rules import Policy
from ppaurora.protocols import (
    DEFAULT_PROTOCOL,
    Fast,
    GridProtocol,
    Paper,
    Protocol,
    find_protocol,
    protocols,
)
from ppaurora.protocols.security import (
    NOTHING,
    ONE_CLASS,
    ONE_DEVIATES,
    RELEASED_METRICS,
    SUPPRESSION,
    UNFIT_LIST,
    UNFIT_TABLE,
    Adversary,
    Corruption,
)
from ppaurora.suites.role import Role
from tests.support.evaluations import GOOD

ALL: list[Protocol] = [
    Fast(),
    Fast(key_bits=32),
    Fast(key_bits=64),
    Fast(grid=Grid(decimals=3)),
    GridProtocol(),
    GridProtocol(decimals=2),
    GridProtocol(low=-40.0, high=40.0, decimals=1),
    Paper(),
    Paper(delta=3),
    Paper(delta=101),
]
each_one = pytest.mark.parametrize("protocol", ALL, ids=str)
_TOO_MANY = (
    "decimals: a grid has at most 1,048,576 values; take fewer decimals, or a low and a high that are closer"
)
OTHERS = [
    (kind, parameter, owner)
    for kind in protocols().values()
    for owner in protocols().values()
    for parameter in owner.Parameters.__struct_fields__
    if parameter not in kind.Parameters.__struct_fields__
]


def test_which_there_are() -> None:
    assert protocols() == {"fast": Fast, "grid": GridProtocol, "paper": Paper}
    assert next(iter(protocols())) == DEFAULT_PROTOCOL
    assert DEFAULT_PROTOCOL == "fast"
    for name, kind in protocols().items():
        assert find_protocol(name) is kind
    for unknown in ("quick", "", "Fast", None, 5, ["fast"]):
        with pytest.raises(InputError, match=r"unknown protocol '.*'; there are: fast, grid, paper"):
            find_protocol(unknown)


def test_every_protocol_has_a_parameter_that_others_lack() -> None:
    """So the tests below are about something."""
    of_grid = ("low", "high", "decimals")
    assert {(kind.name, parameter) for kind, parameter, _ in OTHERS} == {
        *(("fast", parameter) for parameter in ("delta", *of_grid)),
        *(("grid", parameter) for parameter in ("delta", "key_bits", "grid")),
        *(("paper", parameter) for parameter in ("key_bits", "grid", *of_grid)),
    }


@pytest.mark.parametrize(("kind", "parameter", "owner"), OTHERS)
@pytest.mark.parametrize("value", [1, 3, 32, 64, None, "1"])
def test_a_parameter_of_another_protocol_is_refused_whatever_its_value(
    kind: type[Protocol], parameter: str, owner: type[Protocol], value: Any
) -> None:
    says = rf"^{parameter} applies to the protocol '{owner.name}' only; leave it out$"
    with pytest.raises(InputError, match=says):
        kind(**{parameter: value})
    name: Any = kind.name
    with pytest.raises(InputError, match=says):
        ppaurora.evaluate([GOOD, GOOD], protocol=name, **{parameter: value})
    with pytest.raises(ValueError, match=rf"^{parameter}: there is no such setting; "):
        Protocol.from_plain({"name": kind.name, parameter: value})


@pytest.mark.parametrize("kind", protocols().values())
def test_a_parameter_that_no_protocol_has_is_refused(kind: type[Protocol]) -> None:
    with pytest.raises(
        InputError, match=rf"^nonsense is not a parameter of any protocol; those of '{kind.name}': "
    ):
        kind(nonsense=1)
    with pytest.raises(ValueError, match=r"^nonsense: there is no such setting; "):
        Protocol.from_plain({"name": kind.name, "nonsense": 1})


def test_a_parameter_that_is_nearly_right_is_recognised() -> None:
    with pytest.raises(InputError, match=r"^key_bit: there is no such setting; did you mean 'key_bits'\?$"):
        Protocol.from_plain({"name": "fast", "key_bit": 64})


@each_one
def test_a_protocol_survives_its_plain_form(protocol: Protocol) -> None:
    plain = protocol.to_plain()
    assert plain == {"name": protocol.name, **protocol.settings()}
    back = Protocol.from_plain(plain)
    assert type(back) is type(protocol)
    assert back == protocol
    assert hash(back) == hash(protocol)
    assert plain == {"name": protocol.name, **protocol.settings()}, "reading changed what was read"


def terms_of(protocol: Protocol) -> Terms:
    return Terms(metrics=metrics_named("auroc"), protocol=protocol, policy=Policy.exact())


@each_one
def test_a_protocol_survives_inside_of_a_model(protocol: Protocol) -> None:
    job = Job(terms=terms_of(protocol), sizes=(3, 4))
    back = from_json(Job, to_json(job))
    assert back == job
    assert back.hash() == job.hash()
    assert type(back.terms.protocol) is type(protocol)


def test_what_is_left_out_is_the_default() -> None:
    assert Protocol.from_plain({"name": "fast"}) == Fast() == Fast(key_bits=64)
    assert Protocol.from_plain({"name": "paper"}) == Paper() == Paper(delta=1)
    assert Protocol.from_plain({"name": "grid"}) == GridProtocol() == GridProtocol(low=0, high=1, decimals=4)
    assert "grid" not in Fast().to_plain(), "a parameter that is left out is not written"
    assert Protocol.from_plain({"name": "fast", "grid": None}) == Fast() == Fast(grid=None)


def test_jobs_that_differ_in_the_protocol_alone_have_different_hashes() -> None:
    different = set(ALL)
    assert len(different) == len(ALL) - 1, "two of them are the same, with and without the default"
    jobs = [Job(terms=terms_of(protocol), sizes=(3, 4)) for protocol in different]
    assert len({job.hash() for job in jobs}) == len(different)


@pytest.mark.parametrize(
    ("plain", "says"),
    [
        ("fast", "a protocol is a table with a name and its parameters"),
        (None, "a protocol is a table with a name and its parameters"),
        (["fast"], "a protocol is a table with a name and its parameters"),
        ({}, "unknown protocol 'None'; there are: fast, grid, paper"),
        ({"key_bits": 64}, "unknown protocol 'None'; there are: fast, grid, paper"),
        ({"name": "quick"}, "unknown protocol 'quick'; there are: fast, grid, paper"),
        ({"name": 5}, "unknown protocol '5'; there are: fast, grid, paper"),
        ({"name": "fast", "key_bits": "64"}, "key_bits: expected int, got str"),
        ({"name": "fast", "key_bits": 64.0}, "key_bits: expected int, got float"),
        ({"name": "fast", "key_bits": True}, "key_bits: expected int, got bool"),
        ({"name": "fast", "key_bits": None}, "key_bits: expected int, got null"),
        ({"name": "fast", "key_bits": 48}, "key_bits: keys have 32 or 64 bits, not 48"),
        ({"name": "fast", "grid": {"low": 1.0}}, "grid: high: must be above low, which is 1"),
        (
            {"name": "fast", "grid": {"steps": 3}},
            "grid.steps: there is no such setting; there are: low, high, decimals",
        ),
        ({"name": "fast", "grid": 3}, "grid: expected object | null, got int"),
        ({"name": "grid", "decimals": "3"}, "decimals: expected a whole number from 0 to 9"),
        ({"name": "grid", "decimals": 10}, "decimals: expected a whole number from 0 to 9"),
        ({"name": "grid", "low": "0"}, "low: expected float, got str"),
        (
            {"name": "grid", "low": 0.12345},
            "low: must have at most as many decimals as scores: 4; shorten it, or take more decimals",
        ),
        ({"name": "grid", "low": 2.0}, "high: must be above low, which is 2"),
        ({"name": "grid", "high": 105.0}, _TOO_MANY),
        ({"name": "paper", "delta": "3"}, "delta: expected int, got str"),
        ({"name": "paper", "delta": 3.0}, "delta: expected int, got float"),
        ({"name": "paper", "delta": True}, "delta: expected int, got bool"),
        ({"name": "paper", "delta": None}, "delta: expected int, got null"),
        ({"name": "paper", "delta": 2}, "delta must be an odd number, 1 or larger, not 2"),
        ({"name": "paper", "delta": -1}, "delta must be an odd number, 1 or larger, not -1"),
    ],
)
def test_what_is_no_plain_form_is_refused_and_nothing_is_converted(plain: Any, says: str) -> None:
    with pytest.raises(ValueError) as caught:  # noqa: PT011 (the whole message is compared)
        Protocol.from_plain(plain)
    assert str(caught.value) == says


@pytest.mark.parametrize("value", [32, np.int64(32), np.uint8(32)])
def test_whole_numbers_of_any_type_are_taken_from_callers(value: Any) -> None:
    protocol = Fast(key_bits=value)
    assert protocol == Fast(key_bits=32)
    assert type(protocol.settings()["key_bits"]) is int


@pytest.mark.parametrize("value", [2, 2.0, np.float32(2), np.int8(2), Fraction(2)])
def test_numbers_of_any_type_are_taken_for_a_range(value: Any) -> None:
    protocol = GridProtocol(high=value)
    assert protocol == GridProtocol(high=2.0)
    assert type(protocol.settings()["high"]) is float


def test_a_grid_may_be_given_in_any_form() -> None:
    wanted = Fast(grid=Grid(low=0.0, high=2.0, decimals=1))
    assert Fast(grid={"high": 2, "decimals": np.int64(1)}) == wanted
    assert Fast(grid={"low": np.float64(0), "high": 2.0, "decimals": 1}) == wanted
    assert wanted.settings()["grid"] == {"low": 0.0, "high": 2.0, "decimals": 1}
    assert isinstance(wanted.grid, Grid)


@pytest.mark.parametrize(
    ("parameters", "says"),
    [
        ({"decimals": 2.5}, "decimals: a whole number from 0 to 9, not 2.5"),
        ({"decimals": None}, "decimals: a whole number from 0 to 9, not None"),
        ({"decimals": "2"}, "decimals: a whole number from 0 to 9, not '2'"),
        ({"decimals": 10}, "decimals: a whole number from 0 to 9, not 10"),
        ({"low": None}, "low: the lowest score, a number, not None"),
        ({"high": [1]}, "high: the highest score, a number, not [1]"),
        ({"high": float("inf")}, "high: must be a finite number"),
        ({"low": 1}, "high: must be above low, which is 1"),
        ({"high": 105}, _TOO_MANY),
    ],
)
def test_what_is_no_grid_is_refused_in_words(parameters: dict[str, Any], says: str) -> None:
    with pytest.raises(InputError) as caught:
        GridProtocol(**parameters)
    assert str(caught.value) == says


@each_one
def test_a_protocol_says_for_every_kind_of_party_what_it_learns(protocol: Protocol) -> None:
    """The words are derived from values: nothing is learnt exactly where they say `nothing`."""
    disclosed = protocol.discloses(Policy())
    assert set(disclosed) == {"each proxy", "the helper", "the owners"}
    assert all(disclosed.values())
    assert (disclosed["each proxy"] == "nothing") == (protocol.name != "paper" or protocol == Paper(delta=1))
    assert (disclosed["the helper"] == "nothing") == (protocol.name != "paper")
    for server in Role:
        party = "the helper" if server.is_helper else "each proxy"
        assert (disclosed[party] == "nothing") == (protocol.learns(server) == NOTHING)


@pytest.mark.parametrize("protocol", [Fast(), GridProtocol()], ids=str)
def test_owners_of_a_private_study_learn_nothing_from_what_is_withheld(protocol: Protocol) -> None:
    """Nothing is: noise is there whatever the counts are, and one class is nothing special."""
    learnt = protocol.owners_learn(Policy.private())
    assert set(protocol.owners_learn(Policy())) - set(learnt) == {SUPPRESSION, ONE_CLASS}
    assert RELEASED_METRICS in learnt
    assert "suppressed" not in protocol.discloses(Policy.private())["the owners"]


def test_owners_learn_of_each_protocol_whose_submission_does_not_fit() -> None:
    unfit = {name: set(kind().owners_learn(Policy())) for name, kind in protocols().items()}
    assert UNFIT_LIST in unfit["fast"] - unfit["grid"]
    assert UNFIT_TABLE in unfit["grid"] - unfit["fast"]
    assert not {UNFIT_LIST, UNFIT_TABLE} & unfit["paper"]


@each_one
def test_a_protocol_says_which_corruption_it_withstands(protocol: Protocol) -> None:
    """SECURITY.md: one server that follows the protocol learns nothing more; none may deviate."""
    assert protocol.privacy == Corruption(servers=1, adversary=Adversary.FOLLOWS)
    assert not protocol.privacy.includes(ONE_DEVIATES)
    assert not protocol.correctness.includes(ONE_DEVIATES)
    assert protocol.correctness.includes(Corruption(servers=3, adversary=Adversary.FOLLOWS))


@each_one
def test_a_protocol_names_its_servers(protocol: Protocol) -> None:
    servers = set(protocol.servers)
    assert protocol.leader in servers
    assert set(protocol.input_servers) | set(protocol.result_servers) <= servers
    for server in protocol.servers:
        assert protocol.server_named(server.file_name) is server


@pytest.mark.parametrize(
    ("protocol", "shown"),
    [
        (Fast(), "fast (64-bit keys)"),
        (Fast(key_bits=32), "fast (32-bit keys)"),
        (
            Fast(grid=Grid(decimals=2)),
            "fast (64-bit keys; beside them a table of 101 values from 0 to 1, 2 decimals)",
        ),
        (GridProtocol(high=40.0, decimals=0), "grid (41 values from 0 to 40, 0 decimals)"),
        (Paper(), "paper (delta 1)"),
    ],
)
def test_how_people_see_it(protocol: Protocol, shown: str) -> None:
    assert str(protocol) == shown
    assert repr(protocol) == f"<Protocol {shown}>"
