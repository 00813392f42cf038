"""A change of the wire format is noticed, whatever it is, and vectors of a released version stay."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from ppaurora import messages
from ppaurora.channel import frames
from ppaurora.io.models import StrictModel
from ppaurora.messages import nodes
from ppaurora.messages.nodes import AttemptNumber
from ppaurora.messages.owners import Digest
from ppaurora.session import agreement
from ppaurora.sharing.stages import ResultShare
from ppaurora.suites.bitsliced.shares import PlanesShare
from tests.messages import make_vectors
from tests.messages.vectors import FILES, file
from tests.messages.vectors.guard import CHANGED, STALE, problem_with

BY_NAME = {one.name: one for one in FILES}


def rename_a_field(patch: pytest.MonkeyPatch) -> None:
    class Stop(nodes.Question):
        __module__ = nodes.__name__
        remark: str

    patch.setattr(nodes, "Stop", Stop)


def reorder_fields(patch: pytest.MonkeyPatch) -> None:
    class Outcome(StrictModel, tag_field="ask", tag="outcome"):
        __module__ = nodes.__name__
        attempt: AttemptNumber
        study: Digest

    patch.setattr(nodes, "Outcome", Outcome)


def drop_a_message(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(nodes, "Release", None)


def change_the_magic(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(frames, "_MAGIC", b"PPA%d" % (messages.VERSION + 1))


def shorten_the_sessions_name(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(agreement, "SESSION_BYTES", 8)


def reverse_planes(patch: pytest.MonkeyPatch) -> None:
    def to_bytes(share: PlanesShare) -> bytes:
        return share.planes[::-1].tobytes()

    patch.setattr(PlanesShare, "to_bytes", to_bytes)


def write_hexadecimal(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(ResultShare, "to_plain", lambda part: part.to_bytes().hex())


CHANGES: dict[str, tuple[Callable[[pytest.MonkeyPatch], None], str]] = {
    "a field has another name": (rename_a_field, "nodes"),
    "fields are in another order": (reorder_fields, "nodes"),
    "a message is gone": (drop_a_message, "nodes"),
    "frames begin differently": (change_the_magic, "frame"),
    "the session's name is shorter": (shorten_the_sessions_name, "session"),
    "planes are in another order": (reverse_planes, "input_shares_fast"),
    "parts of a result are written differently": (write_hexadecimal, "result_fast"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_changed_wire_format_is_noticed(change: str, monkeypatch: pytest.MonkeyPatch) -> None:
    patch, name = CHANGES[change]
    patch(monkeypatch)
    problem = problem_with(BY_NAME[name])
    assert problem.startswith(f"{name}.json (")
    assert problem.endswith(CHANGED)


def test_a_new_message_only_asks_for_its_vectors(monkeypatch: pytest.MonkeyPatch) -> None:
    class Wait(nodes.Question):
        __module__ = nodes.__name__
        seconds: float

    monkeypatch.setattr(nodes, "Wait", Wait, raising=False)
    assert problem_with(BY_NAME["nodes"]) == f"nodes.json: {STALE}"


def test_a_raised_version_asks_for_its_vectors(monkeypatch: pytest.MonkeyPatch) -> None:
    rename_a_field(monkeypatch)
    monkeypatch.setattr(messages, "VERSION", messages.VERSION + 1)
    assert problem_with(BY_NAME["nodes"]) == f"nodes.json: {STALE}"


def test_vectors_of_a_released_version_are_not_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(file, "FOLDER", tmp_path)
    nodes_file = BY_NAME["nodes"]
    assert make_vectors.main([], [nodes_file]) == 0
    before = nodes_file.path.read_bytes()
    assert make_vectors.main([], [nodes_file]) == 0, "what is the same may be written again"
    rename_a_field(monkeypatch)
    assert make_vectors.main([], [nodes_file]) == 1
    assert CHANGED in capsys.readouterr().err
    assert nodes_file.path.read_bytes() == before
    monkeypatch.setattr(messages, "VERSION", messages.VERSION + 1)
    assert make_vectors.main([], [nodes_file]) == 0
    assert msgspec.json.decode(nodes_file.path.read_bytes())["version"] == messages.VERSION
