"""Servers that die, freeze or do not do their part: a clear error that names the right one."""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from pathlib import Path

import pytest

import ppaurora
from ppaurora.errors import (
    MisuseError,
    PartyFailedError,
    PeerLostError,
    PeerMisbehavedError,
    PeerTimeoutError,
    ProtocolError,
)
from ppaurora.local import processes
from ppaurora.local.threads import root_cause
from ppaurora.party import driver
from ppaurora.suites.role import Role
from tests.support.server_processes import A_FEW_SECONDS, TITLES, owners, servers_of, work_long

PROXY_0, PROXY_1, HELPER = Role


class Strike:
    """A progress report that sends a signal to one server, the first time it is called."""

    def __init__(self, title: str, number: signal.Signals) -> None:
        self._title = title
        self._number = number
        self.time: float | None = None

    def __call__(self, step: str, done: int, total: int) -> None:
        if self.time is None:
            os.kill(servers_of(os.getpid())[self._title], self._number)
            self.time = time.monotonic()


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """With the last words of servers, and with their ends: on a busy machine they come late."""
    monkeypatch.setattr(processes, "_SECONDS_FOR_LAST_WORDS", 20.0)
    monkeypatch.setattr(driver, "_SECONDS_TO_END", 60.0)


@pytest.mark.usefixtures("patient")
@pytest.mark.parametrize("title", TITLES)
def test_a_killed_server_is_named_at_once(title: str) -> None:
    strike = Strike(title, signal.SIGKILL)
    with pytest.raises(PartyFailedError, match=f"^{title} was killed by signal 9 before it was done"):
        work_long(progress=strike)
    assert strike.time is not None
    assert time.monotonic() - strike.time < A_FEW_SECONDS
    assert servers_of(os.getpid()) == {}


@pytest.mark.parametrize(
    "title", [TITLES[0], *(pytest.param(one, marks=pytest.mark.long) for one in TITLES[1:])]
)
def test_a_frozen_server_is_named_after_the_timeout(title: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Which the others keep to, also on a busy machine, from the start on."""
    timeout = 12.0
    monkeypatch.setattr(processes, "_SECONDS_FOR_LAST_WORDS", 6.0)
    strike = Strike(title, signal.SIGSTOP)
    with pytest.raises(
        ProtocolError, match=f"^{title} (gave no sign of life|sent nothing|received nothing) for"
    ):
        work_long(progress=strike, timeout=timeout)
    assert strike.time is not None
    assert time.monotonic() - strike.time < timeout + A_FEW_SECONDS
    assert servers_of(os.getpid()) == {}


def test_an_error_in_the_drivers_own_code_stops_the_servers() -> None:
    def stumble(step: str, done: int, total: int) -> None:
        assert len(servers_of(os.getpid())) == 3
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        work_long(progress=stumble)
    assert servers_of(os.getpid()) == {}


def say(**event: object) -> str:
    """A line of shell that tells the driver something."""
    return f"echo '{json.dumps(event)}'"


ALIVE = say(event="alive")
READS_TASK = "read task"
FALLS_SILENT = "exec sleep 600"
BLAMES_HELPER = say(event="failed", kind="PeerTimeoutError", message="helper sent nothing", peer="helper")
BLAMES_ITSELF = say(event="failed", kind="MisuseError", message="a bug")
SILENCE = "gave no sign of life for 1.5 seconds"
IMPOSTORS = {
    "never speaks": ([FALLS_SILENT], PartyFailedError, SILENCE),
    "never reads": ([ALIVE, FALLS_SILENT], PartyFailedError, SILENCE),
    "ends at once": (["exit 3"], PartyFailedError, "ended with exit code 3 before it was done"),
    "ends later": (
        [ALIVE, READS_TASK, "exit 4"],
        PartyFailedError,
        "ended with exit code 4 before it was done",
    ),
    "babbles": (["echo babble", FALLS_SILENT], PartyFailedError, "could no longer be understood"),
    "babbles later": (
        [ALIVE, "echo babble", FALLS_SILENT],
        PartyFailedError,
        "could no longer be understood",
    ),
    "blames a peer": ([ALIVE, BLAMES_HELPER, FALLS_SILENT], PeerTimeoutError, "^helper sent nothing$"),
    "blames itself": ([ALIVE, BLAMES_ITSELF, FALLS_SILENT], MisuseError, "^(proxy .|helper): a bug$"),
}


@pytest.mark.parametrize("impostor", IMPOSTORS)
def test_a_server_that_does_not_do_its_part_is_a_clear_error(
    impostor: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script, kind, message = IMPOSTORS[impostor]
    program = tmp_path / "impostor"
    program.write_text("\n".join(["#!/bin/sh", *script]) + "\n")
    program.chmod(0o700)
    monkeypatch.setattr(sys, "executable", str(program))
    # Only who is to be found silent is given up soon: the others may be slow on a busy machine.
    patience = 1.5 if message == SILENCE else 4 * A_FEW_SECONDS
    monkeypatch.setattr(processes, "_SECONDS_TO_START", patience)
    monkeypatch.setattr(processes, "_SECONDS_FOR_LAST_WORDS", 0.3)
    if message.startswith("ended"):
        monkeypatch.setattr(driver, "_SECONDS_TO_END", 60.0)
    more_than_a_pipe_holds = owners(20_000, 20_000)
    start = time.monotonic()
    with pytest.raises(kind, match=message):
        ppaurora.evaluate(more_than_a_pipe_holds, transport="tls", timeout=patience)
    assert time.monotonic() - start < A_FEW_SECONDS


def test_the_cause_is_preferred_to_its_echoes() -> None:
    lost, cause = PeerLostError("proxy 1", "closed"), MisuseError("a bug")
    assert root_cause({PROXY_0: lost, PROXY_1: cause}) is cause
    assert root_cause({PROXY_1: cause, PROXY_0: lost}) is cause


def test_a_party_that_was_heard_is_not_the_one_that_fell_silent() -> None:
    """The helper waited for proxy 1, which itself waited for proxy 0."""
    echo, cause = PeerTimeoutError("proxy 1", "sent nothing"), PeerTimeoutError("proxy 0", "sent nothing")
    assert root_cause({HELPER: echo, PROXY_1: cause}) is cause
    assert root_cause({PROXY_1: cause, HELPER: echo}) is cause


def test_a_complaint_is_preferred_to_the_loss_of_who_complained() -> None:
    """Who notices something leaves; that it left may be told of first."""
    lost, complaint = PeerLostError("proxy 0", "closed"), PeerMisbehavedError("helper", "means another job")
    gone = PeerLostError("proxy 1", "closed")
    assert root_cause({PROXY_1: lost, PROXY_0: complaint, HELPER: gone}) is complaint


def test_else_the_first_to_complain_is_believed() -> None:
    first, second = PeerLostError("proxy 1", "closed"), PeerLostError("proxy 0", "closed")
    assert root_cause({PROXY_0: first, PROXY_1: second}) is first
