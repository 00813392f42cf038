"""Exact pooled AUROC and AUPR over several owners' samples, computed on shares by three servers."""

from ppaurora.errors import (
    DataError,
    InputError,
    PeerError,
    PpauroraError,
    ProtocolError,
    UndefinedResultError,
    UnsortedListError,
)
from ppaurora.evaluation import evaluate
from ppaurora.report import Report, RunCost

__version__ = "0.1.0"

__all__ = [
    "DataError",
    "InputError",
    "PeerError",
    "PpauroraError",
    "ProtocolError",
    "Report",
    "RunCost",
    "UndefinedResultError",
    "UnsortedListError",
    "evaluate",
]
