"""Encodings of text files: those that can be named, and what can be said where none is.

UTF-8 and UTF-16 with a byte order mark are recognised. Which 8-bit code page a file is in, nothing in it
tells: bytes that are not UTF-8 are kept as marks (lone surrogates), and whoever needs such a value asks.
"""

from __future__ import annotations

import codecs
import re

from ppaurora.errors import InputError

WINDOWS = {
    "cp1252": "Western Europe",
    "cp1250": "Central Europe",
    "cp1251": "Cyrillic",
    "cp1253": "Greek",
    "cp1254": "Turkish",
    "cp1257": "Baltic",
}
_OTHERS = (
    *("utf-8", "utf-16", "utf-16-le", "utf-16-be", "ascii", "mac-roman", "koi8-r", "koi8-u"),
    *(f"cp{number}" for number in (437, 850, 852, 855, 857, 858, 862, 864, 866, 932, 936, 949, 950)),
    *("cp1255", "cp1256", "cp1258", "gb18030", "gbk", "big5", "shift-jis", "euc-jp", "euc-kr"),
    *(f"iso-8859-{part}" for part in (*range(1, 12), *range(13, 17))),
)
_KNOWN = {codecs.lookup(name).name: name for name in (*WINDOWS, *_OTHERS)}
ENCODING_HINT = (
    "save it as CSV in UTF-8, or name its code page, in Western Europe --encoding cp1252, in Python "
    "encoding='cp1252'; Central Europe cp1250, Cyrillic cp1251, Greek cp1253, Turkish cp1254, Baltic cp1257"
)
REPLACEMENT = "\ufffd"
_MARKS = re.compile("[\udc80-\udcff]")


def check_encoding(name: object) -> None:
    """Raise `InputError` unless this names an encoding of text."""
    try:
        known = isinstance(name, str) and codecs.lookup(name).name in _KNOWN
    except (LookupError, ValueError):
        known = False
    if not known:
        usual = ", ".join(f"{page} ({region})" for page, region in WINDOWS.items())
        raise InputError(f"encoding: is none that is known; usual ones are {usual}")


def is_undecoded(text: str) -> bool:
    """Return whether a text has bytes that could not be decoded."""
    return not text.isascii() and _MARKS.search(text) is not None


def readable(text: str) -> str:
    """Return a text that any program can show: with a question mark for each byte that is not decoded."""
    return _MARKS.sub(REPLACEMENT, text)


def readings(text: str) -> set[str]:
    """Return how a text that is not UTF-8 reads in each of the usual code pages."""
    found = set()
    for page in WINDOWS:
        try:
            found.add(text.encode("utf-8", "surrogateescape").decode(page))
        except UnicodeError:
            continue
    return found
