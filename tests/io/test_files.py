"""Files are whole and durable, in an order that a power cut cannot spoil."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from ppaurora.io.files import replace_file


def test_a_file_is_durable_before_it_takes_its_place_and_so_is_the_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done: list[str] = []
    put_in_place, make_durable = os.replace, os.fsync

    def replace(old: str, new: Path) -> None:
        done.append("in place")
        put_in_place(old, new)

    def fsync(descriptor: int) -> None:
        about = os.fstat(descriptor)
        done.append("folder" if stat.S_ISDIR(about.st_mode) else f"{about.st_size} bytes")
        make_durable(descriptor)

    monkeypatch.setattr(os, "replace", replace)
    monkeypatch.setattr(os, "fsync", fsync)
    replace_file(tmp_path / "record.json", b"12345")
    assert done == ["5 bytes", "in place", "folder"]
    assert (tmp_path / "record.json").read_bytes() == b"12345"
