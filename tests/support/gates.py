"""Gates of `bitsliced` run on randomness of our choice, to see what each party sees in every case."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from ppaurora.channel.meter import Meter
from ppaurora.session import Context
from ppaurora.suites.bitsliced.gates import Gates
from ppaurora.suites.role import Role

Words = NDArray[np.uint64]
Components = Mapping[Role, Words]  # of a masked secret
Seen = dict[tuple[Role, Role], list[Words]]  # what travelled, by sender and receiver


def every_case(**bits: int) -> dict[str, Words]:
    """All values of variables of so many bits each: one entry of every array for every combination."""
    total = sum(bits.values())
    number = np.arange(1 << total, dtype=np.uint64)
    cases = {}
    for name, width in bits.items():
        total -= width
        cases[name] = (number >> np.uint64(total)) & np.uint64((1 << width) - 1)
    return cases


class _Script:
    """A stream that gives what it was told, in the order in which it is drawn."""

    def __init__(self, drawn: Sequence[Words]) -> None:
        self._drawn = deque(drawn)

    def words(self, shape: tuple[int, ...]) -> Words:
        return self._drawn.popleft().reshape(shape).copy()

    def fill(self, out: Words) -> None:
        out[...] = self.words(out.shape)

    def check_used_up(self) -> None:
        assert not self._drawn, "the gate drew less than it was given"


class _Channel:
    """In one thread: what is received was sent before."""

    def __init__(self, role: Role, seen: Seen) -> None:
        self.role = role
        self.meter = Meter()
        self._seen = seen
        self._read: dict[Role, int] = {}

    def send(self, to: Role, payload: memoryview) -> None:
        words = np.frombuffer(bytes(payload), dtype="<u8")
        self._seen.setdefault((self.role, to), []).append(words)

    def receive(self, sender: Role, length: int) -> memoryview:
        place = self._read.get(sender, 0)
        self._read[sender] = place + 1
        words = self._seen[sender, self.role][place]
        assert words.nbytes == length
        return memoryview(words.tobytes())


class _Scripted:
    """Instead of a context."""

    def __init__(self, role: Role, seen: Seen, script: Mapping[tuple[Role, str], Sequence[Words]]) -> None:
        self.role = role
        self.channel = _Channel(role, seen)
        self.streams: list[_Script] = []
        self._script = script

    def stream(self, peer: Role, label: str) -> _Script:
        proxy = peer if self.role.is_helper else self.role
        self.streams.append(_Script(self._script.get((proxy, label), ())))
        return self.streams[-1]


def run_gate(
    begin: Callable[[Gates], Callable[[], Any]],
    *,
    masks: tuple[Sequence[Words], Sequence[Words]],
    pads: Sequence[Words],
    common: Sequence[Words] = (),
) -> tuple[dict[Role, Any], Seen]:
    """What every party gets in the end, and all messages.

    `masks` are the proxies' parts of fresh masks, each known to the helper; `pads` are what the helper hides
    with what it deals, known to proxy 0; `common` is what both proxies draw, unknown to the helper.
    """
    script = {
        (Role.PROXY_0, "bitsliced/masks"): masks[0],
        (Role.PROXY_1, "bitsliced/masks"): masks[1],
        (Role.PROXY_0, "bitsliced/deals"): pads,
        (Role.PROXY_0, "bitsliced/common"): common,
        (Role.PROXY_1, "bitsliced/common"): common,
    }
    seen: Seen = {}
    contexts = [_Scripted(role, seen, script) for role in (Role.HELPER, Role.PROXY_0, Role.PROXY_1)]
    begun = {Role(context.role): begin(Gates(cast(Context, context))) for context in contexts}
    results = {role: finish() for role, finish in begun.items()}
    for context in contexts:
        for stream in context.streams:
            stream.check_used_up()
    return results, seen


def independent(view: NDArray[Any], secrets: int, values: int) -> bool:
    """Does every secret give the same distribution of views, whatever else the party knows?

    `view` has a row for each pair of a secret and what is known, in this order, with the view in all cases;
    a view is a number below `values`.
    """
    pairs = len(view)
    numbers = view + np.arange(pairs, dtype=np.int64)[:, np.newaxis] * values
    table = np.bincount(numbers.reshape(-1), minlength=pairs * values).reshape(secrets, -1)
    return bool((table == table[:1]).all())


def as_number(parts: Sequence[NDArray[Any]], width: int = 1) -> NDArray[np.int64]:
    """Variables of so many bits next to each other in one number."""
    number = np.zeros(parts[0].shape, dtype=np.int64)
    for part in parts:
        number <<= width
        number |= part.astype(np.int64)
    return number
