"""Exact pooled AUROC and AUPR over several owners' samples, computed on shares of them.

    evaluate        a model on several owners' samples, with all servers on this machine
    tabulate, Grid  an owner's data of any size as counts on a grid, which both take in its place
    Study           an owner's part in a study between organisations
    verify_receipt  whether a receipt, or a result with its receipt, is what the nodes signed
    METRICS         the metrics by name, each a class with its description and its definition
    Policy          what may leave a computation: rounding, floors, hidden counts
    MetricName, ProtocolName, Transport   names as types, for annotations

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
    NotVerifiedError,
    PeerError,
    PpauroraError,
    ProtocolError,
    RefusedError,
    UndefinedResultError,
    UnsortedListError,
)
from ppaurora.version import __version__ as __version__

if TYPE_CHECKING:
    from ppaurora.check import DataCheck, DataWarning
    from ppaurora.data import CountTable, Grid, tabulate
    from ppaurora.evaluation.designed import (
        Comparison,
        DesignedResults,
        SitesResult,
        SliceResult,
        SubgroupResult,
    )
    from ppaurora.evaluation.evaluate import Transport, evaluate
    from ppaurora.evaluation.report import Report, RunCost
    from ppaurora.metrics import METRICS
    from ppaurora.metrics.names import MetricName
    from ppaurora.owner.ledger import OverlapWarning
    from ppaurora.owner.prepared import PreparedSubmission
    from ppaurora.owner.report import StudyReport
    from ppaurora.owner.study import Study
    from ppaurora.owner.verifying import verify_receipt
    from ppaurora.pages.report import save_figures, write_report
    from ppaurora.policy.rules import Policy
    from ppaurora.protocols.names import ProtocolName
    from ppaurora.statistics.differences import Difference
    from ppaurora.statistics.estimates import Estimate, Table
    from ppaurora.statistics.random_effects import RandomEffects
    from ppaurora.study.receipt import Receipt, Verification

__all__ = [
    "METRICS",
    "Comparison",
    "CountTable",
    "DataCheck",
    "DataError",
    "DataWarning",
    "DesignedResults",
    "Difference",
    "Estimate",
    "Grid",
    "InputError",
    "MetricName",
    "NotReleasedError",
    "NotVerifiedError",
    "OverlapWarning",
    "PeerError",
    "Policy",
    "PpauroraError",
    "PreparedSubmission",
    "ProtocolError",
    "ProtocolName",
    "RandomEffects",
    "Receipt",
    "RefusedError",
    "Report",
    "RunCost",
    "SitesResult",
    "SliceResult",
    "Study",
    "StudyReport",
    "SubgroupResult",
    "Table",
    "Transport",
    "UndefinedResultError",
    "UnsortedListError",
    "Verification",
    "evaluate",
    "save_figures",
    "tabulate",
    "verify_receipt",
    "write_report",
]


def __dir__() -> list[str]:
    return [*__all__, "__version__"]


_HOMES = {
    "METRICS": "ppaurora.metrics",
    "Comparison": "ppaurora.evaluation.designed",
    "CountTable": "ppaurora.data",
    "DataCheck": "ppaurora.check",
    "DataWarning": "ppaurora.check",
    "DesignedResults": "ppaurora.evaluation.designed",
    "Difference": "ppaurora.statistics.differences",
    "Estimate": "ppaurora.statistics.estimates",
    "Grid": "ppaurora.data",
    "MetricName": "ppaurora.metrics.names",
    "OverlapWarning": "ppaurora.owner.ledger",
    "Policy": "ppaurora.policy.rules",
    "PreparedSubmission": "ppaurora.owner.prepared",
    "ProtocolName": "ppaurora.protocols.names",
    "RandomEffects": "ppaurora.statistics.random_effects",
    "Receipt": "ppaurora.study.receipt",
    "Report": "ppaurora.evaluation.report",
    "RunCost": "ppaurora.evaluation.report",
    "SitesResult": "ppaurora.evaluation.designed",
    "SliceResult": "ppaurora.evaluation.designed",
    "Study": "ppaurora.owner.study",
    "StudyReport": "ppaurora.owner.report",
    "SubgroupResult": "ppaurora.evaluation.designed",
    "Table": "ppaurora.statistics.estimates",
    "Transport": "ppaurora.evaluation.evaluate",
    "Verification": "ppaurora.study.receipt",
    "evaluate": "ppaurora.evaluation.evaluate",
    "save_figures": "ppaurora.pages.report",
    "tabulate": "ppaurora.data",
    "verify_receipt": "ppaurora.owner.verifying",
    "write_report": "ppaurora.pages.report",
}


def __getattr__(name: str) -> Any:
    """Loaded when it is asked for: a server process and a command start with what they need."""
    if name in _HOMES:
        return getattr(importlib.import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'ppaurora' has no attribute '{name}'")
