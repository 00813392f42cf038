"""Arguments that do not fit."""

from __future__ import annotations

from tests.cli.bad_inputs.row import Row, data, file

ROWS = [
    Row("one owner", (data,), "evaluate data.csv", "ppaurora: at least two owners are needed, got 1"),
    Row(
        "an unknown metric",
        (data,),
        "evaluate data.csv data.csv --metrics aurok",
        "ppaurora: unknown metric 'aurok'; there are: auroc, auroc_no_ties, youden_j, aupr, ap, "
        "partial_auroc, sensitivity_at_specificity, specificity_at_sensitivity, sensitivity, "
        "specificity, ppv, npv, f1, accuracy, net_benefit, roc_curve, precision_recall_curve, brier, "
        "observed_expected, calibration_in_the_large, reliability, histogram, smooth_calibration, ici, "
        "calibration_intercept, calibration_slope",
    ),
    Row(
        "one class only",
        (file("data.csv", "score,label\n0.5,1\n0.25,1\n"),),
        "evaluate data.csv data.csv --transport memory",
        "ppaurora: undefined: one class only",
    ),
    Row(
        "no owner",
        (),
        "evaluate",
        "Usage: ppaurora evaluate [OPTIONS] FILES...\n"
        "Try 'ppaurora evaluate --help' for help.\n"
        "\n"
        "Error: Missing argument 'FILES...'.",
    ),
    Row(
        "an unknown protocol",
        (data,),
        "evaluate data.csv data.csv --protocol quick",
        "Usage: ppaurora evaluate [OPTIONS] FILES...\n"
        "Try 'ppaurora evaluate --help' for help.\n"
        "\n"
        "Error: Invalid value for '--protocol': 'quick' is not one of 'fast', 'grid', 'paper'.",
    ),
    Row(
        "an even delta",
        (data,),
        "evaluate data.csv data.csv --protocol paper --delta 2",
        "ppaurora: delta must be an odd number, 1 or larger, not 2",
    ),
    Row(
        "thresholds that nobody wants",
        (data,),
        "evaluate data.csv data.csv --thresholds 0.5",
        "ppaurora: --thresholds: is a parameter of sensitivity, specificity, ppv, npv, f1, "
        "accuracy, net_benefit, roc_curve, precision_recall_curve; none was asked for",
    ),
    Row(
        "a timeout of nothing",
        (data,),
        "evaluate data.csv data.csv --timeout 0",
        "ppaurora: the timeout must be above 0 and at most 1000000 seconds",
    ),
    Row(
        "an unknown command",
        (),
        "sumbit data.csv",
        "Usage: ppaurora [OPTIONS] COMMAND [ARGS]...\n"
        "Try 'ppaurora --help' for help.\n"
        "\n"
        "Error: No such command 'sumbit'.",
    ),
    Row(
        "an unknown option",
        (data,),
        "check data.csv --scores risk",
        "Usage: ppaurora check [OPTIONS] DATA\n"
        "Try 'ppaurora check --help' for help.\n"
        "\n"
        "Error: No such option '--scores'. Did you mean '--score'?",
    ),
]
