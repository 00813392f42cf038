"""What a report is made of: a filed result, verified; or what `ppaurora evaluate` printed."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from ppaurora.errors import InputError, MisuseError, NotReleasedError
from ppaurora.evaluation.reading import KEYS, read_metrics, read_results
from ppaurora.evaluation.report import Report, RunCost
from ppaurora.io.models import checked
from ppaurora.owner.report import StudyReport
from ppaurora.owner.verifying import read_filed, read_json, with_values
from ppaurora.policy.rules import Policy
from ppaurora.protocols import find_protocol
from ppaurora.study.kit import OwnerKit
from ppaurora.study.receipt import Verification, verify

RECEIPT = ".receipt.json"
_OF_EVALUATE = {"metrics", "suppressed", "policy", "owners", "samples", "protocol", "transport"}


@dataclass(frozen=True)
class ReportSource:
    """The source of a page: a study's verified receipt and its result, if any; or an evaluation's report."""

    verification: Verification | None
    result: StudyReport | Report | None


def source_of(
    result: StudyReport | Report | str | Path, *, study: str | None = None, manifest_hash: str | None = None
) -> ReportSource:
    """Raises `NotVerifiedError` if a result is not what its receipt says."""
    if isinstance(result, Report):
        return ReportSource(None, result)
    if isinstance(result, StudyReport):
        again = StudyReport.of(result.receipt, result.owner, result.parts)
        return ReportSource(with_values(verify(result.receipt), result.owner), again)
    path = Path(result)
    if path.is_dir():
        path = _filed_in(path, study)
    elif study is not None:
        raise InputError("--study names one of a kit's results: give the kit's folder instead of a file")
    content = read_json(path)
    if isinstance(content, dict) and set(content) >= _OF_EVALUATE and "receipt" not in content:
        if manifest_hash is not None:
            raise InputError(f"{path}: is of 'ppaurora evaluate', which has no manifest and no receipt")
        return ReportSource(None, _evaluated(content, path))
    return ReportSource(*read_filed(path, manifest_hash=manifest_hash))


def _filed_in(folder: Path, study: str | None) -> Path:
    """Return the result in a kit; if it has none but a receipt, that."""
    OwnerKit.read(folder)
    filed = sorted((folder / "results").glob("*.json"))
    receipts = {path.name.removesuffix(RECEIPT): path for path in filed if path.name.endswith(RECEIPT)}
    results = {path.stem: path for path in filed if not path.name.endswith(RECEIPT)}
    found = receipts | results
    if not found:
        raise NotReleasedError(f"{folder}: holds no result yet; fetch it: ppaurora result {folder}")
    if study is None and len(found) > 1:
        raise InputError(f"{folder}: name one of its results with --study: {', '.join(sorted(found))}")
    if study is not None and study not in found:
        raise NotReleasedError(
            f"{folder}: holds no result of '{study}', but of: {', '.join(sorted(found))}; to fetch one: "
            f"ppaurora result {folder} --study {study}"
        )
    return found[next(iter(found)) if study is None else study]


def _evaluated(content: dict[str, Any], path: Path) -> Report:
    """Read a report as `Report.to_json` wrote it, and nothing else."""
    try:
        report = _parsed(content)
        is_whole = all(type(one) is int for one in (report.owners, report.samples, report.positives or 0))
        if is_whole and report.to_dict() == content:
            return report
    except (AttributeError, KeyError, TypeError, ValueError, MisuseError):
        pass
    raise InputError(
        f"{path}: is not what 'ppaurora evaluate --format json' prints; it was changed, or is of another "
        "version: evaluate again"
    )


def _parsed(content: dict[str, Any]) -> Report:
    find_protocol(content["protocol"])
    rest = {name: found for name, found in content.items() if name not in KEYS}
    read = {
        "metrics": read_metrics(content["metrics"]),
        "policy": checked(Policy, content["policy"]),
        "cost": msgspec.convert(content["cost"], RunCost),
        "results": read_results(content),
    }
    return Report(**{**rest, **read})
