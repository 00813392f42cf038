"""The same in Python."""

from __future__ import annotations

from typing import Any

import numpy as np

import ppaurora
from tests.cli.bad_inputs.row import Row, data, kit

# Without their types: what is tried here is what these forbid.
evaluate: Any = ppaurora.evaluate
Study: Any = ppaurora.Study

Y, P = [1, 0, 1, 0], [0.9, 0.4, 0.7, 0.2]
PAIRS = [(Y, P), (Y, P)]

ROWS = [
    Row(
        "evaluate as in scikit-learn",
        (),
        lambda _: evaluate(Y, P),
        "evaluate takes the owners in one list, a pair of arrays for each; write "
        "evaluate([(y_true_1, y_score_1), (y_true_2, y_score_2)])",
    ),
    Row(
        "one owner in two arrays",
        (),
        lambda _: evaluate([Y, P]),
        "these are two arrays of one owner, not two owners; write evaluate([(y_true_1, y_score_1), "
        "(y_true_2, y_score_2)])",
    ),
    Row("one owner only", (), lambda _: evaluate([(Y, P)]), "at least two owners are needed, got 1"),
    Row(
        "a table for a list of owners",
        (),
        lambda _: evaluate({"score": P, "label": Y}),
        "a dict names owners, and this one names columns; write evaluate([table_1, table_2], "
        "score='...', label='...')",
    ),
    Row(
        "a path for a list of owners",
        (data,),
        lambda _: evaluate("data.csv"),
        "evaluate takes a list of owners; write evaluate([path_1, path_2])",
    ),
    Row(
        "a number for a list of owners",
        (),
        lambda _: evaluate(3),
        "evaluate takes a list of owners; write evaluate([(y_true_1, y_score_1), (y_true_2, y_score_2)])",
    ),
    Row(
        "arrays of unequal lengths",
        (),
        lambda _: evaluate([(Y, P), (Y, P[:3])]),
        "owner 2: y_true has 4 values, y_score has 3",
    ),
    Row(
        "probabilities of both classes",
        (),
        lambda _: evaluate([(Y, P), (Y, np.ones((4, 2)))]),
        "owner 2, column 'y_score': needs one value per sample, got an array of shape (4, 2) (of a "
        "classifier's probabilities take the column of the positive class)",
    ),
    Row(
        "scores as text in Python",
        (),
        lambda _: evaluate([(Y, P), (Y, ["a", "b", "c", "d"])]),
        "owner 2, column 'y_score': must be numbers, not texts (convert them to numbers before)",
    ),
    Row(
        "NaN in Python",
        (),
        lambda _: evaluate([(Y, P), (Y, [0.5, np.nan, 0.5, 0.5])]),
        "owner 2, row 2, column 'y_score': the score is missing (NaN) (correct it at the source, or leave "
        "the row out: evaluate, check and submit do so, and count it, with --leave-out-missing, in Python "
        "leave_out_missing=True; never make up a value)",
    ),
    Row(
        "a misspelt metric in Python",
        (),
        lambda _: evaluate(PAIRS, metrics=["aurok"]),
        "unknown metric 'aurok'; there are: auroc, auroc_no_ties, youden_j, aupr, ap, "
        "partial_auroc, sensitivity_at_specificity, specificity_at_sensitivity, sensitivity, "
        "specificity, ppv, npv, f1, accuracy, net_benefit, roc_curve, precision_recall_curve, brier, "
        "observed_expected, calibration_in_the_large, reliability, histogram, smooth_calibration, ici, "
        "calibration_intercept, calibration_slope",
    ),
    Row(
        "a metric that is no list",
        (),
        lambda _: evaluate(PAIRS, metrics="auroc"),
        "metrics must be a list of names, for instance ['auroc', 'aupr']",
    ),
    Row(
        "an unknown transport",
        (),
        lambda _: evaluate(PAIRS, transport="http"),
        "unknown transport 'http'; there are: memory, tls",
    ),
    Row(
        "no kit in Python",
        (),
        lambda _: Study("nowhere"),
        "nowhere: there is no such folder; an owner's kit is needed",
    ),
    Row(
        "an unknown study in Python",
        (kit("north", "trial"),),
        lambda _: Study("kit", "sepsis"),
        "kit: there is no study 'sepsis'; there are: trial",
    ),
    Row(
        "no column in Python",
        (data, kit("north", "trial")),
        lambda _: Study("kit").check("data.csv", score="risk"),
        "data.csv, row 1, column 'risk': there is no such column (the file has: score, label; "
        "write --score COLUMN, in Python score='COLUMN')",
    ),
    Row(
        "no data in Python",
        (kit("north", "trial"),),
        lambda _: Study("kit").check(3),
        "north: give two arrays, (y_true, y_score), a data frame, or a file",
    ),
    Row(
        "withdrawing nothing in Python",
        (kit("north", "trial"),),
        lambda _: Study("kit").withdraw(),
        "nothing was submitted to the study 'trial'; there is nothing to withdraw",
    ),
    Row(
        "no receipt in Python",
        (),
        lambda _: ppaurora.verify_receipt("receipt.json"),
        "receipt.json: cannot be read: No such file or directory",
    ),
]
