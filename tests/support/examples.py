"""Examples in the documentation of public names: found, and run."""

from __future__ import annotations

import doctest
import importlib
from typing import Any

import ppaurora

# What needs nodes, in the order in which it can be run: tests/node/test_documented_study.py.
ON_NODES = (
    "Study",
    "PreparedSubmission",
    "StudyReport",
    "Receipt",
    "verify_receipt",
    "Verification",
    "NotReleasedError",
    "DataWarning",
    "OverlapWarning",
)
# What no line brings about: faults of servers and of others' programs.
OF_OTHERS = ("PeerError", "ProtocolError", "RefusedError", "UnsortedListError")
# Described where they are exported.
NO_OBJECTS = ("METRICS", "MetricName", "ProtocolName", "Transport")


def run_examples(name: str) -> int:
    """Those of a public name and of its methods: how many lines there were. All must hold."""
    public: Any = getattr(ppaurora, name)
    module = importlib.import_module(public.__module__)
    runner = doctest.DocTestRunner(verbose=False)
    for test in doctest.DocTestFinder(exclude_empty=True).find(public, name, module):
        runner.run(test)
    assert runner.failures == 0, f"{name}: see what doctest has printed"
    return runner.tries
