"""R's package pROC, where it is installed: its data and its own figures."""

from __future__ import annotations

import atexit
import functools
import itertools
import os
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass

import pytest

HOW_TO_INSTALL = "on Debian: apt-get install --no-install-recommends r-cran-proc"


END = "--- end of the script ---"


@functools.cache
def _r_with_proc() -> subprocess.Popen[str]:
    """Return one R for all tests of this process, with pROC loaded; it ends with its input."""
    rscript = shutil.which("Rscript")
    if rscript is None:
        pytest.skip(f"compares with pROC, and R is not installed; {HOW_TO_INSTALL}")
    process = subprocess.Popen(
        [rscript, "--vanilla", "-"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | {"LC_ALL": "C"},
    )
    atexit.register(process.communicate)
    found = _said_by(process, 'cat(requireNamespace("pROC", quietly = TRUE), "\\n")')
    if found != ["TRUE "]:
        pytest.skip(f"compares with pROC, which R does not have; {HOW_TO_INSTALL}")
    _said_by(process, "suppressMessages(library(pROC))")
    return process


def _said_by(process: subprocess.Popen[str], script: str) -> list[str]:
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(f'{script}\ncat("{END}\\n")\n')
    process.stdin.flush()
    said = list(itertools.takewhile(lambda line: line != f"{END}\n", process.stdout))
    assert process.poll() is None, "R has ended; what it complained of is on standard error"
    return [line.rstrip("\n") for line in said]


def run_proc(script: str) -> list[str]:
    """Return the lines that a script prints in R with pROC loaded. Skip the test where there is no pROC."""
    return _said_by(_r_with_proc(), script)


@dataclass(frozen=True)
class Asah:
    """pROC's example: 113 patients with aneurysmal subarachnoid haemorrhage, three scores of each."""

    y_true: tuple[int, ...]  # 1: poor outcome
    y_scores: dict[str, tuple[float, ...]]  # by name: wfns, s100b, ndka


@functools.cache
def asah_from_proc() -> Asah:
    """pROC's data set aSAH, of which we keep no copy. Skips the test where there is no pROC."""
    table = run_proc("""
        data(aSAH)
        cat(sprintf("%d,%d,%.17g,%.17g\\n", as.integer(aSAH$outcome == "Poor"), as.integer(aSAH$wfns),
                    aSAH$s100b, aSAH$ndka), sep = "")
    """)
    columns = list(zip(*(map(float, line.split(",")) for line in table), strict=True))
    labels, *scores = columns
    return Asah(tuple(map(int, labels)), dict(zip(("wfns", "s100b", "ndka"), scores, strict=True)))


@dataclass(frozen=True)
class ProcFigures:
    """What pROC says of one curve; None where it says NA."""

    auroc: float
    variance: float | None
    interval: tuple[float, float] | None
    printed: tuple[str, str]  # of the curve's area, and of its interval
    warnings: str


def figures_of_proc(y_true: Sequence[int], y_score: Sequence[float], level: float = 0.95) -> ProcFigures:
    """AUROC, DeLong's variance and interval, and the lines that pROC prints of them."""
    auroc, variance, low, high, area, interval, *warnings = run_proc(f"""
        options(warn = 1)
        curve <- roc(c({_listed(y_true)}), c({_listed(y_score)}), levels = c(0, 1), direction = "<")
        sink(stdout(), type = "message")
        interval <- suppressWarnings(ci.auc(curve, conf.level = {level!r}))
        variance <- suppressWarnings(var(curve))
        cat(sprintf("%.17g\\n", c(auc(curve), variance, interval[1], interval[3])), sep = "")
        print(auc(curve))
        print(interval)
        invisible(ci.auc(curve))
        sink(type = "message")
    """)
    return ProcFigures(
        float(auroc),
        None if variance == "NA" else float(variance),
        None if low == "NA" else (float(low), float(high)),
        (area, interval),
        "\n".join(warnings),
    )


def _listed(numbers: Sequence[float]) -> str:
    return ", ".join(f"{float(number):.17g}" for number in numbers)
