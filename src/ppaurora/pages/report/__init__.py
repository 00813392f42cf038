"""The report of a result: to keep, to print, to cite from."""

from ppaurora.pages.report.writing import FORMATS, make_report, write_report

__all__ = ["FORMATS", "make_report", "write_report"]
