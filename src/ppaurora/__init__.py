"""Exact pooled AUROC and AUPR over several owners' samples, computed on shares of them.

    evaluate    a model on several owners' samples, with all servers on this machine
    Study       an owner's part in a study between organisations
    METRICS     the metrics by name, each a class with its description and its definition
    Policy      what may leave a computation: rounding, floors, hidden counts

Everything that is raised on purpose is a `PpauroraError`.

>>> import ppaurora
>>> ppaurora.METRICS["ap"].description
'average precision'
>>> ppaurora.METRICS["ap"].definition
'`average_precision_score(y_true, y_score)`'
"""

import importlib
from typing import TYPE_CHECKING, Any

from ppaurora.errors import (
    DataError,
    InputError,
    NotReleasedError,
    PeerError,
    PpauroraError,
    ProtocolError,
    RefusedError,
    UndefinedResultError,
    UnsortedListError,
)
from ppaurora.version import __version__ as __version__

if TYPE_CHECKING:
    from ppaurora.estimates import Estimate, Table
    from ppaurora.evaluation import evaluate
    from ppaurora.metrics import METRICS
    from ppaurora.owner.ledger import OverlapWarning
    from ppaurora.owner.study import Study, StudyReport
    from ppaurora.policy import Policy
    from ppaurora.report import Report, RunCost

__all__ = [
    "METRICS",
    "DataError",
    "Estimate",
    "InputError",
    "NotReleasedError",
    "OverlapWarning",
    "PeerError",
    "Policy",
    "PpauroraError",
    "ProtocolError",
    "RefusedError",
    "Report",
    "RunCost",
    "Study",
    "StudyReport",
    "Table",
    "UndefinedResultError",
    "UnsortedListError",
    "evaluate",
]


def __dir__() -> list[str]:
    return [*__all__, "__version__"]


_HOMES = {
    "METRICS": "ppaurora.metrics",
    "Estimate": "ppaurora.estimates",
    "OverlapWarning": "ppaurora.owner.ledger",
    "Policy": "ppaurora.policy",
    "Report": "ppaurora.report",
    "RunCost": "ppaurora.report",
    "Study": "ppaurora.owner.study",
    "StudyReport": "ppaurora.owner.study",
    "Table": "ppaurora.estimates",
    "evaluate": "ppaurora.evaluation",
}


def __getattr__(name: str) -> Any:
    """Loaded when it is asked for: a server process and a command start with what they need."""
    if name in _HOMES:
        return getattr(importlib.import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'ppaurora' has no attribute '{name}'")
