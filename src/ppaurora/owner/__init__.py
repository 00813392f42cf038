"""The data owner's side: read and check, encode and sort, split; in the end, add the two result shares."""

from ppaurora.owner.collect import combine
from ppaurora.owner.prepare import KEY_WIDTHS, Prepared, least_key_bits, prepare, split
from ppaurora.owner.samples import Samples, check_samples
from ppaurora.owner.table import read_table

__all__ = [
    "KEY_WIDTHS",
    "Prepared",
    "Samples",
    "check_samples",
    "combine",
    "least_key_bits",
    "prepare",
    "read_table",
    "split",
]
