"""Recognisable values to plant, and a search for them in every notation in which they might appear."""

from __future__ import annotations

import base64
import io
import logging
import pprint
import traceback
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.pretty import pretty_repr

SCORES = np.array([0.7391826450917, 0.1830275946618, 0.5928374650192, 0.0918273645501] * 6)
LABELS = np.array([1, 0, 1, 1, 0, 0, 0, 1, 0, 1, 1, 1, 0, 1, 0, 0, 1, 1, 0, 1, 0, 1, 1, 0], dtype=np.uint8)
KEY = bytes.fromhex("c3a1f09e5b7d42881e6fd0b9937ac5e42b60ffd17c8e9a0534d6eb21f7a84c59")
OTHER_KEY = bytes(byte ^ 0x5A for byte in KEY)


def notations(secret: object) -> set[str]:
    """The ways in which a secret might be written, each long enough not to occur by chance."""
    if isinstance(secret, np.ndarray) and secret.dtype == np.uint8:
        return _sequences(secret.tolist())
    if isinstance(secret, np.ndarray):
        return {text for value in secret.reshape(-1).tolist() for text in notations(value)}
    if isinstance(secret, bytearray):
        return notations(bytes(secret))
    if isinstance(secret, bytes):
        found = _sequences(secret) | {secret.hex()[:16], secret.hex(" ")[:20], secret.hex(":")[:20]}
        found |= {base64.b64encode(secret).decode()[:12], repr(secret)[2:22], secret.decode("latin-1")[:8]}
        found |= {text.upper() for text in found if text.isalnum()}
        words = np.frombuffer(secret[: len(secret) // 8 * 8], dtype=np.uint64)
        return found | notations(words)
    if isinstance(secret, float):
        rounded = {f"{secret:.{digits}f}"[1:] for digits in (6, 7, 8, 10, 12)}
        exact = {repr(secret)[2:12], secret.hex()[4:12], f"{secret:.6e}"[:8]}
        return rounded | exact | notations(int(np.float64(secret).view(np.uint64)))
    if isinstance(secret, int):
        raw = secret.to_bytes(8 if secret < 1 << 64 else 32, "little")
        return {str(secret), str(secret - 2**64), f"{secret:x}", f"{secret:X}", raw.hex(), repr(raw)[2:-1]}
    if isinstance(secret, str):
        return {secret}
    raise TypeError(f"cannot search for a {type(secret).__name__}")


def _sequences(values: Sequence[int]) -> set[str]:
    """Numbers one after the other, as lists, arrays and strings of digits show them."""
    first = [str(value) for value in values[:12]]
    return {", ".join(first), " ".join(first), "".join(first), ",".join(first)}


def leaks(text: str, secrets: Sequence[object]) -> list[str]:
    """The notations of secrets that occur in the text, whether or not it is broken into lines."""
    flat = " ".join(text.split())
    return sorted(
        {found for secret in secrets for found in notations(secret) if found in text or found in flat}
    )


WAYS_TO_SHOW: dict[str, Callable[[Any], str]] = {
    "repr": repr,
    "str": str,
    "format": "{}".format,
    "in a list": lambda thing: str([thing]),
    "in a dictionary": lambda thing: f"{ ({'it': thing}) }",
    "pprint": pprint.pformat,
    "rich": pretty_repr,
    "logged": lambda thing: logged("got %s and %r", thing, thing),
}


def logged(message: str, *arguments: object) -> str:
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    handler.handle(logging.LogRecord("ppaurora", logging.INFO, "", 0, message, arguments, None))
    return stream.getvalue()


def everything_about(error: BaseException) -> str:
    """Message, arguments, attributes, notes, and the traceback with everything that led to it."""
    shown = [str(error), repr(error), repr(error.args), repr(vars(error))]
    return "\n".join([*shown, *traceback.format_exception(error)])


def owners_of_planted_values() -> list[tuple[NDArray[np.uint8], NDArray[np.float64]]]:
    return [(LABELS[:12], SCORES[:12]), (LABELS[12:], SCORES[12:])]
