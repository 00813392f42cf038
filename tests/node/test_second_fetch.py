"""What an owner has fetched answers every later question from its own disk, and no server hears of it."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import sqlite3
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from ppaurora.data import check_samples
from ppaurora.errors import (
    InputError,
    NotReleasedError,
    PpauroraError,
    ProtocolError,
    RefusedError,
    UnsortedListError,
)
from ppaurora.io.models import to_json
from ppaurora.node.store.row_checksums import define_checksum
from ppaurora.owner.study import Study
from ppaurora.sharing.commitment import commit
from ppaurora.sharing.stages import ResultShare
from ppaurora.study.manifest import Manifest
from ppaurora.study.receipt import sign_statement
from tests.support.deployment import samples, write_csv
from tests.support.relay import Relay
from tests.support.trials import PAIR, YES, RunCommand, Trials, becomes, rewritten

# Every study here has the same data.
pytestmark = pytest.mark.filterwarnings("ignore::ppaurora.OverlapWarning")


class Watched:
    """A released study whose owners reach the proxies through relays that count."""

    def __init__(self, nodes: Trials, name: str, relays: list[Relay]) -> None:
        self.nodes, self.relays = nodes, relays
        ports = {
            str(nodes.addresses[node][0]): relay.port
            for node, relay in zip(("proxy-0", "proxy-1"), relays, strict=True)
        }
        self.manifest: Manifest = nodes.study(name, ports=ports)
        for place, owner in enumerate(PAIR):
            Study(nodes.kit(owner), name).submit(check_samples(owner, *samples(30, 40 + place)))
        client = Study(nodes.kit("north"), name)
        assert becomes(lambda: {one.state for one in client.status().values()} == {"released"})

    @property
    def contacts(self) -> list[int]:
        return [relay.connections for relay in self.relays]

    @contextlib.contextmanager
    def unheard(self) -> Iterator[None]:
        """Nobody at the nodes hears of what is done inside."""
        before = self.contacts
        yield
        assert self.contacts == before

    def study(self, kit: Path | None = None) -> Study:
        return Study(kit or self.nodes.kit("north"), self.manifest.study)

    def change(self, what: str, value: object) -> None:
        """Of north's part of the result, by a dishonest proxy 1: its disk is in order."""
        database = self.nodes.database("proxy-1")
        with contextlib.closing(sqlite3.connect(database, timeout=30)) as db, db:
            define_checksum(db)
            db.execute(
                f"UPDATE results SET {what} = ? WHERE study = ? AND owner = 'north'",  # noqa: S608
                (value, self.manifest.hash),
            )

    def change_part(self, part: ResultShare) -> None:
        """As a dishonest proxy would: its disk is in order, and it signs for what it gives."""
        with self.nodes.store("proxy-1") as store:
            assert becomes(lambda: "proxy-1" in store.statements(self.manifest.hash))
            salt = store.salt(self.manifest.hash, "north")
            signed = store.statements(self.manifest.hash)["proxy-1"]
        assert salt is not None
        digest = commit(salt.raw, part.to_bytes())
        self.change("part", part.to_bytes())
        said = msgspec.structs.replace(signed.statement, parts={**signed.statement.parts, "north": digest})
        again = sign_statement(said, self.nodes.kit("proxy-1") / "key.pem")
        database = self.nodes.database("proxy-1")
        with contextlib.closing(sqlite3.connect(database, timeout=30)) as db, db:
            define_checksum(db)
            db.execute(
                "UPDATE statements SET content = ? WHERE study = ? AND server = 'proxy-1'",
                (to_json(again).decode(), self.manifest.hash),
            )

    def part(self) -> ResultShare:
        with self.nodes.store("proxy-1") as store:
            found = store.result(self.manifest.hash, "north")
        assert found is not None
        return found[1]


Watch = Callable[[str], Watched]


@pytest.fixture
def watched(nodes: Trials) -> Iterator[Watch]:
    with contextlib.ExitStack() as cleanup:

        def watch(name: str) -> Watched:
            ports = [nodes.addresses[node][0] or 0 for node in ("proxy-0", "proxy-1")]
            relays = [cleanup.enter_context(contextlib.closing(Relay(port))) for port in ports]
            return Watched(nodes, name, relays)

        yield watch


def test_whoever_waits_does_not_mind_a_disk_that_is_full_at_the_end(
    watched: Watch, monkeypatch: pytest.MonkeyPatch
) -> None:
    study = watched("full-at-the-end").study()
    fetch, refusals = study._fetch, ["no-room", "not-ready"]

    def refuse_at_first() -> Any:
        if refusals:
            raise RefusedError("proxy 1", refusals.pop(), "try again later")
        return fetch()

    monkeypatch.setattr(study, "_fetch", refuse_at_first)
    assert study.wait(timeout=300).auroc is not None
    assert refusals == []


def test_whoever_waits_is_told_of_what_does_not_pass(watched: Watch, monkeypatch: pytest.MonkeyPatch) -> None:
    study = watched("damaged-at-the-end").study()

    def refuse() -> Any:
        raise RefusedError("proxy 1", "damaged", "the disk has changed it")

    monkeypatch.setattr(study, "_fetch", refuse)
    with pytest.raises(RefusedError):
        study.wait(timeout=300)


def test_a_result_is_fetched_once(watched: Watch, run: RunCommand, tmp_path: Path) -> None:
    """The same report and receipt, from Python and by the command; nothing is sent any more either."""
    released = watched("fetched-once")
    before = released.contacts
    first = released.study().result()
    assert released.contacts == [count + 1 for count in before]  # the positive control
    path = released.nodes.kit("north") / "inbox/fetched-once.json"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    data = write_csv(tmp_path / "same.csv", *samples(30, 40))
    with released.unheard():
        assert released.study().result() == first
        assert released.study().wait() == first
        code, said = run("result", released.nodes.kit("north"), "--study", "fetched-once")
        assert (code, "receipt" in said) == (0, True)
        assert run("submit", released.nodes.kit("north"), data, "--study", "fetched-once", *YES)[0] == 2
        with pytest.raises(InputError, match="has its result"):
            released.study().evaluate(*samples(30, 40))


def one_more(place: tuple[int, int]) -> Callable[[Watched], None]:
    """In one number of a part, as a dishonest server would."""

    def spoil(released: Watched) -> None:
        words = released.part().words.copy()
        words[place] -= np.uint64(1)
        released.change_part(ResultShare(words))

    return spoil


SPOILT: dict[str, tuple[Callable[[Watched], None], type[PpauroraError], str]] = {
    "meaningless": (one_more((1, 0)), ProtocolError, "do not belong together"),
    "unsorted": (one_more((0, -1)), UnsortedListError, "harbour: the list that was sent is not sorted"),
    "disagreeing": (
        lambda released: released.change("attempt", 7),
        ProtocolError,
        "do not agree on the attempt",
    ),
}


@pytest.mark.parametrize("how", SPOILT)
def test_what_cannot_be_used_is_not_asked_for_again(
    how: str, watched: Watch, run: RunCommand, tmp_path: Path
) -> None:
    """The same error, whoever asks again and whatever the servers would say now."""
    spoil, kind, says = SPOILT[how]
    released = watched(how)
    good = released.part()
    with released.nodes.store("proxy-0") as store:
        found = store.result(released.manifest.hash, "north")
    assert found is not None
    spoil(released)
    with pytest.raises(kind, match=says) as first:
        released.study().result()
    released.change_part(good)
    released.change("attempt", found[0])
    with released.unheard():
        for again in (released.study().result, released.study().wait):
            with pytest.raises(kind) as second:
                again()
            assert str(second.value) == str(first.value)
        code, said = run("result", released.nodes.kit("north"), "--study", how)
        assert (code, str(first.value) in said) == (kind.exit_code, True)
        with pytest.raises(InputError, match="has its result"):
            released.study().evaluate(*samples(30, 40))
    # The positive control: who has no answer on disk asks, and is heard.
    other = tmp_path / "north"
    shutil.copytree(released.nodes.kit("north"), other, ignore=shutil.ignore_patterns("inbox"))
    before = released.contacts
    assert 0 <= released.study(other).result().auroc <= 1
    assert released.contacts == [count + 1 for count in before]


def test_an_answer_is_kept_whole_or_not_at_all(watched: Watch, monkeypatch: pytest.MonkeyPatch) -> None:
    """Cut off before the file is in its place, nothing was made of the parts; they are fetched again."""
    released = watched("cut-off-answer")
    study = released.study()

    def cut_off(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", cut_off)
        patch.setattr(type(study.manifest.protocol), "combine", cut_off)
        with pytest.raises(KeyboardInterrupt):
            study.result()
    assert list((released.nodes.kit("north") / "inbox").glob("*cut-off-answer*")) == []
    assert 0 <= released.study().result().auroc <= 1


def test_no_result_is_not_kept(nodes: Trials) -> None:
    """A refusal is no answer: it is asked again."""
    nodes.study("not-yet")
    with pytest.raises(NotReleasedError):
        Study(nodes.kit("north"), "not-yet").result()
    assert not (nodes.kit("north") / "inbox/not-yet.json").exists()


def test_files_of_another_study_or_damaged_ones_are_not_taken(watched: Watch) -> None:
    released = watched("damaged")
    released.study().result()
    path = released.nodes.kit("north") / "inbox/damaged.json"
    good = path.read_text()
    for bad, says in (
        (good[:-1], "is damaged"),
        (rewritten({**json.loads(good), "study": "0" * 64}).decode(), "belongs to another manifest"),
        (rewritten({**json.loads(good), "answers": []}).decode(), "is damaged"),
        (good.replace(released.manifest.hash, "0" * 64, 1), "it has changed since it was written"),
    ):
        path.write_text(bad)
        with pytest.raises(InputError, match=says):
            released.study().result()
    path.write_text(good)
