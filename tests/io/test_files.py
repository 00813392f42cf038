"""Files are whole and durable, in an order that a power cut cannot spoil."""

from __future__ import annotations

import os
import stat
import textwrap
from pathlib import Path

import pytest

from ppaurora.io.files import replace_file
from tests.support.on_windows import needs_linux, python_on_windows


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


REPLACED = """
    import pathlib, sys, threading
    from ppaurora.errors import InputError
    from ppaurora.io import files
    path, waits = pathlib.Path(sys.argv[1]), sys.argv[2] == "waits"
    path.write_bytes(b"old")
    reading = path.open("rb")
    files._SECONDS_TO_BE_CLOSED = 60.0 if waits else 0.0
    if waits:
        asked = files.time.sleep
        files.time.sleep = lambda seconds: (reading.close(), asked(seconds))
    files.replace_file(path, b"new", mode=0o600)
    files.sync(path)
    files.sync(path.parent)
    print(files.read_text(path), files.others_can_read(path))
"""


@needs_linux
def test_on_windows_a_file_is_replaced_once_nobody_reads_it(tmp_path: Path) -> None:
    code = textwrap.dedent(REPLACED)
    done = python_on_windows("-c", code, tmp_path / "record.json", "waits")
    assert done.stdout == "new False\n", done.stderr
    refused = python_on_windows("-c", code, tmp_path / "record.json", "gives up")
    assert "PermissionError" in refused.stderr
    assert (tmp_path / "record.json").read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["record.json"]
