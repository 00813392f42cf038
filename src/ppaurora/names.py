"""Names that people write in Python, as types: an editor completes them, and a type checker finds a typo.

The registries of metrics and protocols decide which names there are; a test compares.
"""

from __future__ import annotations

from typing import Literal, TypedDict

MetricName = Literal[
    "auroc",
    "auroc_no_ties",
    "youden_j",
    "aupr",
    "ap",
    "partial_auroc",
    "sensitivity_at_specificity",
    "specificity_at_sensitivity",
    "sensitivity",
    "specificity",
    "ppv",
    "npv",
    "f1",
    "accuracy",
    "net_benefit",
    "brier",
    "observed_expected",
    "calibration_in_the_large",
    "reliability",
    "histogram",
]
"""A metric, as `evaluate` and reports take it; `METRICS` describes them."""

ProtocolName = Literal["fast", "paper"]
"""How it is computed: "fast", the default, or "paper", as in the paper."""

Transport = Literal["memory", "tls"]
"""How the servers of `evaluate` talk: as threads, or as processes with TLS on loopback."""


class ProtocolParameters(TypedDict, total=False):
    """Those of all protocols, as `evaluate` takes them."""

    key_bits: Literal[32, 64] | None
    delta: int
