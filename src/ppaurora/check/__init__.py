"""A look at an owner's data before it is sent. Nothing of it leaves the owner's machine."""

from ppaurora.agreement.designs import check_rows_per_person
from ppaurora.check.concerns import Concern, DataWarning
from ppaurora.check.data_check import DataCheck, check_data
from ppaurora.check.design_check import DesignCheck, SliceCheck, shown_auroc
from ppaurora.statistics.histogram import ScoreBin

__all__ = [
    "Concern",
    "DataCheck",
    "DataWarning",
    "DesignCheck",
    "ScoreBin",
    "SliceCheck",
    "check_data",
    "check_rows_per_person",
    "shown_auroc",
]
