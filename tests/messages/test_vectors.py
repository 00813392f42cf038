"""The recorded vectors: decoded, encoded, computed from their seeds; and the bad ones refused."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import pytest

from ppaurora import messages
from tests.messages.vectors import FILES, VectorFile
from tests.messages.vectors.file import FOLDER, error_named
from tests.messages.vectors.guard import problem_with

RECORDED = {file: file.recorded() for file in FILES}

each_file = pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)


@contextlib.contextmanager
def named(name: str) -> Iterator[None]:
    """Say with whatever fails which vector it is."""
    try:
        yield
    except BaseException as failure:
        failure.add_note(f"the vector: {name}")
        raise


@each_file
def test_vectors_decode_encode_and_follow_from_their_seeds(file: VectorFile) -> None:
    for entry in RECORDED[file]["vectors"]:
        with named(entry["name"]):
            file.check(entry)


@each_file
def test_bad_ones_are_refused(file: VectorFile) -> None:
    for entry in RECORDED[file]["refused"]:
        with named(entry["why"]), pytest.raises(error_named(entry["error"])):
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
