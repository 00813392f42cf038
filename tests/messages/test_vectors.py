"""The recorded vectors: decoded, encoded, computed from their seeds; and the bad ones refused."""

from __future__ import annotations

from typing import Any

import pytest

from ppaurora import messages
from tests.messages.vectors import FILES, VectorFile
from tests.messages.vectors.file import FOLDER, error_named
from tests.messages.vectors.guard import problem_with

RECORDED = {file: file.recorded() for file in FILES}

each_file = pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)


def entries(kind: str, name: str) -> pytest.MarkDecorator:
    found = [(file, entry) for file in FILES for entry in RECORDED[file][kind]]
    ids = [f"{file.name}: {entry[name]}" for file, entry in found]
    return pytest.mark.parametrize(("file", "entry"), found, ids=ids)


@entries("vectors", "name")
def test_a_vector_decodes_encodes_and_follows_from_its_seeds(file: VectorFile, entry: dict[str, Any]) -> None:
    file.check(entry)


@entries("refused", "why")
def test_a_bad_one_is_refused(file: VectorFile, entry: dict[str, Any]) -> None:
    with pytest.raises(error_named(entry["error"])):
        file.take(entry)


@each_file
def test_the_code_makes_what_is_recorded(file: VectorFile) -> None:
    problem = problem_with(file)
    assert not problem, problem


@each_file
def test_a_file_says_what_it_is_and_names_every_vector_once(file: VectorFile) -> None:
    recorded = RECORDED[file]
    assert len(recorded["what"].split()) > 20
    assert recorded["version"] == messages.VERSION
    for kind, name in (("vectors", "name"), ("refused", "why")):
        names = [entry[name] for entry in recorded[kind]]
        assert len(set(names)) == len(names)
    assert recorded["vectors"]


def test_no_file_is_left_over() -> None:
    assert {path.name for path in FOLDER.iterdir()} == {*(file.path.name for file in FILES), "README.md"}
