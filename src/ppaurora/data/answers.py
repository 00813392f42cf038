"""Words that say yes or no, positive or negative, in the larger European languages.

They are never taken by themselves: they only make a question, and the hint of an error, more to the point.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable

_YES_OF_ENGLISH = "yes y true t positive pos case event 1"
_NO_OF_ENGLISH = "no n false f negative neg control 0"
_YES = (
    "ja oui si sim tak ano igen evet da jah jā taip já kyllä да так ναι áno "
    "wahr vrai verdadero verdadeiro vero "
    "positiv positif positive positivo positiva positief pozytywny pozytywna dodatni pozitivní pozitívny "
    "pozitív pozitif pozitiv pozitivan positiivinen положительный положительно позитивний позитивен "
    "положителен θετικό θετικός θετική"
)
_NO = (
    "nein non não nee nej nei nie ne nem hayır hayir ei nu nē нет не ні όχι "
    "falsch faux falso "
    "negativ négatif négative negativo negativa negatief negatywny negatywna ujemny negativní negatívny "
    "negatív negatif negativan negatiivinen отрицательный отрицательно негативний негативен отрицателен "
    "αρνητικό αρνητικός αρνητική"
)


def _plain(word: str) -> str:
    """Return a word in lower case and without accents, which many a program drops; 1.0 is 1."""
    decomposed = unicodedata.normalize("NFKD", word.strip().casefold())
    return "".join(letter for letter in decomposed if not unicodedata.combining(letter)).removesuffix(".0")


_SAYS_YES = frozenset(map(_plain, f"{_YES_OF_ENGLISH} {_YES}".split()))
_SAYS_NO = frozenset(map(_plain, f"{_NO_OF_ENGLISH} {_NO}".split()))


def says_yes(label: str) -> bool:
    """Return whether a label stands for any positive class."""
    return _plain(label) in _SAYS_YES


def says_no(label: str) -> bool:
    """Return whether it stands for any negative class."""
    return _plain(label) in _SAYS_NO


def yes_and_no(labels: Iterable[str]) -> tuple[str, str] | None:
    """Return the labels that say yes and no, if there are two and one says each; else nothing."""
    two = list(labels)
    yes, no = [one for one in two if says_yes(one)], [one for one in two if says_no(one)]
    return (yes[0], no[0]) if len(two) == 2 and len(yes) == len(no) == 1 else None
