"""What the machine could do, measured, and how far from it a whole run of `fast` is.

A run cannot be faster than its busiest party, and that party not faster than

    TLS       the bytes it sends and receives, at the rate of two parties that do nothing else
    streams   the random bytes it draws, at the rate of AES-256-CTR
    memory    the bytes that its gates read and write, at the rate of a XOR of large arrays
    rounds    a message each that has to be waited for, at the pace of two proxies that do nothing else

The amounts follow from what the parties sent, for in `bitsliced` every message has its mask: what a
proxy sends is under a mask of the same size, and what the helper sends under a pad of the same size.
Frame headers are counted in.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from benchmarks.primitives.parties import Parties
from benchmarks.scale import Setting, measure
from benchmarks.tables import Table
from ppaurora.channel.base import Channel, Transport
from ppaurora.randomness.streams import Stream
from ppaurora.session import Progress
from ppaurora.suites.role import Role

HEADINGS = ("limit", "rate", "amount", "seconds")
_MB = 1 << 20
_FRAME_BYTES = _MB  # about what a chunk of a merge's layer sends at once
_ROUNDS = 500

# Words that a gate reads and writes for every word that a party sends. In `Gates.begin_and` a proxy
# has six array operations of two operands and a result, proxy 1 one more, the helper three. What
# trees, wires and curves do between the gates is not counted, so the limit is a low one.
_WORDS_TOUCHED = {Role.PROXY_0: 18, Role.PROXY_1: 21, Role.HELPER: 9}


@dataclass(frozen=True)
class Rates:
    """The best of several repeats each, in bytes per second; a round in seconds."""

    tls: float  # sent and received by a party that does both at once
    tls_one_way: float
    streams: float
    memory_xor: float  # read and written
    memory_copy: float
    seconds_per_round: float


def exchange_frames(transport: Transport, length: int, times: int) -> float:
    """Seconds in which the proxies send each other so many frames, waiting for each."""
    channel = Channel(transport)
    if Role(channel.role).is_helper:
        return 0.0
    payload = bytes(length)
    start = 0.0
    for turn in range(times + 1):
        if turn == 1:  # the first one has brought both together
            start = time.perf_counter()
        channel.send(Role(channel.role).other_proxy, payload)
        channel.receive(Role(channel.role).other_proxy, length)
    return time.perf_counter() - start


def send_frames(transport: Transport, length: int, times: int) -> float:
    """Seconds from proxy 0's first frame to the answer that all have arrived at proxy 1."""
    channel = Channel(transport)
    if channel.role is Role.PROXY_0:
        channel.receive(Role.PROXY_1, 0)
        payload = bytes(length)
        start = time.perf_counter()
        for _ in range(times):
            channel.send(Role.PROXY_1, payload)
        channel.receive(Role.PROXY_1, 0)
        return time.perf_counter() - start
    if channel.role is Role.PROXY_1:
        channel.send(Role.PROXY_0)
        for _ in range(times):
            channel.receive(Role.PROXY_0, length)
        channel.send(Role.PROXY_0)
    return 0.0


def _best_seconds(action: Callable[[], object], repeats: int) -> float:
    taken = []
    for _ in range(repeats):
        start = time.perf_counter()
        action()
        taken.append(time.perf_counter() - start)
    return min(taken)


def measure_rates(parties: Parties, megabytes: int, repeats: int) -> Rates:
    """`megabytes` are moved in every repeat."""

    def ask(task: Callable[..., float], length: int, times: int) -> float:
        return min(max(parties.ask(task, length, times)) for _ in range(repeats))

    moved = megabytes * _MB
    frames = moved // _FRAME_BYTES
    words = moved // 8
    a, b, out = np.ones(words, np.uint64), np.ones(words, np.uint64), np.ones(words, np.uint64)
    stream = Stream.fresh()
    piece = np.empty(_MB // 8, dtype=np.uint64)

    def draw() -> None:
        for _ in range(megabytes):
            stream.fill(piece)

    return Rates(
        tls=2 * moved / ask(exchange_frames, _FRAME_BYTES, frames),
        tls_one_way=moved / ask(send_frames, _FRAME_BYTES, frames),
        streams=moved / _best_seconds(draw, repeats),
        memory_xor=3 * moved / _best_seconds(lambda: np.bitwise_xor(a, b, out=out), repeats),
        memory_copy=2 * moved / _best_seconds(lambda: np.copyto(out, a), repeats),
        seconds_per_round=ask(exchange_frames, 8, _ROUNDS) / _ROUNDS,
    )


@dataclass(frozen=True)
class Work:
    """What a party of `fast` has to do, in bytes."""

    moved: int
    drawn: int
    touched: int


def work_of(role: Role, sent: dict[str, int]) -> Work:
    """From the bytes that each party sent: proxies to each other, the helper to proxy 1."""
    ours, other = sent[role.title], sum(sent.values()) - sent[role.title]
    dealt = sent[Role.HELPER.title]
    touched = ours * _WORDS_TOUCHED[role]
    if role is Role.PROXY_0:
        return Work(moved=ours + other - dealt, drawn=ours + dealt, touched=touched)
    if role is Role.PROXY_1:
        return Work(moved=ours + other, drawn=ours, touched=touched)
    return Work(moved=ours, drawn=ours + other, touched=touched)


@dataclass(frozen=True)
class Limits:
    """A whole run next to what its amounts would take at the measured rates. Seconds are a median."""

    samples: int
    owners: int
    runs: int
    seconds: float
    rounds: int
    sent: dict[str, int]
    rates: Rates

    def seconds_at(self, role: Role) -> dict[str, float]:
        """That each limit alone leaves to a party."""
        work = work_of(role, self.sent)
        return {
            "tls": work.moved / self.rates.tls,
            "streams": work.drawn / self.rates.streams,
            "memory": work.touched / self.rates.memory_xor,
            "rounds": self.rounds * self.rates.seconds_per_round,
        }

    @property
    def busiest(self) -> Role:
        return max(Role, key=lambda role: sum(self.seconds_at(role).values()))

    @property
    def times_the_largest(self) -> float:
        return self.seconds / max(self.seconds_at(self.busiest).values())

    @property
    def times_the_sum(self) -> float:
        return self.seconds / sum(self.seconds_at(self.busiest).values())

    def cells(self) -> list[list[str]]:
        """As rows of a table."""
        work, seconds, rates = work_of(self.busiest, self.sent), self.seconds_at(self.busiest), self.rates
        run = f"measured, {self.owners} x {self.samples // self.owners:,}"
        return [
            ["TLS, both ways at once", *_moved(rates.tls, work.moved), _seconds(seconds["tls"])],
            ["TLS, one way", _rate(rates.tls_one_way), "", ""],
            ["AES-256-CTR streams", *_moved(rates.streams, work.drawn), _seconds(seconds["streams"])],
            ["memory, XOR", *_moved(rates.memory_xor, work.touched), _seconds(seconds["memory"])],
            ["memory, copy", _rate(rates.memory_copy), "", ""],
            [
                "rounds on loopback",
                f"{rates.seconds_per_round * 1e6:.0f} µs",
                str(self.rounds),
                _seconds(seconds["rounds"]),
            ],
            [f"their sum, at {self.busiest.title}", "", "", _seconds(sum(seconds.values()))],
            [run, "", "", _seconds(self.seconds)],
            ["... times the largest limit", "", "", f"{self.times_the_largest:.1f}"],
            ["... times their sum", "", "", f"{self.times_the_sum:.1f}"],
        ]


def _rate(rate: float) -> str:
    return f"{rate / 1e6:,.0f} MB/s"


def _moved(rate: float, amount: int) -> tuple[str, str]:
    return _rate(rate), f"{amount / 1e6:,.1f} MB"


def _seconds(seconds: float) -> str:
    return f"{seconds:.3f}"


def measure_limits(rates: Rates, samples: int, owners: int, runs: int, progress: Progress) -> Limits:
    """Some runs by the real servers, over TLS, checked as in `scale`."""
    setting = Setting(samples // owners * owners, owners, "tls")
    measured = [measure(setting, None, progress) for _ in range(runs)]
    return Limits(
        samples=setting.samples,
        owners=owners,
        runs=runs,
        seconds=statistics.median(run.seconds for run in measured),
        rounds=measured[0].rounds,
        sent=measured[0].bytes_by_party,
        rates=rates,
    )


def to_row(limits: Limits) -> dict[str, Any]:
    """As it is saved, next to the primitives."""
    return {"table": "limits", **asdict(limits)}


def from_rows(rows: Sequence[dict[str, Any]]) -> list[Limits]:
    """The latest, if there is any."""
    found = [
        {name: value for name, value in row.items() if name != "table"}
        for row in rows
        if row["table"] == "limits"
    ]
    return [Limits(**{**row, "rates": Rates(**row["rates"])}) for row in found[-1:]]


def table(found: Iterable[Limits]) -> Table:
    return Table(HEADINGS, [cells for limits in found for cells in limits.cells()], words=HEADINGS[:1])


def saved_table(rows: Sequence[dict[str, Any]]) -> Table:
    return table(from_rows(rows))
