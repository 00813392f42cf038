"""What the stand-in for Windows notices: without it, passing tests of commands there would say nothing."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

from tests.support.on_windows import needs_linux, on_windows, python_on_windows

pytestmark = needs_linux

# What a command may not do, and how it is told.
NOT_ON_WINDOWS = {
    "import fcntl": "No module named 'fcntl'",
    "import resource": "No module named 'resource'",
    "import os; os.fchmod(1, 0o600)": "AttributeError",
    "import os; os.getuid()": "AttributeError",
    "import os; os.O_NOFOLLOW": "AttributeError",
    "import signal; signal.SIGHUP": "AttributeError",
    "import signal; signal.signal(1, print)": "invalid signal value",
    "import socket; socket.AF_UNIX": "AttributeError",
    "import socket; socket.send_fds": "AttributeError",
    "import select; select.poll": "AttributeError",
    "import os, select; select.select([os.pipe()[0]], [], [], 0)": "not a socket",
    "import os; os.open('/tmp', os.O_RDONLY)": "Permission denied",
    "import os; os.fsync(os.open('pyproject.toml', os.O_RDONLY))": "Bad file descriptor",
    "open('/tmp/a:b', 'w')": "no file of this name",
    "open('/tmp/nul.csv', 'w')": "no file of this name",
    "import subprocess; subprocess.run(['true'], start_new_session=True)": "not supported on Windows",
    "import subprocess; subprocess.run(['true'], pass_fds=[2])": "not supported on Windows",
    "import socket, subprocess as s; s.Popen(['a'], stdin=socket.socketpair()[0])": "Bad file descriptor",
    "import asyncio; asyncio.new_event_loop().add_signal_handler(2, print)": "NotImplementedError",
    "import asyncio; asyncio.new_event_loop().add_reader(0, print)": "NotImplementedError",
    "import ctypes; ctypes.CDLL(None)": "LoadLibrary",
    "print('\\u2713')": "UnicodeEncodeError",
    "import ppaurora.node.serve": "No module named 'resource'",
}
FILES = """
    import os, pathlib
    folder = pathlib.Path({folder!r})
    (folder / "a").write_bytes(b"1")
    (folder / "b").write_bytes(b"2")
    with (folder / "b").open("rb"):
        os.{act}
"""


@pytest.mark.parametrize("code", NOT_ON_WINDOWS)
def test_what_windows_lacks_is_noticed(code: str) -> None:
    finished = python_on_windows("-c", code)
    assert finished.returncode != 0
    assert NOT_ON_WINDOWS[code] in finished.stderr


@pytest.mark.parametrize(
    "act", ["replace(folder / 'a', folder / 'b')", "remove(folder / 'b')", "rename(folder, folder / '../c')"]
)
def test_what_is_open_stays_where_it_is(tmp_path: Path, act: str) -> None:
    (tmp_path / "in").mkdir()
    code = textwrap.dedent(FILES.format(folder=str(tmp_path / "in"), act=act))
    finished = python_on_windows("-c", code)
    assert "PermissionError" in finished.stderr
    assert {path.name for path in (tmp_path / "in").iterdir()} == {"a", "b"}


def test_a_socket_is_shared_with_one_process_only() -> None:
    code = (
        "import os, socket; socket.fromshare(socket.create_server(('127.0.0.1', 0)).share(os.getpid() + {}))"
    )
    assert python_on_windows("-c", code.format(0)).returncode == 0
    assert "another process" in python_on_windows("-c", code.format(1)).stderr


def test_a_text_in_no_named_encoding_is_noticed() -> None:
    code = (
        "import warnings, ppaurora.data.reading as r; exec('open(0)', {**vars(r), '__name__': 'ppaurora.x'})"
    )
    assert "EncodingWarning" in python_on_windows("-c", code).stderr


def test_a_command_that_takes_the_way_of_posix_fails(tmp_path: Path) -> None:
    """A command of tests/evaluation/test_on_windows.py, of modules that know that this is Linux."""
    data = tmp_path / "a.csv"
    data.write_text("score,label\n0.9,1\n0.4,0\n0.4,1\n0.1,0\n")
    finished = on_windows("evaluate", data, data, "--policy", "exact", PLATFORM_AS_IT_IS="1")
    assert finished.returncode not in (0, 2)
    assert "LoadLibrary" in finished.stderr
