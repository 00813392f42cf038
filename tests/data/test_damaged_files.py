"""Bytes changed, cut off or put in: a file is read or refused, whatever its format, and never a crash."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from ppaurora.data import read_data
from ppaurora.errors import InputError
from tests.support.formats import FILES, Columns

COLUMNS: Columns = {
    "patient": list("abcdefghi"),
    "score": [number / 9 for number in range(9)],
    "label": ["sick", "well", "well"] * 3,
}
TRIALS = 80


def damaged(content: bytes, chance: random.Random) -> bytes:
    damage = bytearray(content)
    for _ in range(chance.choice([1, 1, 2, 5])):
        place = chance.randrange(len(damage))
        kind = chance.choice(["change", "change", "change", "cut", "insert"])
        if kind == "change":
            damage[place] = chance.randrange(256)
        elif kind == "cut":
            del damage[max(place, 1) :]
        else:
            damage[place:place] = chance.randbytes(3)
    return bytes(damage)


@pytest.mark.parametrize("form", FILES)
def test_a_damaged_file_is_read_or_refused(form: str, tmp_path: Path) -> None:
    content = FILES[form](COLUMNS, tmp_path).read_bytes()
    chance = random.Random(form)  # noqa: S311
    path, refusals = tmp_path / "damaged", []
    for _ in range(TRIALS):
        path.write_bytes(damaged(content, chance))
        try:
            read_data(path, id="patient").samples("sick")
        except InputError as error:
            refusals.append(str(error))
    assert len(refusals) > TRIALS // 3
    assert all(says.startswith(str(path)) for says in refusals)
