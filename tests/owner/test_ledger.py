"""The ledger recognises nearly the same data in a second study, and holds none of it."""

from __future__ import annotations

import base64
import json
import stat
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ppaurora.data import Samples
from ppaurora.errors import InputError
from ppaurora.metrics import metrics_named
from ppaurora.owner.ledger import KEPT_HASHES, Ledger, Sketch
from ppaurora.study.kit import OwnerKit
from ppaurora.study.manifest import Manifest
from ppaurora.study.plan import SAMPLE
from ppaurora.study.provision import provision

KEY = b"k" * 32
Pair = tuple[float, int]


def samples(pairs: list[Pair]) -> Samples:
    scores, labels = zip(*pairs, strict=True)
    return Samples("north", np.array(scores, dtype=np.float64), np.array(labels, dtype=np.uint8))


def sketch(pairs: list[Pair], key: bytes = KEY) -> Sketch:
    return Sketch.of(samples(pairs), key)


def in_common(one: list[Pair], other: list[Pair]) -> float:
    """By definition: which fraction of the one's samples can be found in the other, each only once."""
    both = Counter((score + 0.0, label) for score, label in one)
    both &= Counter((score + 0.0, label) for score, label in other)
    return both.total() / len(one)


def made_up(count: int, seed: int, digits: int = 15) -> list[Pair]:
    random = np.random.default_rng(seed)
    scores = np.round(random.normal(size=count), digits).tolist()
    return list(zip(scores, random.integers(0, 2, count).tolist(), strict=True))


PAIRS = st.lists(
    st.tuples(st.sampled_from([0.0, -0.0, 0.25, 5e-324, -1.5, 1e300]), st.integers(0, 1)),
    min_size=1,
    max_size=60,
)


@given(PAIRS, PAIRS)
def test_short_lists_are_compared_exactly(one: list[Pair], other: list[Pair]) -> None:
    assert sketch(one).overlap(sketch(other)) == in_common(one, other)
    assert sketch(one).overlap(sketch(one[::-1])) == 1


@pytest.mark.parametrize(
    "sizes", [(3000, 3000), (20_000, 20_000), (3000, 20_000), (20_000, 900), (1024, 1025)]
)
@pytest.mark.parametrize("kept", [0.0, 0.5, 0.9, 0.999, 1.0])
@pytest.mark.parametrize("digits", [15, 1])
def test_long_lists_are_compared_as_well_as_it_says(sizes: tuple[int, int], kept: float, digits: int) -> None:
    """Within five standard errors, also where many samples are alike."""
    first, second = sizes
    common = made_up(int(kept * min(sizes)), 1, digits)
    one = common + made_up(first - len(common), 2, digits)
    other = common + made_up(second - len(common), 3, digits)
    exact = in_common(one, other)
    compared = min(first, KEPT_HASHES * min(1.0, first / second))
    error = (exact * (1 - exact) / compared) ** 0.5
    assert sketch(one).overlap(sketch(other)) == pytest.approx(exact, abs=5 * error + 2 / compared)


def test_a_sketch_is_small_and_says_nothing_without_its_key() -> None:
    pairs = made_up(5000, 4)
    mine, foreign = sketch(pairs), sketch(pairs, b"x" * 32)
    assert len(mine.hashes) == KEPT_HASHES
    assert mine.overlap(sketch(pairs)) == 1  # the positive control
    assert mine.overlap(foreign) == 0
    scores = {np.float64(score).view(np.uint64) for score, _ in pairs}
    assert scores.isdisjoint(set(mine.hashes))


def test_a_small_part_of_a_large_list_is_hardly_seen() -> None:
    """What SECURITY.md says that the ledger does not see."""
    large = made_up(200_000, 5)
    assert len(sketch(large[:20]).hashes) == 20
    assert sketch(large[:20]).overlap(sketch(large)) < 1


@pytest.fixture
def manifests(tmp_path: Path) -> list[Manifest]:
    """Of twelve studies of the same owners."""
    plan = tmp_path / "study.toml"
    made = []
    for number in range(12):
        plan.write_text(SAMPLE.replace("sepsis-2026", f"study-{number}"))
        reuse = tmp_path / "study-0" if number else None
        made.append(provision(plan, tmp_path / f"study-{number}", reuse))
    return made


@pytest.fixture
def kit(manifests: list[Manifest], tmp_path: Path) -> OwnerKit:
    return OwnerKit.read(tmp_path / "study-0/hospital-a")


def test_other_studies_with_nearly_the_same_data_are_named(kit: OwnerKit, manifests: list[Manifest]) -> None:
    first, second, third, fourth = manifests[:4]
    ledger = Ledger(kit)
    pairs, extra = made_up(400, 6), made_up(10, 8)
    old = ledger.sketch(samples(pairs))
    assert ledger.compare(old, first).overlaps == ()
    ledger.record(old, first)
    assert ledger.compare(old, first).overlaps == ()  # it is the same study
    (said,) = ledger.compare(old, second).overlaps
    assert said.is_warning
    assert said.text == (
        "about 100 % of these samples were part of study study-0: two results on nearly the same data can be "
        "subtracted to learn about the samples that differ. As long as that study has computed nothing, "
        "'ppaurora withdraw KIT --study study-0' takes them back from it"
    )
    ledger.record(ledger.sketch(samples(made_up(400, 7))), second)
    nearly = Ledger(kit).sketch(samples(pairs[:392] + extra[:8]))
    assert [said.text[:10] for said in Ledger(kit).compare(nearly, third).overlaps] == ["about 98 %"]
    ledger.record(nearly, third)
    both = ledger.compare(ledger.sketch(samples(pairs[:392] + extra)), fourth).overlaps
    assert [said.text.partition(" of these")[0] for said in both] == ["about 100 %", "about 98 %"]
    assert ["study-2" in both[0].text, "study-0" in both[1].text] == [True, True]
    assert ledger.compare(ledger.sketch(samples(made_up(400, 9))), fourth).overlaps == ()


def test_few_different_scores_are_said_to_be_unsure(kit: OwnerKit, manifests: list[Manifest]) -> None:
    ledger = Ledger(kit)
    ledger.record(ledger.sketch(samples(made_up(5000, 10, digits=0))), manifests[0])
    (said,) = ledger.compare(ledger.sketch(samples(made_up(5000, 11, digits=0))), manifests[1]).overlaps
    assert "other samples would look the same" in said.text
    assert not said.is_warning


def test_two_decimals_are_alike_by_chance_if_there_were_many(
    kit: OwnerKit, manifests: list[Manifest]
) -> None:
    """Thirty samples beside five hundred others are no reason to stop; the same thirty again are."""
    ledger, few = Ledger(kit), samples(made_up(30, 21, digits=2))
    ledger.record(ledger.sketch(samples(made_up(500, 20, digits=2))), manifests[0])
    assert not any(said.is_warning for said in ledger.compare(ledger.sketch(few), manifests[1]).overlaps)
    ledger.record(ledger.sketch(few), manifests[1])
    again = ledger.compare(ledger.sketch(few), manifests[2]).overlaps
    warned = [said.text for said in again if said.is_warning]
    assert len(warned) == 1
    assert "study-1" in warned[0]


def test_the_file_is_its_owners_and_has_a_key_of_its_own(kit: OwnerKit, manifests: list[Manifest]) -> None:
    ledger = Ledger(kit)
    data = samples(made_up(300, 12))
    ledger.record(ledger.sketch(data), manifests[0])
    path = kit.folder / "ledger.json"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    content = json.loads(path.read_text())
    key = base64.b64decode(content["key"])
    assert len(key) == 32
    kept = base64.b64decode(content["studies"][manifests[0].hash]["hashes"])
    assert kept == Sketch.of(data, key).hashes.astype("<u8").tobytes()
    other = Ledger(OwnerKit.read(kit.folder.parent / "hospital-b"))
    other.record(other.sketch(data), manifests[0])
    other_key = json.loads((kit.folder.parent / "hospital-b/ledger.json").read_text())["key"]
    assert base64.b64decode(other_key) != key


def test_submissions_at_the_same_time_are_all_kept(kit: OwnerKit, manifests: list[Manifest]) -> None:
    one = Ledger(kit).sketch(samples(made_up(50, 13)))
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda manifest: Ledger(kit).record(one, manifest), manifests))
    kept = json.loads((kit.folder / "ledger.json").read_text())["studies"]
    assert set(kept) == {manifest.hash for manifest in manifests}


def test_a_damaged_ledger_is_said_to_be(kit: OwnerKit) -> None:
    (kit.folder / "ledger.json").write_text("no JSON")
    with pytest.raises(InputError, match=r"ledger\.json: is damaged"):
        Ledger(kit).sketch(samples([(0.5, 1)]))


def test_a_study_is_known_by_its_hash(kit: OwnerKit, manifests: list[Manifest]) -> None:
    """Not by its name, which another manifest may have."""
    ledger = Ledger(kit)
    one = ledger.sketch(samples(made_up(50, 14)))
    ledger.record(one, manifests[0])
    same_name = msgspec.structs.replace(
        manifests[0], terms=msgspec.structs.replace(manifests[0].terms, metrics=metrics_named("ap"))
    )
    assert len(ledger.compare(one, same_name).overlaps) == 1
