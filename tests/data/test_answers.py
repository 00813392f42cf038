"""Words for yes and no: recognised in many languages, proposed, and never taken."""

from __future__ import annotations

import pytest

from ppaurora.data import Columns, check_samples, read_data, read_dataset
from ppaurora.data.answers import says_no, says_yes, yes_and_no
from ppaurora.errors import DataError

PAIRS = [
    *(
        ("ja", "nein"),
        ("oui", "non"),
        ("sí", "no"),
        ("si", "no"),
        ("sim", "não"),
        ("ja", "nee"),
        ("ja", "nej"),
    ),
    *(("tak", "nie"), ("ano", "ne"), ("áno", "nie"), ("igen", "nem"), ("evet", "hayır"), ("EVET", "HAYIR")),
    *(
        ("да", "нет"),
        ("так", "ні"),
        ("да", "не"),
        ("ναι", "όχι"),
        ("ΝΑΙ", "ΟΧΙ"),
        ("kyllä", "ei"),
        ("da", "nu"),
    ),
    *(("ja", "nei"), ("jah", "ei"), ("taip", "ne"), ("jā", "nē"), ("yes", "no"), ("Y", "n")),
    *(("positiv", "negativ"), ("positif", "négatif"), ("positivo", "negativo"), ("positief", "negatief")),
    *(
        ("dodatni", "ujemny"),
        ("положительный", "отрицательный"),
        ("θετικό", "αρνητικό"),
        ("pozitív", "negatív"),
    ),
]


@pytest.mark.parametrize(("yes", "no"), PAIRS, ids=str)
def test_the_error_proposes_the_option_and_nothing_is_taken(yes: str, no: str) -> None:
    data = read_data({"score": [0.25, 0.75, 0.5], "label": [no, yes, no]})
    with pytest.raises(DataError, match="row 1, column 'label': the label is neither 0 nor 1") as caught:
        data.samples()
    assert caught.value.hint == (
        f"the labels are '{yes}' and '{no}': if '{yes}' means positive, add --pos-label {yes}, in Python "
        f"pos_label={yes!r}"
    )
    assert data.samples(yes).labels.tolist() == [0, 1, 0]


def test_no_word_says_both() -> None:
    words = {word for pair in PAIRS for word in pair}
    assert not [word for word in words if says_yes(word) and says_no(word)]


@pytest.mark.parametrize(
    "labels", [("ja", "weiss nicht"), ("ja", "nein", "unbekannt"), ("ja", "oui"), ("ja",), ("sick", "well")]
)
def test_other_words_are_not_proposed(labels: tuple[str, ...]) -> None:
    assert yes_and_no(labels) is None
    with pytest.raises(DataError, match="use 0/1 or true/false, or name the positive label with --pos-label"):
        check_samples("north", labels, [0.5] * len(labels))


def test_missing_labels_are_no_words() -> None:
    columns = Columns(leave_out_missing=True)
    dataset = read_dataset({"score": [0.25, 0.75, 0.5], "label": ["nein", "", "ja"]}, columns)
    with pytest.raises(DataError, match="if 'ja' means positive, add --pos-label ja"):
        dataset.samples()
