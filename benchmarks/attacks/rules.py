"""Which rules stop the attack with made-up samples? Its rate by the dishonest owner's share, the others'
positives and the prevalence, for a person far above all others, whose label is the easiest to read.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from benchmarks.attacks.frame import Effort, Setting
from benchmarks.attacks.made_up import ABOVE_ALL, Scene, play
from benchmarks.attacks.numbers import TOGETHER
from benchmarks.attacks.policy import Policy
from benchmarks.attacks.population import Population

NAME = "rules"
SHARES = (0.25, 1 / 3, 0.5, 0.85)
POSITIVES = (40, 400)
PREVALENCES = (0.25, 0.05)


def settings(effort: Effort) -> Iterator[Setting]:
    for share in SHARES:
        for prevalence in PREVALENCES:
            for positives in POSITIVES:
                yield from _settings(share, positives, prevalence, effort)


def _settings(share: float, positives: int, prevalence: float, effort: Effort) -> Iterator[Setting]:
    rest, policy = round(positives / prevalence), Policy()
    population = Population(prevalence=prevalence)
    for what, names in TOGETHER.items():
        scene = Scene(rest, share, ABOVE_ALL, names, population, policy, digits_only=True)
        digits = policy.digits(scene.sizes(scene.made_up))
        one = partial(play, scene=scene, rehearsals=effort.of(2000, rest), lists=effort.lists)
        label = f"largest owner {share:.1%} of all, {positives:,} positives in the rest"
        yield Setting(NAME, label, rest, what, digits, one, effort.of(1000, rest))
