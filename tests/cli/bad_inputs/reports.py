"""Reports of what is no result, of what does not verify, and to where nothing can be written."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from typing import Any

from ppaurora.messages import SUPPORTED
from tests.cli.bad_inputs.moments import done, fetched
from tests.cli.bad_inputs.row import Place, Row, Step, data, file, kit

FETCHED = (done, fetched)
RESULT = "kit/results/done.json"


def result(change: Callable[[dict[str, Any]], object]) -> Step:
    """Of a study that is done, with a change."""

    def write(place: Place) -> None:
        content = json.loads((place.folder / RESULT).read_text())
        change(content)
        (place.folder / "result.json").write_text(json.dumps(content))

    return write


def second_result(place: Place) -> None:
    shutil.copy(place.folder / RESULT, place.folder / "kit/results/second.json")


def of_evaluate(place: Place) -> None:
    """As somebody has changed it."""
    names = ("metrics", "suppressed", "policy", "owners", "samples", "protocol", "transport")
    (place.folder / "r.json").write_text(json.dumps(dict.fromkeys(names)))


ROWS = [
    Row(
        "no result, to report",
        (),
        "report result.json --out report.html",
        "ppaurora: result.json: cannot be read: No such file or directory",
    ),
    Row(
        "something else, to report",
        (data,),
        "report data.csv --out report.html",
        "ppaurora: data.csv: does not verify: it is not a receipt (not JSON, or a name is in it twice); "
        "take the file STUDY.receipt.json that 'ppaurora result' wrote",
        7,
    ),
    Row(
        "half a result, to report",
        (
            *FETCHED,
            lambda place: (place.folder / "result.json").write_bytes(
                (place.folder / RESULT).read_bytes()[:5000]
            ),
        ),
        "report result.json --out report.html",
        "ppaurora: result.json: does not verify: it is not a receipt (not JSON, or a name is in it twice); "
        "take the file STUDY.receipt.json that 'ppaurora result' wrote",
        7,
    ),
    Row(
        "a tampered result, to report",
        (*FETCHED, result(lambda one: one["metrics"]["auroc"].update(value=0.99))),
        "report result.json --out report.html",
        "ppaurora: result.json: does not verify: it is not the result that its parts give",
        7,
    ),
    Row(
        "a result of another version, to report",
        (*FETCHED, result(lambda one: one["receipt"]["manifest"].update(version=1))),
        "report result.json --out report.html",
        "ppaurora: result.json: does not verify: its study is of another version of the protocol than "
        f"{SUPPORTED}, which this ppaurora knows; verify it with the ppaurora that its statements name",
        7,
    ),
    Row(
        "a kit without a result, to report",
        (kit("north", "trial"),),
        "report kit --out report.html",
        "ppaurora: kit: holds no result yet; fetch it: ppaurora result kit",
        4,
    ),
    Row(
        "a node's kit, to report",
        (kit("proxy-0"),),
        "report kit --out report.html",
        "ppaurora: kit: is a node's kit, and this command takes an owner's kit",
    ),
    Row(
        "two results in a kit, to report",
        (*FETCHED, second_result),
        "report kit --out report.html",
        "ppaurora: kit: name one of its results with --study: done, second",
    ),
    Row(
        "another study's result, to report",
        FETCHED,
        "report kit --study other --out report.html",
        "ppaurora: kit: holds no result of 'other', but of: done; to fetch one: ppaurora result kit "
        "--study other",
        4,
    ),
    Row(
        "a study beside a file, to report",
        FETCHED,
        f"report {RESULT} --study done",
        "ppaurora: --study names one of a kit's results: give the kit's folder instead of a file",
    ),
    Row(
        "a report in a format that there is not",
        FETCHED,
        "report kit --out report.docx",
        "ppaurora: report.docx: its ending does not say which format; name one with --format, or end it in "
        ".html, .md, .json, .tex",
    ),
    Row(
        "a report to where nothing can be written",
        FETCHED,
        "report kit --out data.csv/report.html",
        "ppaurora: data.csv/report.html: cannot be written: File exists",
    ),
    Row(
        "own data for a receipt",
        FETCHED,
        "report kit/results/done.receipt.json --data data.csv --out report.html",
        "ppaurora: own data is compared with the result of a study: name the result that it has filed",
    ),
    Row(
        "own data without its column, to report",
        (*FETCHED, file("mine.csv", "risk,label\n0.1,0\n0.9,1\n")),
        "report kit --data mine.csv --out report.html",
        "ppaurora: mine.csv, row 1, column 'score': there is no such column (the file has: risk, label; "
        "write --score COLUMN, in Python score='COLUMN')",
    ),
    Row(
        "a changed evaluation, to report",
        (of_evaluate,),
        "report r.json --out report.html",
        "ppaurora: r.json: is not what 'ppaurora evaluate --format json' prints; it was changed, or is of "
        "another version: evaluate again",
    ),
]
