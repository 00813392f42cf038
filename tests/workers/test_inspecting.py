"""A look into a cluster that does not come to its end, or finds something odd, is no good sign."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from ppaurora.io.models import to_json
from ppaurora.messages.findings import Finding
from ppaurora.messages.workers import Crew, RayPlace
from ppaurora.workers import inspecting
from ppaurora.workers.inspecting import inspect

CREW = Crew(workers=2, ray=RayPlace(address=("127.0.0.1", 1), credentials="ray"))
GOOD = Finding.good("Ray takes the token", "")


def _ends_with(code: int, said: bytes = b"") -> Any:
    return lambda *_, **__: subprocess.CompletedProcess([], code, said, b"")


def test_all_that_was_found_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    said = b"(raylet) something\n" + to_json(GOOD) + b"\n"
    monkeypatch.setattr(subprocess, "run", _ends_with(0, said))
    assert inspect(CREW, tmp_path) == [GOOD]


@pytest.mark.parametrize("code", [1, -6, -9])
def test_one_that_ends_in_the_middle_is_told_of(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, code: int
) -> None:
    """Ray aborts the process now and then: what was not looked at is not in order."""
    monkeypatch.setattr(subprocess, "run", _ends_with(code, to_json(GOOD) + b"\n"))
    found = inspect(CREW, tmp_path)
    assert found[0] == GOOD
    assert (found[-1].ok, bool(found[-1].fix)) == (False, True)


@pytest.mark.parametrize(("code", "ok"), [(77, True), (0, False), (1, False), (-6, False)])
def test_only_a_refusal_shows_that_a_token_is_asked_for(
    monkeypatch: pytest.MonkeyPatch, code: int, ok: bool
) -> None:
    monkeypatch.setattr(subprocess, "run", _ends_with(code))
    assert inspecting._asks_for_token(CREW).ok is ok


def test_all_folders_that_ray_spills_into_are_looked_at(tmp_path: Path) -> None:
    inside, outside = tmp_path / "data/ray", tmp_path / "elsewhere"
    for folder in (inside, outside):
        folder.mkdir(parents=True, mode=0o700)

    def spills_into(folders: object) -> bool:
        config = {"object_spilling_config": json.dumps({"params": {"directory_path": folders}})}
        state = SimpleNamespace(get_system_config=lambda: config)
        ray = SimpleNamespace(_private=SimpleNamespace(state=SimpleNamespace(state=state)))
        return inspecting._spilling(ray, tmp_path / "data").ok

    assert spills_into(str(inside))
    assert spills_into([str(inside)])
    assert not spills_into([str(inside), str(outside)])
    assert not spills_into(str(outside))


def test_a_module_that_is_not_there_is_no_good_sign(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Through a real process."""
    monkeypatch.setattr(inspecting, "_MODULE", "ppaurora.nowhere")
    assert [finding.ok for finding in inspect(CREW, tmp_path)] == [False]
