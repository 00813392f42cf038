"""Tables that must be refused, as they come from hospitals."""

from __future__ import annotations

from typing import Any

from tests.support.bad_input import (
    GOOD_FILE,
    ONLY_FAST_32,
    ONLY_GRID,
    ONLY_PAPER,
    PLANTED,
    PLANTED_DIGITS,
    BadFile,
)


def _table(*rows: str, header: str = "patient,score,label", end: str = "\n") -> bytes:
    return (end.join((header, *rows)) + end).encode()


def _bad_score(name: str, score: str, says: str, **refused: Any) -> BadFile:
    return BadFile(name, _table("a,0.25,0", f"b,{score},1", "c,0.5,0"), 3, "score", says, **refused)


def _bad_label(name: str, label: str, says: str, **options: str) -> BadFile:
    return BadFile(name, _table("a,0.25,0", "b,0.75,1", f"c,0.5,{label}"), 4, "label", says, options)


BAD_FILES = [
    _bad_score("nan", "nan", "missing (NaN)"),
    _bad_score("NaN signed", "-NaN", "missing (NaN)"),
    _bad_score("inf", "inf", "infinite"),
    _bad_score("minus infinity", "-Infinity", "infinite"),
    _bad_score("beyond float64", "1e999", "infinite"),
    _bad_score(
        "above one",
        f"1.{PLANTED_DIGITS}",
        "outside [0, 1] (the protocol 'paper' takes scores from 0",
        protocols=ONLY_PAPER,
    ),
    _bad_score("below zero", f"-{PLANTED}", "outside [0, 1]", protocols=ONLY_PAPER),
    _bad_score("just above one", "1.0000000000000002", "outside [0, 1]", protocols=ONLY_PAPER),
    _bad_score(
        "above the grid",
        f"1.{PLANTED_DIGITS}",
        "outside of the study's grid, from 0 to 1 (agree on a grid that holds all scores",
        protocols=ONLY_GRID,
    ),
    _bad_score("below the grid", f"-{PLANTED}", "outside of the study's grid", protocols=ONLY_GRID),
    _bad_score("far beyond the grid", f"-{PLANTED_DIGITS}e295", "outside of the", protocols=ONLY_GRID),
    _bad_score("by a little more than half a step", "1.0000500001", "outside of the", protocols=ONLY_GRID),
    _bad_score(
        "float64 for keys of 32 bits",
        PLANTED,
        "not a float32, as keys of 32 bits need (use keys of 64 bits)",
        protocols=ONLY_FAST_32,
    ),
    _bad_score(
        "beyond float32",
        f"-{PLANTED_DIGITS}e30",
        "not a float32",
        protocols=ONLY_FAST_32,
    ),
    _bad_score("no score", "", "the score is missing (correct it at the source, or leave"),
    _bad_score("blank score", "  ", "the score is missing"),
    _bad_score("quoted nothing", '""', "the score is missing"),
    _bad_score("NA, as R writes it", "NA", "the score is missing"),
    _bad_score("underscore", f"0_{PLANTED_DIGITS}", "not a number (write digits and a decimal point"),
    _bad_score("quoted decimal comma", f'"0,{PLANTED_DIGITS}"', "not a number (write a point, not a comma)"),
    _bad_score("word", f"high{PLANTED_DIGITS}", "not a number"),
    _bad_score("percent", f"{PLANTED}%", "some scores have a percent sign, and others none"),
    _bad_score("percent of a word", f"x{PLANTED_DIGITS}%", "not a number"),
    BadFile(
        "percentages",
        _table(f"a,{PLANTED}%,0", "b,5%,1"),
        2,
        "score",
        "the score has a percent sign (if 12.5% means 0.125, add --percent, in Python percent=True",
    ),
    _bad_score("hexadecimal", f"0x{PLANTED_DIGITS}", "not a number"),
    _bad_score("two points", f"{PLANTED}.1", "not a number"),
    _bad_label("label 2", "2", "neither 0 nor 1 (use 0/1 or true/false, or name the positive label"),
    _bad_label("label -1", "-1", "neither 0 nor 1"),
    _bad_label("label between", PLANTED, "neither 0 nor 1"),
    _bad_label("word as label", f"sick{PLANTED_DIGITS}", "neither 0 nor 1 (use 0/1"),
    _bad_label("almost true", "tru", "neither 0 nor 1"),
    _bad_label("digits without end", "1" * 5000, "neither 0 nor 1"),
    _bad_label("no label", "", "the label is missing (correct it at the source, or leave"),
    _bad_label("label NA", "NA", "the label is missing"),
    _bad_label("label None", "None", "the label is missing"),
    BadFile(
        "NA is not the negative class",
        _table("a,0.25,sick", "b,0.5,NA"),
        3,
        "label",
        "the label is missing",
        {"pos_label": "sick"},
    ),
    _bad_label(
        "more than two labels", f"x{PLANTED_DIGITS}", "a second label that is not the positive", pos_label="1"
    ),
    BadFile(
        "misspelt positive label",
        _table("a,0.25,sick", "b,0.5,well"),
        3,
        "label",
        "check the spelling of labels and positive label",
        {"pos_label": "sikc"},
    ),
    BadFile(
        "no score column",
        _table("a,1", header="patient,label"),
        1,
        "score",
        "no such column (the file has: p",
    ),
    BadFile(
        "no label column",
        _table("a,1", header="patient,score"),
        1,
        "label",
        "no such column (the file has: p",
    ),
    BadFile(
        "another name asked for",
        GOOD_FILE,
        1,
        "risk",
        "the file has: patient, score, label",
        {"score": "risk"},
    ),
    BadFile(
        "names differ in case",
        _table("0.5,1", header="Score,label"),
        1,
        "score",
        "the file has: Score, label",
    ),
    BadFile(
        "two score columns", _table("0.5,0.5,1", header="score,score,label"), 1, "score", "2 columns of that"
    ),
    BadFile(
        "two label columns", _table("0.5,0,1", header="score,label,label"), 1, "label", "rename all but one"
    ),
    BadFile("no header", f"{PLANTED},1\n0.25,0\n".encode(), 1, "score", "first row must name the columns"),
    BadFile(
        "no header, decimal comma",
        f"0,{PLANTED_DIGITS};1\n".encode(),
        1,
        "score",
        "first row must name the columns",
    ),
    BadFile("no header, score missing", b"smith,NaN,sick\n", 1, "score", "first row must name the columns"),
    BadFile("empty", b"", None, None, "is empty (the first row must name the columns)"),
    BadFile("only blank lines", b"\n \r\n\n", None, None, "is empty"),
    BadFile("only a byte order mark", b"\xef\xbb\xbf", None, None, "is empty"),
    BadFile("header only", b"patient,score,label\n", None, None, "has a header but no samples"),
    BadFile("header without end of line", b"score,label", None, None, "has a header but no samples"),
    BadFile("header and blank lines", b"score,label\n\n\n", None, None, "has a header but no samples"),
    BadFile(
        "short row",
        _table("a,0.25,0", f"b,{PLANTED}"),
        3,
        None,
        "values in the row: 2, columns in the header: 3",
    ),
    BadFile(
        "long row", _table("a,0.25,0", f"b,{PLANTED},1,"), 3, None, "values in the row: 4, columns in the"
    ),
    BadFile("unquoted decimal comma", _table(f"a,0,{PLANTED_DIGITS},0"), 2, None, "look for a decimal comma"),
    BadFile("row without values", _table("a,0.25,0", ",,"), 3, "score", "the score is missing"),
    BadFile(
        "label in a code page",
        b"patient,score,label\nWeiss,0.25,tot\nM\xfcller,0.5,ges\xfcnd\n",
        3,
        "label",
        "reads differently in different code pages (save it as CSV in UTF-8, or name its code page, in "
        "Western Europe --encoding cp1252",
        {"pos_label": "tot"},
    ),
    BadFile(
        "score in a code page",
        b"patient,score,label\na,\xb10.5,0\n",
        2,
        "score",
        "reads differently in different code pages",
    ),
    BadFile(
        "column in a code page",
        b"patient,gr\xf6\xdfe,label\na,0.5,0\n",
        1,
        "gr\u00f6sze",
        "there is no such column, and some names are not UTF-8 (the file has: patient, gr",
        {"score": "gr\u00f6sze"},
    ),
    BadFile("half a UTF-16", GOOD_FILE.decode().encode("utf-16")[:-1], 3, None, "is not UTF-8 text"),
    BadFile("UTF-32", GOOD_FILE.decode().encode("utf-32"), 1, None, "is not UTF-8 text"),
    BadFile("UTF-16 without mark", GOOD_FILE.decode().encode("utf-16-le"), 1, None, "is not UTF-8 text"),
    BadFile(
        "half a workbook",
        b"PK\x03\x04\x14\x00\x06\x00\x08\x00\xe9\xff",
        None,
        None,
        "looks like a zip archive, but is damaged or not whole",
    ),
    BadFile("old workbook", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1\0", None, None, "of an old format (.xls)"),
    BadFile(
        "semicolons",
        _table("a;0.25;0", f"b;{PLANTED}x;1", header="patient;score;label"),
        3,
        "score",
        "not a number",
    ),
    BadFile(
        "decimal comma between semicolons",
        _table("a;0.25;0", f"b;0,{PLANTED_DIGITS};1", header="patient;score;label"),
        3,
        "score",
        "write a point, not a comma",
    ),
    BadFile(
        "tabs",
        _table("a\t0.25\t0", "b\t0.5\t7", header="patient\tscore\tlabel"),
        3,
        "label",
        "neither 0 nor 1",
    ),
    BadFile(
        "mark and CRLF",
        b"\xef\xbb\xbf" + _table("0.25,0", "nan,1", header="score,label", end="\r\n"),
        3,
        "score",
        "NaN",
    ),
    BadFile(
        "line breaks in quotes",
        _table('"a\nsecond line\n\nfourth",0.25,0', "b,0.5,1", f"c,{PLANTED}x,1", "d,0.5,0"),
        7,
        "score",
        "not a number",
    ),
    BadFile(
        "line breaks in quotes, CRLF",
        _table('"a\r\nb",0.25,0', "c,0.5,5", end="\r\n"),
        4,
        "label",
        "neither 0 nor 1",
    ),
    BadFile("line break in the bad row", _table("a,0.25,0", '"b\nc",,1'), 3, "score", "the score is missing"),
    BadFile(
        "line break in the header",
        _table("a,0.25,x", header='"pat\nient",score,label'),
        3,
        "label",
        "neither",
    ),
    BadFile("blank lines before", b"\n\nscore,label\n\n0.25,0\n  \n0.5,9\n", 7, "label", "neither 0 nor 1"),
    BadFile(
        "quotation mark left open",
        _table("a,0.25,0", f'"b,{PLANTED},1', "c,0.5,0"),
        3,
        None,
        "quotation mark",
    ),
    BadFile(
        "quotation marks that would swallow rows",
        _table("a,0.25,0", '"b,0.5,1', "c,0.5,0", f'"d,{PLANTED},1'),
        3,
        None,
        "look for a quotation mark too many or too few",
    ),
    BadFile("one endless line", b"x" * 200_000, 1, None, "cannot be taken apart into values"),
]
