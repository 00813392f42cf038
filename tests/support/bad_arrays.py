"""Arrays that must be refused, as they come from notebooks."""

from __future__ import annotations

import numpy as np

from tests.support.bad_input import ONLY_FAST_32, ONLY_GRID, ONLY_PAPER, PLANTED, BadArrays

_PLANTED = float(PLANTED)
BAD_ARRAYS = [
    BadArrays("nan", [0, 1], [0.5, np.nan], 2, "y_score", "the score is missing (NaN)"),
    BadArrays("nan in float32", [0, 1], np.array([0.5, np.nan], np.float32), 2, "y_score", "missing (NaN)"),
    BadArrays(
        "nan in longdouble", [0, 1], np.array([0.5, np.nan], np.longdouble), 2, "y_score", "missing (NaN)"
    ),
    BadArrays("inf", [0, 1], [np.inf, 0.5], 1, "y_score", "the score is infinite"),
    BadArrays("minus inf", [0, 1], [0.5, -np.inf], 2, "y_score", "the score is infinite"),
    BadArrays(
        "above one",
        [0, 1],
        [0.5, 1 + _PLANTED],
        2,
        "y_score",
        "outside [0, 1] (the protocol 'paper'",
        protocols=ONLY_PAPER,
    ),
    *(
        BadArrays(name, [0, 1], [0.5, score], 2, "y_score", "outside [0, 1]", protocols=ONLY_PAPER)
        for name, score in (("below zero", -_PLANTED), ("smallest below zero", -5e-324))
    ),
    *(
        BadArrays(name, [0, 1], [0.5, score], 2, "y_score", "outside of the study's", protocols=ONLY_GRID)
        for name, score in (
            ("above the grid", 1 + _PLANTED),
            ("below the grid", -_PLANTED),
            ("far below the grid", -1.7976931348623157e308),
            ("integer above the grid", 7391826450917),
        )
    ),
    BadArrays(
        "integer score",
        [0, 1],
        [0, 7391826450917],
        2,
        "y_score",
        "outside [0, 1]",
        protocols=ONLY_PAPER,
    ),
    *(
        BadArrays(
            f"{name} for keys of 32 bits",
            [1, 0, 1],
            [0.5, score, _PLANTED],
            2,
            "y_score",
            "not a float32, as keys of 32 bits need (use keys of 64 bits)",
            protocols=ONLY_FAST_32,
        )
        for name, score in (
            ("float64", _PLANTED),
            ("one bit too many", 1 + 2.0**-24),
            ("too large", 2.0**128),
            ("too large to round down", 3.5e38),
            ("too small", -(2.0**-150)),
            ("integer", 2**24 + 1),
        )
    ),
    BadArrays(
        "None as score",
        [0, 1, 0],
        [0.5, _PLANTED, None],
        3,
        "y_score",
        "the score is missing (correct it at the source, or leave",
    ),
    BadArrays("text as score", [0, 1], ["0.5", PLANTED], None, "y_score", "must be numbers, not texts"),
    BadArrays(
        "text among scores", [0, 1], np.array([0.5, PLANTED], object), None, "y_score", "must be numbers"
    ),
    BadArrays("truth as score", [0, 1], [True, False], None, "y_score", "must be numbers, not bool"),
    BadArrays(
        "complex score", [0, 1], [0.5, _PLANTED + 1j], None, "y_score", "must be numbers, not complex128"
    ),
    BadArrays(
        "int64 that would be rounded", [0, 1], [0, 2**63 - 1], 2, "y_score", "does not fit a float64 exactly"
    ),
    BadArrays(
        "uint64 that would be rounded",
        [0, 1],
        np.array([0, 2**64 - 1], np.uint64),
        2,
        "y_score",
        "does not fit a float64 exactly",
    ),
    BadArrays(
        "masked score",
        [0, 1],
        np.ma.array([0.5, _PLANTED], mask=[False, True]),
        2,
        "y_score",
        "the value is masked",
    ),
    BadArrays(
        "masked label",
        np.ma.array([0, 1], mask=[True, False]),
        [0.5, _PLANTED],
        1,
        "y_true",
        "the value is masked",
    ),
    BadArrays("label 2", [0, 2], [0.5, _PLANTED], 2, "y_true", "neither 0 nor 1 (use 0/1 or true/false"),
    BadArrays("label between", [0, _PLANTED], [0.5, 0.5], 2, "y_true", "neither 0 nor 1"),
    BadArrays("label infinite", [0, np.inf], [0.5, 0.5], 2, "y_true", "neither 0 nor 1"),
    BadArrays("word as label", ["0", f"x{PLANTED}"], [0.5, 0.5], 2, "y_true", "pos_label"),
    BadArrays(
        "None as label",
        [1, None],
        [0.5, _PLANTED],
        2,
        "y_true",
        "the label is missing (correct it at the source, or leave",
    ),
    BadArrays("nan as label", [1, np.nan], [0.5, _PLANTED], 2, "y_true", "the label is missing"),
    BadArrays(
        "None beside pos_label", ["sick", None], [0.5, _PLANTED], 2, "y_true", "missing", pos_label="sick"
    ),
    BadArrays(
        "third label",
        ["a", "b", f"x{PLANTED}"],
        [0.5, 0.5, 0.5],
        3,
        "y_true",
        "a second label",
        pos_label="a",
    ),
    BadArrays(
        "unequal lengths", [0, 1, 1], [0.5, _PLANTED], None, None, "y_true has 3 values, y_score has 2"
    ),
    BadArrays("no samples", [], [], None, None, "has no samples (leave this owner out)"),
    BadArrays(
        "scores for both classes",
        [0, 1],
        [[0.5, 0.5], [0.5, _PLANTED]],
        None,
        "y_score",
        "got an array of shape (2, 2) (of a classifier's probabilities take the column",
    ),
    BadArrays("labels in a row", [[0, 1]], [0.5, _PLANTED], None, "y_true", "shape (1, 2)"),
    BadArrays("labels in a cube", [[[0]], [[1]]], [0.5, _PLANTED], None, "y_true", "shape (2, 1, 1)"),
    BadArrays("a single number", 1, [0.5], None, "y_true", "got an array of shape ()"),
    BadArrays("ragged lists", [0, 1], [[0.5], [0.5, _PLANTED]], None, "y_score", "one value per sample"),
]
