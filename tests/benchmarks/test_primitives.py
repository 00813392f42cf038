"""The measured primitives: all of them, at their declared cost, and limits that follow from what was sent."""

from __future__ import annotations

import json
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from click.testing import CliRunner

from benchmarks.__main__ import cli, main
from benchmarks.primitives import command, limits, timing
from benchmarks.primitives.cases import CASES, FREE, MADE_OF, REFUSED, SUITES, Case
from benchmarks.primitives.limits import Limits, Rates, work_of
from benchmarks.primitives.made_up import MadeUpData
from benchmarks.primitives.parties import Parties
from benchmarks.saving import load_rows
from ppaurora.errors import InputError, PartyFailedError
from ppaurora.randomness import Stream
from ppaurora.suites.base import SuiteOf
from ppaurora.suites.bitsliced import costs as bitsliced_costs
from ppaurora.suites.cecilia import costs as cecilia_costs
from ppaurora.suites.role import Role
from tests.support.cases import fast, on_planes
from tests.support.failing_parties import die_at_proxy_1, refuse_at_the_helper

MADE_UP = Limits(
    samples=2000,
    owners=8,
    runs=1,
    seconds=0.6,
    rounds=100,
    sent={"proxy 0": 10_000_000, "proxy 1": 10_000_000, "helper": 20_000_000},
    rates=Rates(400e6, 300e6, 1e9, 2.1e9, 2e9, 1e-3),
)


@pytest.fixture
def _quicker(monkeypatch: pytest.MonkeyPatch) -> None:
    """How long it takes does not matter here."""
    monkeypatch.setattr(command, "QUICK", replace(command.QUICK, repeats=1, megabytes=1))


@pytest.fixture(scope="module")
def parties() -> Iterator[Parties]:
    with Parties() as three:
        yield three


@pytest.mark.parametrize("suite", SUITES)
def test_every_method_of_a_suite_is_measured_or_needs_no_measuring(suite: str) -> None:
    methods = {name for name, value in vars(SuiteOf).items() if callable(value) and not name.startswith("_")}
    assert SuiteOf.__abstractmethods__ <= methods
    measured = {name for of_suite, name in CASES if of_suite == suite}
    assert methods <= measured | set(MADE_OF[suite]) | FREE[suite] | REFUSED[suite]
    assert set(MADE_OF[suite].values()) <= measured
    assert not measured & (set(MADE_OF[suite]) | FREE[suite] | REFUSED[suite])


@pytest.mark.parametrize("case", CASES.values(), ids=str)
def test_a_primitive_costs_what_it_declares(parties: Parties, case: Case) -> None:
    measured = timing.measure(parties, case, case.elements(70), repeats=2)
    assert (measured.bytes, measured.rounds) == (
        case.declared(measured.elements).bytes,
        case.declared(measured.elements).rounds,
    )
    assert 0 < measured.best_seconds <= measured.seconds


@pytest.mark.parametrize(
    "wrong",
    [
        lambda cost: msgspec.structs.replace(cost, bytes=cost.bytes - 1),
        lambda cost: msgspec.structs.replace(cost, rounds=cost.rounds + 1),
        lambda cost: msgspec.structs.replace(cost, messages=cost.messages + 1),
    ],
    ids=["bytes", "rounds", "messages"],
)
def test_a_wrong_declaration_is_noticed(
    parties: Parties, monkeypatch: pytest.MonkeyPatch, wrong: Callable[[Any], Any]
) -> None:
    honest = bitsliced_costs.mul
    monkeypatch.setattr(bitsliced_costs, "mul", lambda count: wrong(honest(count)))
    with pytest.raises(timing.CostDiffersError, match=r"bitsliced mul .* declared"):
        timing.measure(parties, CASES["bitsliced", "mul"], 10, repeats=1)


@pytest.mark.usefixtures("_quicker")
def test_a_wrong_declaration_ends_the_command(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    honest = cecilia_costs.mul
    monkeypatch.setattr(cecilia_costs, "mul", lambda *shapes: honest(*shapes) * 2)
    saved = tmp_path / "primitives.json"
    with pytest.raises(SystemExit) as ended:
        main(["primitives", "--quick", "--elements", "10", "--out", str(tmp_path)])
    assert ended.value.code == 3
    assert "cecilia mul of 10 elements" in capsys.readouterr().err
    assert not saved.exists()


def test_a_party_that_fails_is_heard() -> None:
    with Parties() as three, pytest.raises(InputError, match="no"):
        three.ask(refuse_at_the_helper)
    with Parties() as three, pytest.raises(PartyFailedError, match="proxy 1 ended"):
        three.ask(die_at_proxy_1)


def test_the_parts_of_made_up_data_fit_together() -> None:
    first, second, helper = (MadeUpData(role, 100) for role in Role)
    numerators, denominators = (
        one.values + other.values for one, other in zip(first.fraction(), second.fraction(), strict=True)
    )
    assert (numerators <= denominators).all()
    assert denominators.min() > 0
    assert len(np.unique(denominators)) > 90
    assert not any(part.values.any() for part in helper.fraction())
    bits = first.bits().values ^ second.bits().values
    assert 0 < bits.sum() < 100
    assert not helper.bits().values.any()
    assert (first.planes()[0] != second.planes()[0]).all()
    assert helper.planes() == []
    assert (first.words()[0] + second.words()[0] < 1 << 62).all()
    assert helper.words() == []


def test_what_a_party_draws_and_moves_follows_from_what_was_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: Counter[str] = Counter()
    real_bytes, real_fill = Stream.bytes, Stream.fill

    def counting_bytes(self: Stream, count: int) -> Any:
        drawn[threading.current_thread().name] += count
        return real_bytes(self, count)

    def counting_fill(self: Stream, out: Any) -> None:
        drawn[threading.current_thread().name] += out.nbytes
        real_fill(self, out)

    monkeypatch.setattr(Stream, "bytes", counting_bytes)
    monkeypatch.setattr(Stream, "fill", counting_fill)
    messages = on_planes(fast, [[(k / 300, k % 2) for k in range(300)], [(0.5, 1)] * 70]).messages
    sent: Counter[str] = Counter()
    moved: Counter[str] = Counter()
    for message in messages:
        sent[message.sender.title] += len(message.payload)
        moved[message.sender.title] += len(message.payload)
        moved[message.receiver.title] += len(message.payload)
    for role in Role:
        work = work_of(role, dict(sent))
        assert (work.drawn, work.moved) == (drawn[role.title], moved[role.title])


def test_the_limits_of_the_busiest_party() -> None:
    assert MADE_UP.busiest is Role.PROXY_1
    assert MADE_UP.seconds_at(Role.PROXY_1) == pytest.approx(
        {"tls": 0.1, "streams": 0.01, "memory": 0.1, "rounds": 0.1}
    )
    assert MADE_UP.times_the_largest == pytest.approx(6)
    assert MADE_UP.times_the_sum == pytest.approx(0.6 / 0.31)


def test_the_machine_is_measured(parties: Parties) -> None:
    rates = limits.measure_rates(parties, megabytes=1, repeats=1)
    assert min(vars(rates).values()) > 0
    assert rates.seconds_per_round < 1


@pytest.mark.usefixtures("_quicker")
def test_primitives_are_printed_and_saved(tmp_path: Path) -> None:
    saved = tmp_path / "primitives.json"
    options = ["--quick", "--elements", "10", "--samples", "80", "--out", str(tmp_path)]
    result = CliRunner().invoke(cli, ["primitives", *options])
    assert result.exit_code == 0, result.output
    rows = load_rows(saved)
    assert len(rows) == len(CASES) + 1
    for text in (result.output, timing.saved_table(rows).markdown()):
        assert all(case.name in text for case in CASES.values())
    for text in (result.output, limits.saved_table(rows).markdown()):
        assert "measured, 8 x 10" in text


def test_tables_show_the_latest() -> None:
    old = timing.Measurement("cecilia", "mul", "", 100, 3, 2e-6, 1e-6, 4000, 1)
    new = replace(old, seconds=4e-5)
    gone = replace(old, primitive="nothing that there still is")
    faster = replace(MADE_UP, seconds=0.3)
    rows = json.loads(
        json.dumps(
            [
                timing.to_row(old),
                limits.to_row(MADE_UP),
                timing.to_row(gone),
                timing.to_row(new),
                limits.to_row(faster),
            ]
        )
    )
    assert timing.from_rows(rows) == [new]
    assert timing.saved_table(rows).markdown().splitlines()[2:] == [
        "| cecilia | mul | 100 | 400 | 40.0 | 1 |"
    ]
    assert limits.from_rows(rows) == [faster]
    table = limits.saved_table(rows).markdown().splitlines()
    assert table[2] == "| TLS, both ways at once | 400 MB/s | 40.0 MB | 0.100 |"
    assert table[-2:] == [
        "| ... times the largest limit |  |  | 3.0 |",
        "| ... times their sum |  |  | 1.0 |",
    ]


@pytest.mark.parametrize("options", [["--elements", "0"], ["--samples", "7"]])
def test_bad_options_are_refused(options: list[str], tmp_path: Path) -> None:
    result = CliRunner().invoke(cli, ["primitives", *options, "--out", str(tmp_path)])
    assert isinstance(result.exception, InputError)
