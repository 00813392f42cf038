"""`[workers]` of node.toml: strict, with a word on what is wrong; how many workers follow from it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from ppaurora.errors import InputError, PeerMisbehavedError
from ppaurora.messages.nodes import Answer, Verdict
from ppaurora.node.leading import _check_ready
from ppaurora.study.plan import read_toml
from ppaurora.study.workers import SAMPLE, WorkerSettings
from ppaurora.suites.role import Role
from ppaurora.workers import local
from ppaurora.workers.local import workers_here


def read(folder: Path, text: str) -> WorkerSettings:
    path = folder / "workers.toml"
    path.write_text(text)
    return read_toml(WorkerSettings, path)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("count = 3", "count: expected 1, 2, 4, 8, ... up to 64, or 'auto'"),
        ("count = 0", "count"),
        ("count = 128", "count"),
        ('count = "many"', "count"),
        ("worker = 2", "worker: there is no such setting"),
        ('engine = "dask"', "engine"),
        ('engine = "ray"', "count: 'auto' looks at this machine only; with Ray, say how many, such as 4"),
        ('engine = "ray"\ncount = 4', "address: is missing; with Ray, name the cluster's head"),
        ('engine = "ray"\ncount = 4\naddress = "head"', "address"),
        ("cpus = 0", "cpus"),
        ("ports = [9100, 9000]", "ports: expected the first and the last port"),
        ("ports = [9000]", "ports"),
    ],
)
def test_what_cannot_be_meant_is_refused(tmp_path: Path, text: str, problem: str) -> None:
    with pytest.raises(InputError, match=re.escape(problem)):
        read(tmp_path, text)


def test_ray_is_found_from_the_kit(tmp_path: Path) -> None:
    settings = read(
        tmp_path,
        'engine = "ray"\ncount = 4\naddress = "10.0.0.5:6379"\ncpus = 2.0\nmemory_mb = 500\n'
        "ports = [9000, 9063]",
    )
    place = settings.cluster(tmp_path / "kit")
    assert place is not None
    assert (place.address, place.cpus, place.memory) == (("10.0.0.5", 6379), 2.0, 500_000_000)
    assert (place.credentials, place.ports) == (str(tmp_path / "kit/ray"), (9000, 9063))
    assert WorkerSettings(count=4).cluster(tmp_path) is None


def test_the_sample_says_what_there_is_without_it(tmp_path: Path) -> None:
    (tmp_path / "sample.toml").write_text(SAMPLE.removeprefix("[workers]"))
    assert read_toml(WorkerSettings, tmp_path / "sample.toml") == WorkerSettings()


@pytest.mark.parametrize(
    ("samples", "workers"), [(1, 1), (99_999, 1), (100_000, 2), (399_999, 4), (400_000, 8), (10**9, 8)]
)
def test_a_study_has_no_more_workers_than_are_worth_it(samples: int, workers: int) -> None:
    settings = WorkerSettings(count=8)
    assert settings.workers_for([samples - samples // 3, samples // 3]) == workers


@pytest.mark.parametrize(
    ("cores", "memory", "needed", "servers", "workers"),
    [
        (1, 1 << 36, 0, 1, 1),
        (7, 1 << 36, 0, 1, 4),
        (8, 1 << 36, 0, 1, 8),
        (8, 1 << 36, 0, 3, 2),
        (200, 1 << 40, 0, 1, 64),
        (8, 3 << 27, 0, 1, 2),  # memory for three
        (8, 1 << 30, 1 << 30, 1, 1),  # the data takes all of it
    ],
)
def test_auto_takes_the_cores_that_are_there_memory_permitting(
    monkeypatch: pytest.MonkeyPatch, cores: int, memory: int, needed: int, servers: int, workers: int
) -> None:
    monkeypatch.setattr(local, "_cores", lambda: cores)
    monkeypatch.setattr(local, "_available_bytes", lambda: memory)
    assert workers_here(needed, servers) == workers


@pytest.mark.parametrize("workers", [3, 63])
def test_a_number_that_nobody_can_have_is_not_agreed_on(workers: int) -> None:
    """Before an attempt is spent on it."""
    _check_ready(Role.HELPER, Answer(answer=Verdict.READY, workers=64))
    with pytest.raises(PeerMisbehavedError, match=f"helper has {workers} workers, which nobody can have"):
        _check_ready(Role.HELPER, Answer(answer=Verdict.READY, workers=workers))
