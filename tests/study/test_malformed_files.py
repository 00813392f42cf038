"""Files that people or machines have spoilt: read as what they are, or refused by one of our errors."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ppaurora.data import Samples, check_samples, read_table
from ppaurora.errors import InputError, PeerError, PpauroraError
from ppaurora.owner.outbox import Outbox
from ppaurora.owner.study import Study
from ppaurora.study.kit import OwnerKit, read_kit
from ppaurora.study.manifest import Manifest
from ppaurora.study.plan import SAMPLE, read_plan
from ppaurora.testing.consortium import Consortium
from tests.support.deployment import samples
from tests.support.malformed import malformed

INSTEAD = (
    *("nan", "inf", "-inf", "1e310", "-1", "0", "1" + "0" * 30, "1" + "0" * 400, "9" * 5000, "1.5", "true"),
    *('""', '"text"', '"\\u0000\\u001b"', "[]", "[[]]", "[nan]", "[0.1, inf]", "{}", "{ x = {} }"),
    *("1979-05-27", "[" * 10_000 + "]" * 10_000, "{a=" * 10_000 + "1" + "}" * 10_000, "'''", "\udcff"),
)


@pytest.fixture(scope="module")
def consortium(tmp_path_factory: pytest.TempPathFactory) -> Consortium:
    """Its nodes do not run, as north has seen."""
    consortium = Consortium(tmp_path_factory.mktemp("files"), ("north", "harbour"))
    with pytest.raises(PeerError):
        Study(consortium.kit("north")).submit(check_samples("north", *samples(20, 1)))
    return consortium


def prepared(consortium: Consortium) -> Samples:
    """What north would send, prepared in its kit by a process that was killed then."""
    data = check_samples("north", *samples(20, 1))
    Outbox(OwnerKit.read(consortium.kit("north")), consortium.manifest).prepare(data)
    return data


def refused(read: Callable[[], object]) -> bool:
    """Whether it was; anything but our own errors is raised."""
    code = 0
    try:
        read()
    except PpauroraError as error:
        code = error.exit_code
    assert code in (0, InputError.exit_code)
    return bool(code)


def spoilt_settings(text: str) -> list[str]:
    """With every setting in turn, also those that are commented out, given another value."""
    lines = text.splitlines()
    places = [(at, found[2]) for at, line in enumerate(lines) if (found := re.match(r"(# ?)?(\w+) = ", line))]
    return [
        "\n".join([*lines[:at], f"{name} = {value}", *lines[at + 1 :]])
        for at, name in places
        for value in INSTEAD
    ]


def test_plans(tmp_path: Path) -> None:
    path = tmp_path / "study.toml"
    cases = [
        *spoilt_settings(SAMPLE),
        "a." * 5000 + "a = 1",
        "[" + "a." * 5000 + "a]",
        "x = " + "[" * 100_000,
    ]
    count = 0
    for text in cases:
        path.write_bytes(text.encode(errors="surrogateescape"))
        count += refused(lambda: read_plan(path))
    assert count > 0.8 * len(cases)


@pytest.mark.parametrize(
    "limit", ["retention_days = 1e310", f"retention_days = 1{'0' * 310}", "retention_days = 36_501"]
)
def test_what_no_clock_can_count_is_no_time_to_keep_things(tmp_path: Path, limit: str) -> None:
    path = tmp_path / "study.toml"
    path.write_text(SAMPLE.replace("retention_days = 30", limit))
    with pytest.raises(InputError, match=r"limits\.retention_days"):
        read_plan(path)


@pytest.mark.parametrize(("kit", "settings"), [("proxy-0", "node.toml"), ("north", "owner.toml")])
def test_settings_of_kits(consortium: Consortium, kit: str, settings: str) -> None:
    folder = consortium.kit(kit)
    good = (folder / settings).read_bytes()
    try:
        for text in spoilt_settings(good.decode()):
            (folder / settings).write_bytes(text.encode(errors="surrogateescape"))
            refused(lambda: read_kit(folder))
    finally:
        (folder / settings).write_bytes(good)
    assert not refused(lambda: read_kit(folder))


def test_manifests(consortium: Consortium, tmp_path: Path) -> None:
    path = tmp_path / "trial.json"
    for text in malformed(json.loads(consortium.manifest.text())):
        path.write_bytes(text)
        assert refused(lambda: Manifest.read(path))


@pytest.mark.parametrize("record", ["outbox/trial/submission.json", "ledger.json"])
def test_records_of_an_owner(consortium: Consortium, record: str) -> None:
    data, path = prepared(consortium), consortium.kit("north") / record
    good = path.read_bytes()
    try:
        for text in malformed(json.loads(good)):
            path.parent.mkdir(exist_ok=True)  # a record that is in order is discarded, with its folder
            path.write_bytes(text)
            try:
                Study(consortium.kit("north")).submit(data)
            except (InputError, PeerError):
                continue
            raise AssertionError("nobody was there to take it")
    finally:
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(good)


def test_any_digit_of_a_record_that_the_disk_has_changed_is_noticed(consortium: Consortium) -> None:
    """Even where it is a record all the same, of something that this owner never sent."""
    data, path = prepared(consortium), consortium.kit("north") / "outbox/trial/submission.json"
    good = path.read_text()
    places = [place for place, digit in enumerate(good) if digit.isdigit()]
    try:
        for place in places[::7]:
            path.write_text(good[:place] + ("7" if good[place] != "7" else "8") + good[place + 1 :])
            with pytest.raises(InputError, match="is damaged"):
                Study(consortium.kit("north")).submit(data)
    finally:
        path.write_text(good)


TABLES = (
    *(b'""', b'""\n', b'"\n"', b'" "\n""\n', b'"",""\n', b"\n\n\n", b",", b";;;", b"\r\r\n", b'"', b'"\0'),
    *(b"score,label\n" + b"9" * 5000 + b",1\n", b"score,label\n1," + b"1" * 5000 + b"\n"),
    *(b"score,label\n" + b"x" * 200_000, b'score,label\n"' + b"x" * 200_000, b"\xff\xfes\0c\0"),
    *(b"score,label\n1e999999999,1\n", b"score\x85label\n1,1\n"),
)


@pytest.mark.parametrize("content", TABLES, ids=lambda content: repr(content[:30]))
def test_tables(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "scores.csv"
    path.write_bytes(content)
    with pytest.raises(InputError):
        read_table(path)


@given(text=st.text(alphabet='",;\t|\n\r \x85\u2028score label 01.e-nan', max_size=60), headed=st.booleans())
def test_tables_of_any_letters(tmp_path_factory: pytest.TempPathFactory, text: str, headed: bool) -> None:
    path = tmp_path_factory.getbasetemp() / "scores.csv"
    path.write_bytes(("score,label\n" if headed else "").encode() + text.encode())
    refused(lambda: read_table(path))
