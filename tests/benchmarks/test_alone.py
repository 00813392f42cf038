"""One party's workers, played again without the others."""

from __future__ import annotations

import dataclasses

import pytest

from benchmarks.alone import Case, Measurement, Recording, play, record, saved_table
from benchmarks.plain import WrongResultError
from ppaurora.party.run import RunOutcome
from ppaurora.sharing.stages import ResultShare

SAMPLES = 400


@pytest.fixture(scope="module")
def case() -> Case:
    return Case.of(SAMPLES)


def recorded(case: Case, count: int, party: str) -> Recording:
    servers = case.job.terms.protocol.servers
    return record(case, count, next(server for server in servers if server.title == party))


@pytest.mark.parametrize(
    ("party", "count", "copies"),
    [("proxy 0", 1, 2), ("proxy 1", 2, 1), ("helper", 2, 2), ("proxy 0", 4, 1)],
)
def test_a_party_alone_does_what_it_did_with_the_others(
    case: Case, party: str, count: int, copies: int
) -> None:
    recording = recorded(case, count, party)
    assert len(recording.outcomes) == count
    seconds, cpu_seconds = play(recording, copies)
    assert seconds > 0
    assert cpu_seconds > 0


def test_another_outcome_is_no_measurement(case: Case) -> None:
    recording = recorded(case, 2, "proxy 0")

    def other(outcome: RunOutcome) -> RunOutcome:
        return dataclasses.replace(
            outcome, parts=tuple(ResultShare(part.words + 1) for part in outcome.parts)
        )

    first = recording.workers[0]
    outcomes = {**recording.outcomes, first: other(recording.outcomes[first])}
    assert recording.outcomes[first].parts
    with pytest.raises(WrongResultError, match="proxy 0 played again has another outcome"):
        play(dataclasses.replace(recording, outcomes=outcomes))


def test_one_worker_is_compared_with() -> None:
    measured = [Measurement(1_000, "proxy 0", 1, 4.0, 3.0), Measurement(1_000, "proxy 0", 2, 2.5, 3.6)]
    rows = saved_table([dataclasses.asdict(one) for one in measured]).rows
    assert [list(row) for row in rows] == [
        ["1,000", "proxy 0", "1", "4.00", "1.00", "3.00", "1.00"],
        ["1,000", "proxy 0", "2", "2.50", "1.60", "3.60", "1.20"],
    ]
