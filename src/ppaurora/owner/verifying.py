"""Verifying what an owner has filed, from the file alone: a receipt, or a result with its receipt."""

from __future__ import annotations

import dataclasses
import json
import math
from pathlib import Path
from typing import Any

from msgspec import UNSET

from ppaurora.errors import InputError, NotVerifiedError, PpauroraError
from ppaurora.io.files import read_text
from ppaurora.io.models import canonical_json, checked
from ppaurora.owner.report import OwnPart, StudyReport
from ppaurora.study.manifest import is_hash_of
from ppaurora.study.receipt import TAKE_ANOTHER, Receipt, Verification, verify

_MOST_BYTES = 1 << 28


def verify_receipt(path: str | Path, *, manifest_hash: str | None = None) -> Verification:
    """Verify the receipt in a file that `ppaurora result` or `Study.result()` wrote. Nothing else is needed.

    Parameters
    ----------
    path
        A receipt, or a result, which includes its receipt; the values of a result are verified, too.
    manifest_hash
        The hash of the manifest that you agreed to, or at least its first 12 digits; any other is refused.

    Returns
    -------
    Verification
        What is proven and what is not, in sentences. If it does not verify, `NotVerifiedError` is raised.

    Examples
    --------
    >>> import ppaurora
    >>> found = ppaurora.verify_receipt("kits/north/results/sepsis-2026.receipt.json")
    >>> found.signed_by
    ('proxy-0', 'proxy-1', 'helper')
    """
    return read_filed(Path(path), manifest_hash=manifest_hash)[0]


def read_filed(path: Path, *, manifest_hash: str | None = None) -> tuple[Verification, StudyReport | None]:
    """Return what is filed, verified; a receipt alone has no result."""
    content = read_json(path)
    try:
        return _verified(content, manifest_hash)
    except NotVerifiedError as error:
        raise NotVerifiedError(f"{path}: does not verify: {error}") from None
    except (UnicodeError, RecursionError):
        raise NotVerifiedError(f"{path}: does not verify: it has what no ppaurora writes") from None


def read_json(path: Path) -> Any:
    """Read JSON strictly: what people are shown must be all that is there."""

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) != len(pairs):
            raise ValueError("a name is there twice")
        return found

    def finite(text: str) -> float:
        number = float(text)
        if not math.isfinite(number):
            raise ValueError("what is no number has no text of its own")
        return number

    try:
        return json.loads(
            read_text(path, _MOST_BYTES), object_pairs_hook=once, parse_float=finite, parse_constant=finite
        )
    except (ValueError, RecursionError) as error:
        if isinstance(error, InputError):
            raise
        raise NotVerifiedError(
            f"{path}: does not verify: it is not a receipt (not JSON, or a name is in it twice); "
            f"{TAKE_ANOTHER}"
        ) from None


def _verified(content: Any, manifest_hash: str | None) -> tuple[Verification, StudyReport | None]:
    is_result = isinstance(content, dict) and "receipt" in content
    receipt = Receipt.parse(content["receipt"] if is_result else content)
    known = (receipt.manifest,) if receipt.amended is UNSET else receipt.amended.amendments.manifests
    if manifest_hash is not None and not any(is_hash_of(manifest_hash, one) for one in known):
        raise NotVerifiedError(
            f"its manifest has the hash {receipt.manifest.hash}, which is not the one that was given"
        )
    found = verify(receipt)
    if not is_result:
        told = "which values were released: a receipt holds no result"
        return dataclasses.replace(found, does_not_prove=(told, *found.does_not_prove)), None
    report = _check_result(content, receipt)
    return with_values(found, report.owner), report


def with_values(found: Verification, owner: str) -> Verification:
    """Return what was found with the values proved, too, once they were put together from the parts."""
    told = f"the values in this file are what the parts give that the servers have committed to for {owner}"
    return dataclasses.replace(found, proves=(*found.proves, told))


def _check_result(content: dict[str, Any], receipt: Receipt) -> StudyReport:
    """Put together once more, the parts give exactly this file."""
    owner = content.get("owner")
    try:
        parts = [checked(OwnPart, one, "parts") for one in content.get("parts") or ()]
        again = StudyReport.of(receipt, str(owner), parts)
    except NotVerifiedError:
        raise
    except (PpauroraError, TypeError) as error:
        raise NotVerifiedError(f"its parts give no result: {error}") from None
    if canonical_json(again.to_dict()) != canonical_json(content):
        raise NotVerifiedError("it is not the result that its parts give")
    return again
