"""Owners that count their samples on a study's grid: checked, recognised, accounted for, prepared."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import ppaurora
from ppaurora.app.jobs import AppJob
from ppaurora.app.owner.draft import Draft
from ppaurora.data import CountedDataset, CountTable, Grid, Samples, tabulate
from ppaurora.owner.ledger import Ledger, Sketch
from ppaurora.owner.outbox import Fingerprint, Outbox
from ppaurora.study.kit import OwnerKit
from ppaurora.study.plan import SAMPLE
from ppaurora.study.provision import provision
from tests.support.formats import FILES

GRID = Grid(decimals=3)
KEY = b"k" * 32
FAST = 'name = "fast"\nkey_bits = 64\n'
ON_GRID = 'name = "grid"\nlow = 0.0\nhigh = 1.0\ndecimals = 3\n'


def made_up(count: int, seed: int, shift: float = 0.3) -> Samples:
    random = np.random.default_rng(seed)
    labels = random.integers(0, 2, count).astype(np.uint8)
    return Samples("north", random.random(count) * (1 - shift) + labels * shift, labels)


def provisioned(folder: Path, name: str, protocol: str, kind: str = 'kind = "publication"') -> ppaurora.Study:
    """Return hospital-a's side of a study of this protocol and policy; all studies have the same owners."""
    text = SAMPLE.replace("sepsis-2026", name).replace('kind = "publication"', kind)
    assert text.count(FAST) == 1
    if "private" in kind:
        text = text.replace('metrics = ["auroc", "aupr"]', 'metrics = ["auroc"]')
    (folder / "plan.toml").write_text(text.replace(FAST, protocol))
    before = folder / "first" if (folder / "first").exists() else None
    manifest = provision(folder / "plan.toml", folder / name, before)
    kit = OwnerKit.read(folder / "first/hospital-a")
    kit.add(manifest)
    return ppaurora.Study(kit.folder, name)


@pytest.fixture
def study(tmp_path: Path) -> ppaurora.Study:
    return provisioned(tmp_path, "first", ON_GRID)


@pytest.fixture
def streams(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ppaurora.data.dataset.ROWS_KEPT", 100)


@pytest.mark.usefixtures("streams")
def test_a_large_file_is_prepared_as_a_table(study: ppaurora.Study, tmp_path: Path) -> None:
    own = made_up(400, 1)
    path = FILES["CSV"]({"score": own.scores.tolist(), "label": own.labels.tolist()}, tmp_path)
    prepared = study.prepare(path)
    assert isinstance(prepared.samples, CountTable)
    assert prepared.samples.positives.tolist() == CountTable.of(own, GRID).positives.tolist()
    assert not prepared.samples.positives.flags.writeable
    assert (prepared.check.samples, prepared.check.refusal) == (400, "")
    effect, of_rows = prepared.check.grid_effect, study.check(own).grid_effect
    assert effect is not None
    assert of_rows is not None
    assert replace(of_rows, before=None, tied_before=None) == effect
    assert of_rows.before not in (None, of_rows.after)


def test_a_table_is_checked_as_the_rows_that_it_is_made_of(study: ppaurora.Study) -> None:
    own = made_up(400, 1)
    of_rows = study.check(own).to_dict()
    of_table = study.check(tabulate((own.labels, own.scores), GRID, name="north")).to_dict()
    for told in (of_rows, of_table):
        told.pop("grid")
    assert of_table == of_rows


def test_what_the_study_does_not_take_is_refused_in_words(study: ppaurora.Study) -> None:
    own = made_up(400, 1)
    other = study.prepare(CountTable.of(own, Grid(decimals=2)))
    assert "the table is on another grid than the study: 1,001 values from 0 to 1" in other.check.refusal
    beyond = Samples("north", own.scores + 1, own.labels)
    found = study.check(beyond)
    assert "row 1, column 'y_score': the score is outside of the study's grid" in found.refusal
    assert found.grid_effect is None


def test_a_table_is_for_a_grid(tmp_path: Path) -> None:
    study = provisioned(tmp_path, "first", FAST)
    refused = study.check(CountTable.of(made_up(400, 1), GRID)).refusal
    assert refused == "north: a table of counts is for the protocol 'grid'; give the samples"


def test_a_fingerprint_is_of_all_counts() -> None:
    table = CountTable.of(made_up(50, 1), GRID)
    same = CountTable.of(made_up(50, 1), GRID)
    other = CountTable(table.source, GRID, table.negatives, table.positives)
    salt = b"s" * 16
    assert Fingerprint.of(table, salt) == Fingerprint.of(same, salt)
    assert Fingerprint.of(table, salt) != Fingerprint.of(other, salt)
    assert Fingerprint.of(table, salt) != Fingerprint.of(table, b"t" * 16)


@pytest.mark.parametrize("size", [40, 3000])
@pytest.mark.parametrize("kept", [0.0, 0.5, 1.0])
def test_tables_of_few_copies_are_compared_as_rows_are(size: int, kept: float) -> None:
    """As long as no value has more than 32 samples of a class, every sample counts."""
    common, one, other = made_up(int(kept * size), 1), made_up(size, 2), made_up(size, 3)
    lists = [
        GRID.read(
            Samples(
                "north",
                np.append(common.scores, rest.scores[len(common) :]),
                np.append(common.labels, rest.labels[len(common) :]),
            )
        )
        for rest in (one, other)
    ]
    first, second = (Sketch.of(own, KEY) for own in lists)
    on_grid, beside = (Sketch.of_table(CountTable.of(own, GRID), KEY) for own in lists)
    assert on_grid.hashes.tolist() == first.hashes.tolist()
    assert on_grid.overlap(beside) == first.overlap(second)


def test_a_billion_samples_have_a_sketch() -> None:
    counts = np.full(GRID.cells, 500_000, dtype=np.uint32)
    table = CountTable("north", GRID, counts, counts)
    assert len(table) > 10**9
    sketch = Sketch.of_table(table, KEY)
    assert sketch.overlap(sketch) == 1
    fewer = Sketch.of_table(CountTable("north", GRID, counts // 1000, counts // 1000), KEY)
    assert fewer.overlap(sketch) == 1
    assert sketch.overlap(fewer) < 0.6


def test_rows_are_compared_with_a_table_as_they_are_read_on_its_grid(
    study: ppaurora.Study, tmp_path: Path
) -> None:
    own, others = made_up(60, 1), made_up(60, 2, shift=0.9)
    second, third = (provisioned(tmp_path, name, FAST) for name in ("second", "third"))
    ledger = Ledger(study.kit)
    ledger.record(ledger.sketch(CountTable.of(own, GRID)), study.manifest)
    (said,) = ledger.look(own, second.manifest).overlaps
    assert said.text.startswith("about 100 % of these samples were part of study first")
    assert ledger.look(others, second.manifest).overlaps == ()
    beyond = Samples("north", np.append(own.scores, [7.0]), np.append(own.labels, [1]).astype(np.uint8))
    assert len(ledger.look(beyond, second.manifest).overlaps) == 1
    ledger.record(ledger.sketch(own), second.manifest)
    told = ledger.look(CountTable.of(own, GRID), third.manifest).overlaps
    assert [one.is_warning for one in told] == [True, False]
    assert "whether these samples were part of study second cannot be told" in told[1].text


def test_a_budget_counts_what_cannot_be_compared(tmp_path: Path) -> None:
    """A table after rows, a table on another grid, rows after a table: all draw on one budget."""
    own, kind = made_up(300, 1), 'kind = "private"\nepsilon = 1.0'
    coarse = ON_GRID.replace("decimals = 3", "decimals = 2")
    given: dict[str, tuple[str, Samples | CountTable]] = {
        "first": (FAST, own),
        "second": (ON_GRID, CountTable.of(own, GRID)),
        "third": (coarse, CountTable.of(own, Grid(decimals=2))),
        "fourth": (FAST, own),
    }
    studies = [provisioned(tmp_path, name, protocol, kind) for name, (protocol, _) in given.items()]
    ledger = Ledger(studies[0].kit)
    for number, (study, (_, data)) in enumerate(zip(studies, given.values(), strict=True)):
        spending = ledger.look(data, study.manifest).spending
        assert [name for name, _ in spending.earlier] == list(given)[:number]
        ledger.record(ledger.sketch(data), study.manifest)
    apart = Samples("north", np.linspace(-9.0, -8.0, 50), np.arange(50, dtype=np.uint8) % 2)
    assert ledger.look(apart, provisioned(tmp_path, "fifth", FAST, kind).manifest).spending.earlier == ()


def test_shares_of_a_table_are_drawn_once_and_kept(study: ppaurora.Study) -> None:
    outbox = Outbox(study.kit, study.manifest)
    table = CountTable.of(made_up(400, 1), GRID)
    first = outbox.prepare(table)
    assert (first.samples, outbox.prepare(table)) == (400, first)
    assert outbox.is_for(table)
    assert not outbox.is_for(CountTable.of(made_up(400, 2), GRID))
    salted = [len(outbox.body(server, first)) for server in study.manifest.protocol.input_servers]
    assert sorted(salted)[1] - sorted(salted)[0] == 2 * 4 * GRID.cells - 32  # words, and a seed


@pytest.mark.usefixtures("streams")
def test_the_app_reads_a_large_file_as_counts(study: ppaurora.Study, tmp_path: Path) -> None:
    own = made_up(400, 1)
    labels = ["sepsis" if label else "well" for label in own.labels]
    path = FILES["CSV"]({"id": list(range(400)), "score": own.scores.tolist(), "label": labels}, tmp_path)
    draft, job = Draft.of(path, "large.csv", study), AppJob("reading")
    draft = draft.checked(draft.columns, study, job)
    check = draft.looked.check
    assert check is not None
    assert isinstance(draft.dataset, CountedDataset)
    assert (draft.columns.pos_label, check.positives) == ("sepsis", int(own.labels.sum()))
    assert check.auroc.value == study.check(own).auroc.value
    assert len(draft.looked.charts) == 3
    (said,) = (concern for concern in check.concerns if concern.code == "duplicates")
    assert "looked for in the first rows alone" in said.text
    assert not said.is_warning
