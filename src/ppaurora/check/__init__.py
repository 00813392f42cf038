"""A look at an owner's data before it is sent. Nothing of it leaves the owner's machine."""

from ppaurora.check.concerns import Concern, DataWarning
from ppaurora.check.data_check import DataCheck, check_data
from ppaurora.statistics.histogram import ScoreBin

__all__ = ["Concern", "DataCheck", "DataWarning", "ScoreBin", "check_data"]
