"""What all attacks have in common: trials, rates, and the table that shows them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.attacks.policy import Bools
from benchmarks.attacks.population import Random
from benchmarks.tables import Table

SEED = 2023
EXACT, POLICY = "exact", "policy"
_95 = 1.959963984540054  # standard deviations to either side


@dataclass(frozen=True)
class Played:
    """Trials of an attack: where the guess was right, where there was a result, and what a guess without
    the result is worth. `left` is how many possible answers fit what was published, at the median."""

    right: Bools
    released: Bools
    base: float
    left: float | None = None


@dataclass(frozen=True)
class Rate:
    """How often an attack succeeds in one setting, as it is saved."""

    attack: str
    setting: str
    samples: int
    release: str
    digits: int | None
    trials: int
    hits: int
    released: int
    base: float
    left: float | None = None

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
    """One attack against one kind of release, ready to be tried."""

    attack: str
    setting: str
    samples: int
    release: str
    digits: int | None
    play: Callable[[Random, int], Played]
    trials: int

    def __str__(self) -> str:
        return f"{self.attack}, {self.samples:,} samples, {self.setting}, {self.release}"

    def measure(self, seed: int = SEED) -> Rate:
        """The same trials for the same setting, whatever else is measured and however it is released."""
        key = [seed, *f"{self.attack} {self.samples} {self.setting}".encode()]
        played = self.play(np.random.default_rng(key), self.trials)
        return Rate(
            self.attack,
            self.setting,
            self.samples,
            self.release,
            self.digits,
            len(played.right),
            int(played.right.sum()),
            int(played.released.sum()),
            played.base,
            played.left,
        )


def rates_table(rates: Sequence[Rate]) -> Table:
    """A row per setting, a column per kind of release."""
    releases = list(dict.fromkeys(rate.release for rate in rates))
    by_key = {(rate.samples, rate.setting, rate.release): rate for rate in rates}
    keys = list(dict.fromkeys((rate.samples, rate.setting) for rate in rates))
    suppresses = any(rate.released < rate.trials for rate in rates)
    counts_left = any(rate.left is not None for rate in rates)
    cells = []
    for samples, setting in keys:
        found = [by_key[samples, setting, release] for release in releases]
        row = [f"{samples:,}", setting, percent(np.mean([rate.base for rate in found]))]
        for rate in found:
            row.append(_with_interval(rate))
            if counts_left:
                row.append("" if rate.left is None else f"{rate.left:,.0f}")
        row.append(_digits_of(found))
        if suppresses:
            row.append(percent(found[-1].released / found[-1].trials))
        cells.append(row)
    columns = [[release, f"{release}: fit"] if counts_left else [release] for release in releases]
    headings = ["samples", "setting", "guess", *(name for pair in columns for name in pair), "digits"]
    return Table([*headings, "published"] if suppresses else headings, cells, words=("setting",))


def percent(rate: float | np.floating[Any]) -> str:
    return f"{rate:.0%}" if rate >= 0.1 else f"{100 * rate:.2g}%"


def _with_interval(rate: Rate) -> str:
    low, high = rate.interval
    return f"{percent(rate.rate)} ({100 * low:.0f}-{100 * high:.0f})"


def _digits_of(rates: Iterable[Rate]) -> str:
    """Return the digits of what the policy publishes."""
    (digits,) = {rate.digits for rate in rates if rate.digits is not None}
    return str(digits) if digits else "none"
