"""The report of a result: to keep, to print, to cite from."""

from ppaurora.pages.report.saving import save_figures
from ppaurora.pages.report.writing import FORMATS, make_report, write_report

__all__ = ["FORMATS", "make_report", "save_figures", "write_report"]
