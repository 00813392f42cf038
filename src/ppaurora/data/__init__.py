"""An owner's samples in the clear: read from a file or memory, and checked. They never leave the owner."""

from ppaurora.data.chunks import Description
from ppaurora.data.columns import ColumnKeywords, Columns
from ppaurora.data.count_table import CountTable
from ppaurora.data.dataset import CountedDataset, Dataset
from ppaurora.data.design import Design
from ppaurora.data.grid import Grid
from ppaurora.data.owners import designed_samples, samples_of
from ppaurora.data.reading import read_columns, read_data, read_dataset, read_table, tabulate
from ppaurora.data.samples import Samples, check_samples
from ppaurora.data.score_counts import ScoreCounts

__all__ = [
    "ColumnKeywords",
    "Columns",
    "CountTable",
    "CountedDataset",
    "Dataset",
    "Description",
    "Design",
    "Grid",
    "Samples",
    "ScoreCounts",
    "check_samples",
    "designed_samples",
    "read_columns",
    "read_data",
    "read_dataset",
    "read_table",
    "samples_of",
    "tabulate",
]
