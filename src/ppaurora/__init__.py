"""Exact pooled AUROC and AUPR over several owners' samples, computed on shares of them.

    evaluate    a model on several owners' samples, with all servers on this machine
    Study       an owner's part in a study between organisations
    METRICS     the metrics by name, each with its description and its definition

Everything that is raised on purpose is a `PpauroraError`.

>>> import ppaurora
>>> ppaurora.METRICS["ap"].description
'average precision'
>>> ppaurora.METRICS["ap"].definition
'`average_precision_score(y_true, y_score)`'
"""

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
from ppaurora.evaluation import evaluate
from ppaurora.metrics import METRICS
from ppaurora.report import Report, RunCost
from ppaurora.version import __version__ as __version__

if TYPE_CHECKING:
    from ppaurora.owner.study import Study, StudyReport


__all__ = [
    "METRICS",
    "DataError",
    "InputError",
    "NotReleasedError",
    "PeerError",
    "PpauroraError",
    "ProtocolError",
    "RefusedError",
    "Report",
    "RunCost",
    "Study",
    "StudyReport",
    "UndefinedResultError",
    "UnsortedListError",
    "evaluate",
]


def __dir__() -> list[str]:
    return [*__all__, "__version__"]


def __getattr__(name: str) -> Any:
    """An owner's study is loaded when it is asked for: a server process starts without it."""
    if name in ("Study", "StudyReport"):
        from ppaurora.owner import study

        return getattr(study, name)
    raise AttributeError(f"module 'ppaurora' has no attribute '{name}'")
