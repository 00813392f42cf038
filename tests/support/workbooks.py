"""Excel workbooks (.xlsx) written by hand, so that tests say exactly what is in them, and what is wrong."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

_MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_RELATION = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_PACKAGE = "http://schemas.openxmlformats.org/package/2006"
_OFFICE = "application/vnd.openxmlformats-officedocument.spreadsheetml"
_DATE_STYLE = 1


@dataclass(frozen=True)
class ErrorCell:
    """An error, as a formula leaves it."""

    code: str


@dataclass(frozen=True)
class DateCell:
    """A day, counted from 1900."""

    day: int


@dataclass(frozen=True)
class FormulaCell:
    """A formula, with its result, if a program has computed it."""

    formula: str
    result: float | None = None


def letters(place: int) -> str:
    """Return what Excel calls a column, counted from 0."""
    return (letters(place // 26 - 1) if place >= 26 else "") + chr(ord("A") + place % 26)


def _cell(row: int, place: int, value: Any) -> str:
    at = f'r="{letters(place)}{row}"'
    if value is None:
        return ""
    if isinstance(value, bool):
        return f'<c {at} t="b"><v>{int(value)}</v></c>'
    if isinstance(value, str):
        return f'<c {at} t="inlineStr"><is><t xml:space="preserve">{escape(value)}</t></is></c>'
    if isinstance(value, ErrorCell):
        return f'<c {at} t="e"><v>{value.code}</v></c>'
    if isinstance(value, DateCell):
        return f'<c {at} s="{_DATE_STYLE}"><v>{value.day}</v></c>'
    if isinstance(value, FormulaCell):
        result = "" if value.result is None else f"<v>{value.result!r}</v>"
        return f"<c {at}><f>{value.formula}</f>{result}</c>"
    return f"<c {at}><v>{value!r}</v></c>"


def sheet_xml(rows: Sequence[Sequence[Any]], merged: Sequence[str] = (), before: str = "") -> str:
    """Return a sheet; `before` stands before its first element."""
    body = "".join(
        f'<row r="{row}">{"".join(_cell(row, place, value) for place, value in enumerate(values))}</row>'
        for row, values in enumerate(rows, start=1)
        if values
    )
    merges = "".join(f'<mergeCell ref="{one}"/>' for one in merged)
    tail = f"<mergeCells>{merges}</mergeCells>" if merged else ""
    # A dimension that is wrong, as some programs write it: nobody may believe it.
    begin = f'<worksheet xmlns="{_MAIN}"><dimension ref="A1:A2"/>'
    return f"{before}{begin}<sheetData>{body}</sheetData>{tail}</worksheet>"


def members_of(sheets: Mapping[str, str]) -> dict[str, str]:
    """Return all files of a workbook, of sheets by their names."""
    numbered = list(enumerate(sheets, start=1))
    listed = "".join(f'<sheet name="{escape(name)}" sheetId="{n}" r:id="rId{n}"/>' for n, name in numbered)
    targets = "".join(
        f'<Relationship Id="rId{n}" Type="{_RELATION}/worksheet" Target="worksheets/sheet{n}.xml"/>'
        for n, _ in numbered
    )
    kinds = "".join(
        f'<Override PartName="/xl/worksheets/sheet{n}.xml" ContentType="{_OFFICE}.worksheet+xml"/>'
        for n, _ in numbered
    )
    styles = f'<Relationship Id="rIdS" Type="{_RELATION}/styles" Target="styles.xml"/>'
    formats = (
        '<fonts count="1"><font/></fonts><fills count="1"><fill><patternFill/></fill></fills>'
        '<borders count="1"><border/></borders>'
        '<cellStyleXfs count="1"><xf/></cellStyleXfs>'
        '<cellXfs count="2"><xf numFmtId="0"/><xf numFmtId="14"/></cellXfs>'
    )
    members = {
        "[Content_Types].xml": f'<Types xmlns="{_PACKAGE}/content-types">'
        '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
        '<Default Extension="xml" ContentType="application/xml"/>'
        f'<Override PartName="/xl/workbook.xml" ContentType="{_OFFICE}.sheet.main+xml"/>'
        f'<Override PartName="/xl/styles.xml" ContentType="{_OFFICE}.styles+xml"/>{kinds}</Types>',
        "_rels/.rels": f'<Relationships xmlns="{_PACKAGE}/relationships"><Relationship Id="rId1" '
        f'Type="{_RELATION}/officeDocument" Target="xl/workbook.xml"/></Relationships>',
        "xl/workbook.xml": f'<workbook xmlns="{_MAIN}" xmlns:r="{_RELATION}">'
        f"<sheets>{listed}</sheets></workbook>",
        "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{_PACKAGE}/relationships">{targets}{styles}'
        "</Relationships>",
        "xl/styles.xml": f'<styleSheet xmlns="{_MAIN}">{formats}</styleSheet>',
    }
    texts = list(sheets.values())
    return members | {f"xl/worksheets/sheet{n}.xml": texts[n - 1] for n, _ in numbered}


def zipped(members: Mapping[str, str | bytes]) -> bytes:
    """Return an archive."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in members.items():
            archive.writestr(name, text)
    return content.getvalue()


def workbook(sheets: Mapping[str, Sequence[Sequence[Any]]], merged: Sequence[str] = ()) -> bytes:
    """Return a workbook of sheets, each a list of rows."""
    return zipped(members_of({name: sheet_xml(rows, merged) for name, rows in sheets.items()}))


def written(path: Path, *rows: Sequence[Any], merged: Sequence[str] = ()) -> Path:
    """Write a workbook of one sheet."""
    path.write_bytes(workbook({"Data": rows}, merged))
    return path
