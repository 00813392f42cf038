"""Made-up studies: what an attacker may know of people in general, and draws of them."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from benchmarks.attacks.policy import Bools, Floats, Random

_NORMAL = NormalDist()


@dataclass(frozen=True)
class Population:
    """A marker is normal in both classes, and higher in positives; the model's score is the true risk.

    Studies differ: prevalence and separation vary a little from one to the next, as between hospitals.
    """

    prevalence: float = 0.25
    separation: float = 1.19  # of the classes, in standard deviations: an AUROC of 0.8
    prevalence_spread: float = 0.1  # relative
    separation_spread: float = 0.08  # an AUROC of 0.80 give or take 0.016

    def risk(self, marker: Floats) -> Floats:
        odds = np.log(self.prevalence / (1 - self.prevalence))
        risk: Floats = 1 / (1 + np.exp(-(self.separation * (marker - self.separation / 2) + odds)))
        return risk

    def draw(self, random: Random, studies: int, samples: int) -> tuple[Floats, Bools]:
        """Scores and labels, a row per study."""
        spread = random.normal(size=(2, studies, 1))
        prevalence = np.clip(self.prevalence * (1 + self.prevalence_spread * spread[0]), 0.0, 1.0)
        separation = self.separation + self.separation_spread * spread[1]
        labels: Bools = random.random((studies, samples)) < prevalence
        marker = random.normal(size=labels.shape) + separation * labels
        return self.risk(marker), labels

    def score_above(self, fraction: float) -> float:
        """The score that this fraction of people stays below."""
        low, high = -10.0, 10.0 + self.separation
        while high - low > 1e-9:
            middle = (low + high) / 2
            below = (1 - self.prevalence) * _NORMAL.cdf(middle)
            below += self.prevalence * _NORMAL.cdf(middle - self.separation)
            low, high = (middle, high) if below < fraction else (low, middle)
        return float(self.risk(np.array(low)))
