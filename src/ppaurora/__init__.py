"""Exact pooled AUROC and AUPR over several owners' samples, computed on shares by three servers."""

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
from ppaurora.owner.study import Study, StudyReport
from ppaurora.report import Report, RunCost

__version__ = "0.1.0"

__all__ = [
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
