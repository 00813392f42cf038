"""What a person agreed to is what is sent; until then nothing is kept, and nothing leaves."""

from __future__ import annotations

import dataclasses
import itertools
import shutil
from pathlib import Path

import pytest

from ppaurora.data.samples import Samples, check_samples
from ppaurora.errors import DataError, InputError, PeerError, RefusedError
from ppaurora.messages.refusals import RefusalCode
from ppaurora.owner.outbox import Outbox
from ppaurora.owner.study import Study
from ppaurora.testing.consortium import POLICY
from tests.support.deployment import free_ports, samples
from tests.support.policies import with_floors
from tests.support.trials import PROXY_1, Trials

_SEEDS = itertools.count(12_000)


def fresh(count: int = 30) -> Samples:
    """Return samples that no other study had."""
    return check_samples("north", *samples(count, next(_SEEDS)))


def north(nodes: Trials, study: str) -> Study:
    return Study(nodes.kit("north"), study)


def files_of(kit: Path) -> dict[str, bytes]:
    """Return everything in a kit; what its lock is, it may keep."""
    found = (path for path in kit.rglob("*") if path.is_file() and path.suffix != ".lock")
    return {str(path): path.read_bytes() for path in found}


def test_nothing_is_kept_and_nothing_leaves_before_it_is_sent(nodes: Trials) -> None:
    manifest = nodes.study("unsent")
    study, before = north(nodes, "unsent"), files_of(nodes.kit("north"))
    prepared = study.prepare(fresh(), replace=False)
    assert files_of(nodes.kit("north")) == before
    assert nodes.client("north", manifest).status().submitted == ()
    assert (prepared.is_begun, study.submitted, prepared.check.samples) == (False, None, 30)
    sent = study.send(prepared)
    assert files_of(nodes.kit("north")) != before  # the control
    assert nodes.client("north", manifest).status().submitted == ("north",)
    assert (sent.samples, study.is_submitted) == (30, True)


def test_it_prints_no_data(nodes: Trials) -> None:
    nodes.study("silent")
    prepared = north(nodes, "silent").prepare(check_samples("north", [0, 1] * 15, [0.125, 0.875] * 15))
    assert "0.875" not in repr(prepared)
    with pytest.raises(dataclasses.FrozenInstanceError):
        prepared.replace = True  # type: ignore[misc]


def test_what_is_changed_behind_it_does_not_change_it(nodes: Trials) -> None:
    nodes.study("fixed")
    study, data = north(nodes, "fixed"), fresh()
    as_it_was = data.scores.copy()
    prepared = study.prepare(data)
    data.scores[:] = 0.0  # the control: these arrays are the caller's to change
    study.send(prepared)
    assert study.prepare(Samples("north", as_it_was, data.labels)).is_begun
    assert isinstance(prepared.samples, Samples)
    with pytest.raises(ValueError, match="read-only"):
        prepared.samples.scores[0] = 1.0
    with pytest.raises(InputError, match="other data was submitted"):
        study.prepare(data)


def test_the_study_is_asked_once_whether_it_takes_the_data(
    nodes: Trials, monkeypatch: pytest.MonkeyPatch
) -> None:
    nodes.study("asked-once")
    check, times = Outbox.check, []

    def counted(outbox: Outbox, data: Samples) -> None:
        times.append(len(data))
        check(outbox, data)

    monkeypatch.setattr(Outbox, "check", counted)
    north(nodes, "asked-once").submit(fresh())
    assert times == [30]


def test_what_another_process_has_submitted_meanwhile_stays(nodes: Trials) -> None:
    nodes.study("overtaken")
    study, data = north(nodes, "overtaken"), fresh()
    prepared, replacing = study.prepare(data), study.prepare(data, replace=True)
    theirs = north(nodes, "overtaken").submit(fresh())
    for one in (prepared, replacing):
        with pytest.raises(InputError, match=r"nothing was sent\. Since north was checked, something was"):
            study.send(one)
    assert study.submitted == theirs
    with pytest.raises(InputError, match="other data was submitted"):
        study.prepare(data)
    assert study.send(study.prepare(data, replace=True)).offer.revision == 2


def test_what_was_withdrawn_meanwhile_stays_withdrawn(nodes: Trials) -> None:
    nodes.study("withdrawn-meanwhile")
    study, data = north(nodes, "withdrawn-meanwhile"), fresh()
    study.submit(data)
    prepared = study.prepare(data)
    assert prepared.is_begun
    study.withdraw()
    with pytest.raises(InputError, match="or withdrawn: check it again"):
        study.send(prepared)
    assert study.is_withdrawn
    again = study.prepare(data)
    assert not again.is_begun
    assert study.send(again).offer.revision == 3


def test_after_a_cut_the_same_goes_on(nodes: Trials) -> None:
    """What was prepared once is sent again, although the kit has sent something since: itself."""
    nodes.study("cut-and-sent")
    study = north(nodes, "cut-and-sent")
    prepared, client = study.prepare(fresh()), study._clients[PROXY_1]
    port, client.port = client.port, free_ports(1)[0]
    with pytest.raises(PeerError, match="proxy 1 cannot be reached"):
        study.send(prepared)
    first = study.submitted
    assert first is not None
    client.port = port
    assert study.send(prepared).offer == first.offer
    assert study.is_submitted


def test_it_is_for_one_study_and_one_owner(nodes: Trials) -> None:
    for name in ("meant", "not-meant"):
        nodes.study(name)
    prepared = north(nodes, "meant").prepare(fresh())
    for other in (north(nodes, "not-meant"), Study(nodes.kit("harbour"), "meant")):
        with pytest.raises(InputError, match="was prepared for another study or kit"):
            other.send(prepared)
        assert other.submitted is None
    assert north(nodes, "meant").send(prepared).samples == 30


def test_it_is_for_the_floors_that_were_shown(nodes: Trials, tmp_path: Path) -> None:
    """Who changes the kit's demands, or has a copy of it with others, has to look again."""
    nodes.study("floors-shown")
    stricter = Study(with_floors(nodes, "north", tmp_path, "minimum_positives = 12"), "floors-shown")
    prepared, seen = north(nodes, "floors-shown").prepare(fresh()), stricter.prepare(fresh())
    for study, other in ((stricter, prepared), (north(nodes, "floors-shown"), seen)):
        with pytest.raises(InputError, match="was prepared for another study or kit"):
            study.send(other)
        assert study.submitted is None
    assert stricter.send(seen).offer.floors.minimum_positives == 12


def test_what_another_study_got_meanwhile_is_looked_at_first(nodes: Trials) -> None:
    for name in ("looked-at-early", "looked-at-late"):
        nodes.study(name)
    data, study = fresh(), north(nodes, "looked-at-late")
    prepared = study.prepare(data)
    assert prepared.check.warnings == ()
    north(nodes, "looked-at-early").submit(data)
    with pytest.raises(InputError, match="has changed since it was shown: check it again"):
        study.send(prepared)
    assert study.submitted is None
    seen = study.prepare(data)
    assert [concern.code for concern in seen.check.warnings] == ["overlap"]
    assert study.send(seen).samples == 30


def test_what_the_study_does_not_take_is_prepared_and_not_sent(
    nodes: Trials, monkeypatch: pytest.MonkeyPatch
) -> None:
    nodes.study("probable", more='[evaluation]\nscore_scale = "probability"\nsubmissions_until = 2090-12-31')
    study = north(nodes, "probable")
    unfit = study.prepare(check_samples("north", [0, 1] * 15, [0.5, 1.5] * 15))
    assert "the study evaluates probabilities" in unfit.check.refusal
    with pytest.raises(DataError, match="the study evaluates probabilities"):
        study.send(unfit)
    fit = study.prepare(check_samples("north", [0, 1] * 15, [i / 30 for i in range(30)]))
    with monkeypatch.context() as later:
        later.setattr("ppaurora.owner.outbox.time.time", lambda: 4e9)
        with pytest.raises(InputError, match="submissions were taken until"):
            study.send(fit)
    assert study.submitted is None
    assert study.send(fit).samples == 30


def test_too_few_samples_are_prepared_and_refused_before_a_node_hears_of_them(nodes: Trials) -> None:
    nodes.study("enough-samples-shown", policy=f"{POLICY}minimum_samples_per_owner = 40\n")
    study = north(nodes, "enough-samples-shown")
    few = study.prepare(fresh(30))
    assert "fewer than 40 samples" in few.check.refusal
    with pytest.raises(InputError, match="fewer than 40 samples"):
        study.send(few)
    assert study.submitted is None
    assert study.send(study.prepare(fresh(40))).samples == 40


def test_what_never_left_is_sent_by_the_same_call_also_after_a_withdrawal(nodes: Trials) -> None:
    nodes.study("again-after-withdrawal")
    study = north(nodes, "again-after-withdrawal")
    study.submit(fresh())
    study.withdraw()
    prepared = study.prepare(fresh())
    client = study._clients[study.manifest.protocol.leader]
    port, client.port = client.port, free_ports(1)[0]
    with pytest.raises(PeerError) as cut:
        study.send(prepared)
    assert "nothing was sent" in cut.value.__notes__[-1]
    client.port = port
    assert study.send(prepared).offer.revision > 2
    assert study.is_submitted


def test_what_met_another_copys_submission_replaces_it_as_advised(nodes: Trials, tmp_path: Path) -> None:
    nodes.study("two-copies")
    shutil.copytree(nodes.kit("north"), tmp_path / "copy")
    Study(tmp_path / "copy", "two-copies").submit(fresh())
    study, data = north(nodes, "two-copies"), fresh()
    with pytest.raises(RefusedError) as refused:
        study.submit(data)
    assert refused.value.code == RefusalCode.CONFLICT
    assert "--replace" in refused.value.__notes__[0]
    assert study.submit(data, replace=True).offer.revision == 2


def test_a_ledger_that_was_deleted_meanwhile_is_begun_with_what_is_sent(
    nodes: Trials, tmp_path: Path
) -> None:
    names = ("deleted-ledger-a", "deleted-ledger-b", "deleted-ledger-c")
    for name in names:
        nodes.study(name)
    kit = tmp_path / "kit"  # with a ledger of its own
    shutil.copytree(nodes.kit("north"), kit)
    first, second, third = (Study(kit, name) for name in names)
    first.submit(fresh())
    data = fresh(200)
    prepared = second.prepare(data)
    (kit / "ledger.json").unlink()
    second.send(prepared)
    assert [one.code for one in third.prepare(data).seen.overlaps] == ["overlap"]
