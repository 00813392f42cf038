"""What all attacks have in common: trials, rates, and the table that shows them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.attacks.policy import EXACT, PRIVATE, PUBLICATION, ROUNDED, Bools, Random
from benchmarks.tables import Table

SEED = 2023
REFUSED = "refused"
_95 = 1.959963984540054  # standard deviations to either side


@dataclass(frozen=True)
class Played:
    """Trials of an attack: where the guess was right, where there was a result, and what a guess without
    the result is worth."""

    right: Bools
    released: Bools
    base: float = 0.5


def always(right: Bools, base: float = 0.5) -> Played:
    """Return trials in which there was a result each time."""
    return Played(right, np.ones(len(right), dtype=bool), base)


def coin_where_unknown(random: Random, known: Bools, released: Bools | None = None) -> Played:
    """Return trials of an attacker that knows when it knows, and else throws a coin."""
    released = np.ones(len(known), dtype=bool) if released is None else released
    return Played((known & released) | (random.random(len(known)) < 0.5), released)


@dataclass(frozen=True)
class Rate:
    """How often an attack succeeds in one setting, as it is saved."""

    attack: str
    setting: str
    samples: int
    release: str
    trials: int
    hits: int
    released: int
    base: float

    @property
    def rate(self) -> float:
        return self.hits / self.trials

    @property
    def interval(self) -> tuple[float, float]:
        return wilson_interval(self.hits, self.trials)


def wilson_interval(hits: int, trials: int) -> tuple[float, float]:
    """95 %, for a rate (E. B. Wilson, 1927)."""
    rate, weight = hits / trials, _95**2 / trials
    centre = (rate + weight / 2) / (1 + weight)
    half = _95 / (1 + weight) * math.sqrt(rate * (1 - rate) / trials + weight / (4 * trials))
    return max(centre - half, 0.0), min(centre + half, 1.0)


@dataclass(frozen=True)
class Effort:
    """How much is tried: a part of the usual trials, fewer of large studies."""

    part: float = 1.0
    fewest: int = 40
    largest: int | None = None  # studies of more samples are left out
    lists: int = 4  # of made-up samples that a dishonest owner rehearses

    def of(self, usual: int, samples: int = 1) -> int:
        affordable = min(usual, 8_000_000 // samples)
        return max(int(self.part * affordable), self.fewest)

    def takes_on(self, setting: Setting) -> bool:
        return self.largest is None or setting.samples <= self.largest


@dataclass(frozen=True)
class Setting:
    """One attack in one situation, against every kind of release: what `play` returns has an entry each."""

    attack: str
    setting: str
    samples: int
    play: Callable[[Random, int], dict[str, Played]]
    trials: int

    def measure(self, seed: int = SEED) -> list[Rate]:
        """The same trials for the same setting, whatever else is measured."""
        key = [seed, *f"{self.attack} {self.samples} {self.setting}".encode()]
        return [
            Rate(
                self.attack,
                self.setting,
                self.samples,
                release,
                len(played.right),
                int(played.right.sum()),
                int(played.released.sum()),
                played.base,
            )
            for release, played in self.play(np.random.default_rng(key), self.trials).items()
        ]


def rates_table(rates: Sequence[Rate]) -> Table:
    """A row per setting, a column per kind of release; where a study cannot ask for it, it is refused."""
    unprotected = [ROUNDED] if any(rate.release == ROUNDED for rate in rates) else []
    releases = [EXACT, *unprotected, PUBLICATION, PRIVATE]
    by_key = {(rate.samples, rate.setting, rate.release): rate for rate in rates}
    cells = []
    for samples, setting in dict.fromkeys((rate.samples, rate.setting) for rate in rates):
        found = [by_key.get((samples, setting, release)) for release in releases]
        base = percent(np.mean([rate.base for rate in found if rate]))
        cells.append([f"{samples:,}", setting, base, *map(_shown, found)])
    return Table(["samples", "setting", "guess", *releases], cells, words=("setting",))


def percent(rate: float | np.floating[Any]) -> str:
    return f"{rate:.0%}" if rate >= 0.1 else f"{100 * rate:.2g}%"


def _shown(rate: Rate | None) -> str:
    """Return the rate and its interval; what is never published is said to be so."""
    if rate is None:
        return REFUSED
    if not rate.released:
        return "not published"
    low, high = rate.interval
    return f"{percent(rate.rate)} ({100 * low:.0f}-{100 * high:.0f})"
