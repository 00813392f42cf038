"""The same data in a second study: the owner is warned, and the nodes refuse what they have."""

from __future__ import annotations

import io
import warnings
from functools import partial
from pathlib import Path

import msgspec
import pytest

from ppaurora.data import check_samples
from ppaurora.owner.ledger import OverlapWarning
from ppaurora.owner.study import Study
from tests.support.deployment import samples, write_csv
from tests.support.trials import PROXY_1, RunCommand, Trials

SAID = "of these samples were part of study twin-1: two results on nearly the same data can be subtracted"


def test_the_command_warns_and_asks(
    nodes: Trials, run: RunCommand, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before anything is kept or sent; --yes does not do against a warning. Other data is not warned of."""
    for number in (1, 2, 3):
        nodes.study(f"twin-{number}")
    labels, scores = samples(200, 77)
    data = write_csv(tmp_path / "scores.csv", labels, scores)
    nearly = write_csv(tmp_path / "nearly.csv", labels[4:], scores[4:])
    other = write_csv(tmp_path / "other.csv", *samples(200, 78))
    north = nodes.kit("north")
    code, said = run("submit", north, data, "--study", "twin-1", "--yes")
    assert (code, SAID in said) == (0, False)
    code, said = run("submit", north, data, "--study", "twin-1", "--yes")  # the same again is no second study
    assert (code, SAID in said) == (0, False)
    code, said = run("check", nearly, "--kit", north, "--study", "twin-2")
    assert (code, f"warning: about 100 % {SAID}" in said) == (6, True)
    code, said = run("check", nearly, "--kit", north, "--study", "twin-1")
    assert (code, SAID in said) == (0, False)
    monkeypatch.setattr("sys.stdin", io.StringIO("n\n"))
    code, said = run("submit", north, nearly, "--study", "twin-2")
    assert (code, f"warning: about 100 % {SAID}" in said, "nothing was sent" in said) == (2, True, True)
    assert not (north / "outbox/twin-2").exists()
    code, said = run("submit", north, nearly, "--study", "twin-2", "--yes")
    assert (code, f"warning: about 100 % {SAID}" in said, "(overlap)" in said) == (6, True, True)
    assert not (north / "outbox/twin-2").exists()
    code, said = run("submit", north, nearly, "--study", "twin-2", "--yes", "--despite-warnings")
    assert (code, f"warning: about 100 % {SAID}" in said) == (0, True)
    code, said = run("submit", north, other, "--study", "twin-3", "--yes")
    assert (code, "were part of study" in said) == (0, False)


def test_python_warns(nodes: Trials) -> None:
    nodes.study("python-1")
    nodes.study("python-2")
    data = check_samples("harbour", *samples(100, 79))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Study(nodes.kit("harbour"), "python-1").submit(data)
    with pytest.warns(
        OverlapWarning, match="about 100 % of these samples were part of study python-1"
    ) as said:
        Study(nodes.kit("harbour"), "python-2").submit(data)
    assert [one.filename for one in said] == [__file__]
    assert Study(nodes.kit("harbour"), "python-2").is_submitted


@pytest.mark.parametrize("way", ["withdraw", "replace", "delete"])
def test_data_that_is_taken_back_can_go_to_a_new_study(
    nodes: Trials, run: RunCommand, tmp_path: Path, way: str
) -> None:
    """Without a warning, as long as nothing was computed; before that it is warned of."""
    old, new = (f"{way}-{number}" for number in ("first", "second"))
    for name in (old, new):
        nodes.study(name)
    north, seed = nodes.kit("north"), {"withdraw": 8101, "replace": 8102, "delete": 8103}[way]
    data = write_csv(tmp_path / "scores.csv", *samples(200, seed))
    other = write_csv(tmp_path / "other.csv", *samples(200, seed + 50))
    assert run("submit", north, data, "--study", old, "--yes")[0] == 0
    said = f"part of study {old}: two results on nearly the same data can be subtracted"
    code, text = run("submit", north, data, "--study", new, "--yes")
    flat = " ".join(text.split())
    assert (code, said in flat, f"'ppaurora withdraw KIT --study {old}' takes them back from it" in flat) == (
        6,
        True,
        True,
    )
    if way == "withdraw":
        assert run("withdraw", north, "--study", old, "--yes")[0] == 0
    elif way == "replace":
        assert run("submit", north, other, "--study", old, "--yes", "--replace")[0] == 0
    else:
        assert run("delete", nodes.kit("proxy-0"), old, "--yes")[0] == 0
        assert run("status", north, "--study", old)[0] == 0
    code, text = run("submit", north, data, "--study", new, "--yes")
    assert (code, f"part of study {old}" in text) == (0, False), text
    labels, scores = samples(200, seed + 100)
    Study(nodes.kit("harbour"), new).submit(check_samples("harbour", labels, scores))
    assert Study(north, new).wait(timeout=300).receipt.samples == {"north": 200, "harbour": 200}


@pytest.mark.parametrize("way", ["withdrawn", "replaced"])
def test_shares_that_were_taken_back_stay_with_their_study(nodes: Trials, way: str) -> None:
    """The very same ones are refused in another study; new ones, which an owner always draws, are taken."""
    first, second = nodes.study(f"shares-{way}"), nodes.study(f"shares-{way}-again")
    old, fresh = nodes.upload(first), nodes.upload(second)
    old.send(nodes.client("north", first))
    if way == "withdrawn":
        nodes.client("north", first).withdraw(2)
    else:
        client = nodes.client("north", first)
        replacement = nodes.upload(first)
        client.submit(msgspec.structs.replace(replacement.offer, revision=2), replacement.bodies[0])
    assert nodes.refusal(lambda: old.send(nodes.client("north", second))) == "reused"
    assert fresh.send(nodes.client("north", second)).samples == 20


def test_what_another_study_has_is_refused(nodes: Trials) -> None:
    """By either commitment, whoever sends it; the same to the same study is fine."""
    first, second = nodes.study("used"), nodes.study("used-again")
    upload, fresh = nodes.upload(first), nodes.upload(second)
    upload.send(nodes.client("north", first))
    for client in (nodes.client(owner, second) for owner in ("north", "harbour")):
        assert nodes.refusal(partial(upload.send, client)) == "reused"
    mixed = type(upload)(upload.samples, (fresh.bodies[0], upload.bodies[1]))
    before = nodes.shares()
    assert nodes.refusal(lambda: mixed.send(nodes.client("north", second))) == "reused"
    assert nodes.shares() == before
    assert nodes.client("north", second).status().submitted == ()
    assert upload.send(nodes.client("north", first)).samples == 20
    assert upload.send(nodes.client("north", second, PROXY_1)).samples == 20  # which has not seen it
    assert fresh.send(nodes.client("north", second)).samples == 20
