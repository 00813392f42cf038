"""What the paper prints: its settings, and the traffic and time in its two tables.

The paper does not say for which of its two networks the tables are. Their times fit 10 ms only: for
2 x 1,000 samples, ties add 82 s, 41 ms for each of 2,000 steps that wait for one another. On its
local network of 0.18 ms that would be more than two hundred round trips a step.
"""

from __future__ import annotations

from dataclasses import dataclass

from ppaurora.metrics.precision_recall import Aupr
from ppaurora.metrics.roc import Auroc, UntiedAuroc

UNBALANCED = (12, 18, 32, 58, 107, 258, 507, 1008)
METRICS = {
    UntiedAuroc.name: "AUROC without ties",
    Auroc.name: "AUROC with ties",
    Aupr.name: "AUPR",
}


@dataclass(frozen=True)
class Setting:
    """How many samples each owner has, and how many records move per shuffling."""

    sizes: tuple[int, ...]
    delta: int = 1

    def __str__(self) -> str:
        return f"{self.owners}, delta {self.delta}"

    @property
    def owners(self) -> str:
        """As the paper writes it."""
        each = "unbalanced" if self.sizes == UNBALANCED else f"{self.sizes[0]:,}"
        return f"{len(self.sizes)} x {each}"


@dataclass(frozen=True)
class Printed:
    """Megabytes sent by the two proxies, the helper and all, and seconds."""

    proxy_0: float
    proxy_1: float
    helper: float
    total: float
    seconds: float


SAMPLES = tuple(Setting((size,) * 3) for size in (64, 128, 256, 512, 1024))
OWNERS = tuple(Setting((1000,) * count) for count in (2, 4, 8))
DELTAS = tuple(Setting((1000,) * 8, delta) for delta in (1, 3, 5, 11, 25, 51, 101))
SETTINGS = (*SAMPLES, *OWNERS, *DELTAS[1:], Setting(UNBALANCED))

_TABLES = {
    UntiedAuroc.name: """
        1.36 1.02 0.86 3.24 16.77
        5.49 3.64 3.48 12.61 33.52
        22.06 14.15 13.97 50.18 66.1
        87.8 55.85 55.66 199.31 131.69
        349.64 221.96 221.75 793.35 233.27
        119.28 75.81 75.63 270.72 91.44
        714.87 453.69 453.45 1622.01 358.37
        3333.01 2115.66 2115.26 7563.93 1074.87
        1668.73 1059.34 1059.02 3787.09 818.98
        1114.3 707.22 706.92 2528.44 732.85
        559.28 355.1 354.83 1269.21 646.66
        261.08 165.52 165.26 591.86 604.81
        132.84 84.3 84.04 301.18 591.72
        70.44 44.54 44.29 159.27 599.53
        120.51 76.6 76.38 273.49 297.59
    """,
    Auroc.name: """
        1.41 1.05 0.88 3.34 24.72
        5.63 3.71 3.55 12.89 48.96
        22.31 14.28 14.11 50.7 97.65
        87.32 55.49 55.31 198.12 193.25
        353.11 224.07 223.86 801.04 356.31
        119.66 75.99 75.81 271.46 173.79
        715.42 454.06 453.82 1623.3 523.06
        3332.37 2116.39 2115.99 7564.75 1404.6
        1671.24 1060.06 1059.73 3791.03 1149.16
        1115.72 707.94 707.64 2531.3 1061.33
        561.35 355.83 355.56 1272.74 1000.99
        262.62 166.24 165.98 594.84 974.64
        134.64 85.03 84.77 304.44 965.86
        71.98 45.26 45.01 162.25 955.07
        120.56 76.57 76.35 273.48 379.71
    """,
    Aupr.name: """
        1.96 1.3 1.13 4.39 24.41
        6.61 4.14 3.97 14.72 48.05
        24.44 15.23 15.06 54.73 95.65
        93.23 58.44 58.26 209.93 191.55
        359.67 226.62 226.41 812.7 355.32
        125.05 78.37 78.19 281.61 174.16
        726.44 458.81 458.57 1643.82 523.39
        3355.74 2125.91 2125.51 7607.16 1404.22
        1692.85 1069.58 1069.25 3831.68 1194.08
        1137.91 717.45 717.15 2572.51 1105.46
        583.02 365.36 365.08 1313.46 1032.29
        284.22 175.76 175.5 635.48 972.0
        156.23 94.54 94.29 345.06 935.65
        93.59 54.79 54.53 202.91 940.07
        130.48 81.82 81.6 293.9 379.99
    """,
}

PRINTED = {
    (metric, setting): Printed(*map(float, line.split()))
    for metric, table in _TABLES.items()
    for setting, line in zip(SETTINGS, table.strip().splitlines(), strict=True)
}
