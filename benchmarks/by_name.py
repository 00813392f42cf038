"""`ppaurora.evaluate` with names that come from options and files, which are texts to a type checker."""

from __future__ import annotations

from collections.abc import Callable

from ppaurora.evaluation.evaluate import evaluate
from ppaurora.evaluation.report import Report

evaluate_by_name: Callable[..., Report] = evaluate
