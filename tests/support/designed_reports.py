"""Reports of studies with a design, made once in a process."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

import ppaurora
from ppaurora.metrics import METRICS, Metric
from ppaurora.metrics.names import MetricName

THRESHOLDS = [0.2, 0.4]
HOSTILE_LEVEL = '<b>|*_`[red]\\input{x}%$#&~^"'
PLANS = {
    "publication": ppaurora.Policy(minimum_owners=3),
    "exact": ppaurora.Policy.exact(),
    "private": ppaurora.Policy.private(epsilon=8.0),
}


def designed_owners(small: bool = False, outcomes: bool = False) -> list[tuple[Any, Any, Any]]:
    """Return labels, scores of two models, and levels: three owners; with `small`, few rows of one level."""
    random = np.random.default_rng(5)
    ages = ["under 50", "50-70", HOSTILE_LEVEL]
    owners = []
    for number, rows in enumerate((260, 220, 240)):
        died = (random.random(rows) < 0.3).astype(int)
        scores = {
            name: np.round(1 / (1 + np.exp(1.3 - random.normal(size=rows) - (gain + 0.3 * number) * died)), 2)
            for name, gain in (("risk_a", 1.2), ("risk_b", 0.6))
        }
        of_age = [0.49, 0.49, 0.02] if small else [0.4, 0.4, 0.2]
        levels = {
            "sex": random.choice(["f", "m"], rows).tolist(),
            "age_group": random.choice(ages, rows, p=of_age).tolist(),
        }
        stroke = (random.random(rows) < 0.2).astype(int)
        owners.append(({"death": died, "stroke": stroke} if outcomes else died, scores, levels))
    return owners


@functools.cache
def designed(
    kind: str = "publication", *, small: bool = False, outcomes: bool = False, floor: int | None = None
) -> ppaurora.Report:
    """Return the report of a study with everything that a design can have, as far as its policy allows."""
    at = {"thresholds": THRESHOLDS}
    metrics: list[MetricName | Metric] = ["auroc", "brier", METRICS["sensitivity"](**at)]
    if kind != "private":
        metrics += ["observed_expected", METRICS["net_benefit"](**at)]
    policy = PLANS[kind]
    if floor is not None:
        policy = ppaurora.Policy(minimum_owners=3, minimum_positives=floor)
    return ppaurora.evaluate(
        designed_owners(small, outcomes),
        comparisons=[("risk_a", "risk_b")],
        subgroups={
            "sex": ["f", "m"],
            "age_group": ["under 50", "50-70", HOSTILE_LEVEL],
        },
        sites=kind != "private" and not small and not outcomes,
        left_out={"missing_score": 7, "excluded": 11},
        metrics=metrics,
        confidence_level=0.95,
        policy=policy,
        protocol="grid",
        decimals=2,
    )


@functools.cache
def plain() -> ppaurora.Report:
    """Return the report of a plain study of the first model."""
    owners = [(labels, scores["risk_a"]) for labels, scores, _ in designed_owners()]
    return ppaurora.evaluate(owners, metrics=["auroc", "brier"], confidence_level=0.95)


@functools.cache
def clustered(column: str = "patient", *, subgroups: bool = False, kind: str = "exact") -> ppaurora.Report:
    """Return the report of a study of one model whose rows have patients or weights."""
    random = np.random.default_rng(2)
    owners = []
    for labels, scores, levels in designed_owners():
        more = {column: random.integers(1, 100 if column == "patient" else 5, len(labels)).tolist()}
        more |= {"sex": levels["sex"]} if subgroups else {}
        owners.append((labels, scores["risk_a"], more))
    return ppaurora.evaluate(
        owners,
        metrics=["auroc", "brier"],
        confidence_level=0.95,
        policy=PLANS[kind],
        protocol="grid",
        decimals=2,
    )


@functools.cache
def on_two_grids() -> ppaurora.Report:
    """Return the report of two models, the second with scores from 1 to 5."""
    owners = [
        (labels, {"a": scores["risk_a"], "b": np.round(1 + 4 * scores["risk_b"], 1)})
        for labels, scores, _ in designed_owners()
    ]
    return ppaurora.evaluate(owners, metrics=["auroc"], protocol="grid", decimals=2)
