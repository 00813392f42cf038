"""The one Jinja2 environment, and the one style sheet, of the report and of the local web app."""

from __future__ import annotations

import base64
import functools
import hashlib
from pathlib import Path
from typing import TYPE_CHECKING

from ppaurora.errors import MissingPackageError, on_a_page
from ppaurora.io.system import INSTALL_APP

if TYPE_CHECKING:
    from jinja2 import Environment

_HERE = Path(__file__).parent
TEMPLATES = _HERE / "templates"


@functools.cache
def environment(*folders: Path) -> Environment:
    """Templates of these folders first, then those of this package; every value is escaped, none is missing.

    A text that has words of its own for pages is printed in those.
    Templates have `style_sheet` (to inline), which is safe to put between `<style>` and `</style>`.
    """
    try:
        from jinja2 import Environment, FileSystemLoader, StrictUndefined
        from markupsafe import Markup
    except ModuleNotFoundError:
        raise MissingPackageError(
            f"a page needs one more package: {INSTALL_APP}, or pip install 'ppaurora[report]'"
        ) from None
    made = Environment(
        loader=FileSystemLoader([*folders, TEMPLATES]),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=on_a_page,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    made.globals["style_sheet"] = Markup(style_sheet())  # noqa: S704 - our own file
    return made


@functools.cache
def style_sheet() -> str:
    """Return the text of style.css."""
    return (_HERE / "style.css").read_text(encoding="utf-8")


def style_hash() -> str:
    """Return how a Content-Security-Policy names the inlined style sheet: `sha256-...`."""
    digest = hashlib.sha256(style_sheet().encode()).digest()
    return "sha256-" + base64.b64encode(digest).decode()
