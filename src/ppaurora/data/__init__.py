"""An owner's samples in the clear: read from a file or arrays, and checked. They never leave the owner."""

from ppaurora.data.samples import Samples, check_samples
from ppaurora.data.table import read_table

__all__ = ["Samples", "check_samples", "read_table"]
