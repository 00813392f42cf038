"""Which columns of a file are meant, guessed from their names; a person sees the guess and changes it."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ppaurora.agreement.evaluation_spec import EvaluationSpec
from ppaurora.check.labels import Spelling
from ppaurora.data import Columns

_SCORES = ("score", "risk", "probability", "prob", "prediction", "predicted", "pred", "output", "logit", "p")
_LABELS = ("label", "outcome", "target", "truth", "true", "class", "event", "died", "death", "diagnosis", "y")
_IDS = ("id", "identifier", "key", "uuid", "mrn", "pseudonym")


def guess_columns(names: Sequence[str], evaluation: EvaluationSpec) -> Columns:
    """Return the columns that are meant, with an empty name where there is no good guess."""
    wanted = _words(evaluation.positive_class) + _words(evaluation.outcome)
    label = _best(names, _LABELS) or next((name for name in names if set(_words(name)) & set(wanted)), "")
    rest = [name for name in names if name != label]
    score = _best(rest, _SCORES)
    others = [name for name in rest if name != score]
    if not score and len(others) == 1:
        score = others[0]
    ids = [name for name in others if name != score]
    return Columns(score=score, label=label, id=_best(ids, _IDS) or None)


def named_positive(labels: Sequence[str], evaluation: EvaluationSpec) -> str | None:
    """Return which of two labels is the positive class that the plan names, if one is."""
    wanted = evaluation.positive_class
    named = [one for one in labels if wanted and Spelling(one, 0, positive=True).names(wanted)]
    return named[0] if len(labels) <= 2 and len(named) == 1 else None


def _best(names: Sequence[str], known: Sequence[str]) -> str:
    """Return the first of the known words that a column has: the whole name before a part of it."""
    for word in known:
        for name in names:
            if _words(name) == [word]:
                return name
    for word in known:
        for name in names:
            if word in _words(name):
                return name
    return ""


def _words(text: str) -> list[str]:
    """Return the words of a name, also of one such as y_score or patientId."""
    return [word.casefold() for word in re.findall(r"[A-Z]?[^\W\d_A-Z]+|[A-Z]+(?![a-z])|\d+", text)]
