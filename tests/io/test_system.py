"""Commands as the machine's own command line takes them."""

from __future__ import annotations

import pytest

from ppaurora.io.system import check_posix, command_line, quoted
from tests.support.on_windows import needs_linux, python_on_windows

SCRIPT = "import sys; from ppaurora.io.system import quoted; print(*map(quoted, sys.argv[1:]), sep='\\n')"


def test_a_shell_takes_words_in_single_quotes() -> None:
    assert quoted("a b") == "'a b'"
    assert command_line(["ppaurora", "check", "my data.csv", "--pos-label", "yes"]) == (
        "ppaurora check 'my data.csv' --pos-label yes"
    )
    check_posix("everything")


@needs_linux
@pytest.mark.parametrize(
    ("word", "typed"),
    [
        ("C:\\kits\\north", "C:\\kits\\north"),
        ("C:\\my kits\\north", '"C:\\my kits\\north"'),
        ("--pos-label", "--pos-label"),
        ("ill; or dead", '"ill; or dead"'),
        ("a&b", '"a&b"'),
        ("it's", '"it\'s"'),
        ("", '""'),
    ],
)
def test_windows_takes_words_in_double_quotes(word: str, typed: str) -> None:
    assert python_on_windows("-c", SCRIPT, word).stdout == typed + "\n"
