"""What studies spend on the same data adds up in the owner's ledger, and stops at the owner's floor."""

from __future__ import annotations

import contextlib
import itertools
import json
import math
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import msgspec
import numpy as np
import pytest

from ppaurora.data import Samples
from ppaurora.errors import BudgetError, InputError, PeerLostError, RefusedError
from ppaurora.messages.owners import Acknowledgement, Offer, StudyState, StudyStatus
from ppaurora.messages.owners import WithdrawalAcknowledgement as Withdrawn
from ppaurora.messages.refusals import RefusalCode
from ppaurora.owner.client import NodeClient
from ppaurora.owner.ledger import Ledger
from ppaurora.owner.study import Study
from ppaurora.policy.budget import Spending
from ppaurora.policy.rules import Policy
from ppaurora.study.kit import OwnerKit
from ppaurora.study.manifest import Manifest
from ppaurora.study.plan import SAMPLE
from ppaurora.study.provision import provision

_SEEDS = itertools.count(31_000)
_PRIVATE = {"one": 1.0, "two": 2.0, "three": 3.0, "half": 0.5}


def fresh(count: int = 60) -> Samples:
    """Return samples of people that no other study had."""
    random = np.random.default_rng(next(_SEEDS))
    labels = np.arange(count) % 2
    return Samples("hospital-a", random.normal(size=count) + labels, labels.astype(np.uint8))


def joined(*parts: Samples) -> Samples:
    scores, labels = (np.concatenate([getattr(one, name) for one in parts]) for name in ("scores", "labels"))
    return Samples("hospital-a", scores, labels)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of kits with studies of the same owners: four private ones, and one of each other kind."""
    folder = tmp_path_factory.mktemp("budget")
    kinds = {name: f'kind = "private"\nepsilon = {epsilon}' for name, epsilon in _PRIVATE.items()}
    kinds |= {"published": 'kind = "publication"', "open": 'kind = "exact"'}
    kits = None
    for name, kind in kinds.items():
        plan = folder / "study.toml"
        text = SAMPLE.replace("sepsis-2026", name).replace('kind = "publication"', kind)
        plan.write_text(text.replace(text[text.index("metrics = [") :].split("]")[0], 'metrics = ["auroc"'))
        manifest = provision(plan, folder / name, kits)
        kits = kits or folder / name
        OwnerKit.read(kits / "hospital-a").add(manifest)
    assert kits is not None
    return kits


@pytest.fixture
def kit(made: Path, tmp_path: Path) -> Path:
    """A copy of an owner's kit, in which nothing was submitted yet."""
    copy = tmp_path / "kit"
    subprocess.run(["cp", "-rp", made / "hospital-a", copy], check=True)  # noqa: S607
    return copy


def with_floor(kit: Path, epsilon: float | None) -> Path:
    settings = kit / "owner.toml"
    text = settings.read_text().split("[floors]")[0]
    settings.write_text(text if epsilon is None else f"{text}[floors]\nepsilon = {epsilon}\n")
    return kit


class Nodes:
    """Stand-ins for all nodes of all studies: they acknowledge, and remember the last revision."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.taken: dict[tuple[str, str], int] = {}
        self.refuses = ""
        self.down = ""  # the server that gives no answer to what is submitted or withdrawn
        self.state = StudyState.COLLECTING
        self.attempts: dict[str, int] = {}  # by server
        for name in ("reached", "submit", "status", "withdraw"):
            patch.setattr(NodeClient, name, _bound(getattr(self, name)))

    @contextlib.contextmanager
    def reached(self, _: NodeClient) -> Iterator[None]:
        yield

    def submit(self, client: NodeClient, offer: Offer, *_: object) -> Acknowledgement:
        study, server = client._path.rpartition("/")[2], client.server.file_name
        self.answer(client)
        self.taken[study, server] = offer.revision
        return Acknowledgement(
            study=study,
            owner="hospital-a",
            samples=offer.samples,
            commitments=offer.commitments,
            revision=offer.revision,
            received_at=time.time(),
            server=server,
        )

    def answer(self, client: NodeClient) -> None:
        """Answer, unless this server is down or all refuse."""
        if self.down == client.server.file_name:
            raise PeerLostError(client.server.title, "the connection broke")
        if self.refuses:
            raise RefusedError(client.server.title, self.refuses, "no")

    def status(self, client: NodeClient) -> StudyStatus:
        study, server = client._path.rpartition("/")[2], client.server.file_name
        revision = self.taken.get((study, server), 0)
        return StudyStatus(
            study=study,
            name="",
            state=self.state,
            note="",
            submitted=("hospital-a",) if revision else (),
            missing=(),
            withdrawn=(),
            revision=revision,
            progress="",
            attempt=self.attempts.get(server, 0),
            version="",
            protocol_version=0,
            server=server,
            time=time.time(),
        )

    def withdraw(self, client: NodeClient, revision: int) -> Withdrawn:
        study, server = client._path.rpartition("/")[2], client.server.file_name
        self.answer(client)
        return Withdrawn(
            study=study,
            owner="hospital-a",
            revision=revision,
            withdrawn_at=time.time(),
            server=server,
        )


def _bound(method: object) -> object:
    return lambda client, *rest: method(client, *rest)  # type: ignore[operator]


@pytest.fixture
def nodes(monkeypatch: pytest.MonkeyPatch) -> Nodes:
    return Nodes(monkeypatch)


def spending(kit: Path, study: str, data: Samples) -> Spending:
    found = Study(kit, study).check(data).spending
    assert found is not None
    return found


def submit(kit: Path, study: str, data: Samples, *, replace: bool = False) -> None:
    own = Study(kit, study)
    own.send(own.prepare(data, replace=replace))


# Sums


def test_epsilons_add_up_as_people_add_them() -> None:
    tenths = Spending(Policy.private(0.1), (("a", 0.1), ("b", 0.1)), 0.3)
    assert (tenths.total, tenths.is_too_much) == (0.3, False)
    assert 0.1 + 0.1 + 0.1 > 0.3  # the control: floats add otherwise
    assert Spending(Policy.private(2), (("a", 2.0),), 3.9).is_too_much
    assert not Spending(Policy.private(2), (("a", 2.0),), 4).is_too_much
    assert not Spending(Policy.exact(), (("a", math.inf),), None).is_too_much


def test_it_is_said_in_a_line() -> None:
    alone = Spending(Policy.private(2), (), 4)
    assert str(alone) == "this study 2, so far 0, at most 4 by your floor"
    second = Spending(Policy.private(0.5), (("one", 1.0), ("two", 2.0)), 4)
    assert str(second) == "this study 0.5, so far 3 on this data (one, two), at most 4 by your floor"
    free = Spending(Policy.private(1), (("open", math.inf),))
    assert str(free) == "this study 1, so far no bound on this data (open), without a floor of yours on it"
    assert [Spending(Policy(), (), floor).matters for floor in (None, 4)] == [False, True]
    json.dumps(free.to_dict(), allow_nan=False)
    assert free.to_dict()["studies"] == [{"study": "open", "epsilon": None}]


# Which data


def test_of_private_studies_on_the_same_data_nobody_is_warned(kit: Path, nodes: Nodes) -> None:
    """What both tell adds up, and is shown; a result without noise could be subtracted from another."""
    data = fresh()
    submit(kit, "one", data)
    said = {name: Study(kit, name).check(data) for name in ("two", "published")}
    assert [said[name].warnings != () for name in said] == [False, True]
    (note,) = [concern for concern in said["two"].concerns if concern.code == "overlap"]
    assert note.text == (
        "about 100 % of these samples were part of study one: what both tell of a person adds up"
    )


def test_studies_on_the_same_data_add_up(kit: Path, nodes: Nodes) -> None:
    data = fresh()
    assert str(spending(kit, "one", data)) == "this study 1, so far 0, without a floor of yours on it"
    submit(kit, "one", data)
    assert spending(kit, "one", data).before == 0  # it is the same study
    assert spending(kit, "two", data).earlier == (("one", 1.0),)
    assert spending(kit, "two", fresh()).before == 0
    submit(kit, "two", data)
    assert (spending(kit, "three", data).before, spending(kit, "three", data).total) == (3.0, 6.0)
    assert spending(kit, "one", data).before == 2.0


@pytest.mark.parametrize("share", [1.0, 0.5, 0.05])
def test_part_of_the_data_counts_as_the_data(kit: Path, nodes: Nodes, share: float) -> None:
    """Whichever of both is the larger one; of a person in both, both tell."""
    common = fresh(100)
    rest = fresh(round(100 / share) - 100) if share < 1 else None
    larger = common if rest is None else joined(common, rest)
    submit(kit, "one", common)
    assert spending(kit, "two", larger).before == 1.0
    submit(kit, "two", larger)
    assert spending(kit, "three", common).before == 3.0
    if rest is not None:
        assert spending(kit, "three", rest).before == 2.0


def test_replacing_by_the_same_data_counts_once(kit: Path, nodes: Nodes) -> None:
    data = fresh()
    submit(kit, "one", data)
    submit(kit, "one", data, replace=True)
    shuffled = Samples("hospital-a", data.scores[::-1].copy(), data.labels[::-1].copy())
    submit(kit, "one", shuffled, replace=True)
    assert spending(kit, "two", data).before == 1.0


def test_of_replaced_data_the_latest_counts_once_all_nodes_have_it(kit: Path, nodes: Nodes) -> None:
    """Until then either may be computed with; a study releases once."""
    first, second, third = fresh(), fresh(), fresh()

    def before() -> list[float]:
        return [spending(kit, "two", data).before for data in (first, second, third)]

    submit(kit, "one", first)
    nodes.down = "proxy-1"
    for data in (second, third, second):
        with pytest.raises(PeerLostError):
            submit(kit, "one", data, replace=True)
    assert before() == [1.0, 1.0, 1.0]
    assert spending(kit, "two", joined(first, third)).before == 1.0
    nodes.down = ""
    submit(kit, "one", second)  # it goes on
    assert before() == [0.0, 1.0, 0.0]
    submit(kit, "one", third, replace=True)
    assert before() == [0.0, 0.0, 1.0]


def test_what_was_withdrawn_spends_nothing_once_all_nodes_have_acknowledged_it(
    kit: Path, nodes: Nodes
) -> None:
    data = fresh()
    submit(kit, "one", data)
    for server in ("proxy-0", "proxy-1"):
        nodes.down = server
        with pytest.raises(PeerLostError):
            Study(kit, "one").withdraw()
        assert spending(kit, "two", data).before == 1.0
    nodes.down = ""
    Study(kit, "one").withdraw()
    assert spending(kit, "two", data).before == 0
    assert not Study(kit, "published").check(data).warnings
    with_floor(kit, 2)
    submit(kit, "two", data)


@pytest.mark.parametrize("code", [RefusalCode.UNKNOWN_STUDY, RefusalCode.DELETED, RefusalCode.EXPIRED])
def test_a_server_that_has_nothing_need_not_acknowledge_a_withdrawal(
    kit: Path, nodes: Nodes, monkeypatch: pytest.MonkeyPatch, code: RefusalCode
) -> None:
    """The other one leads, and has recorded it. One that does not say so leaves it open: the control."""
    data = fresh()
    submit(kit, "one", data)

    def withdraw(client: NodeClient, revision: int) -> Withdrawn:
        if client.server.file_name == "proxy-1":
            raise RefusedError(client.server.title, said, "no")
        return nodes.withdraw(client, revision)

    monkeypatch.setattr(NodeClient, "withdraw", withdraw)
    said = RefusalCode.INTERNAL
    with pytest.raises(RefusedError):
        Study(kit, "one").withdraw()
    assert spending(kit, "two", data).before == 1.0
    said = code
    with pytest.raises(RefusedError):
        Study(kit, "one").withdraw()
    assert spending(kit, "two", data).before == 0


@pytest.mark.parametrize("state", [StudyState.DELETED, StudyState.EXPIRED])
def test_a_study_that_ended_before_it_began_spends_nothing(
    kit: Path, nodes: Nodes, state: StudyState
) -> None:
    """It may have been released before it ended, if any node has an attempt on record, or is silent."""
    data = fresh()
    submit(kit, "one", data)
    for going_on in set(StudyState) - {StudyState.DELETED, StudyState.EXPIRED}:
        nodes.state = going_on
        Study(kit, "one").status()
        assert spending(kit, "two", data).before == 1.0
    nodes.state, nodes.refuses = state, RefusalCode.CLOSED
    for server in ("proxy-0", "proxy-1"):
        nodes.attempts = {server: 1}
        Study(kit, "one").status()
        with pytest.raises((RefusedError, InputError)):
            Study(kit, "one").withdraw()
        assert spending(kit, "two", data).before == 1.0
    nodes.attempts = {}
    assert spending(kit, "two", data).before == 1.0  # nobody has asked the nodes
    with pytest.raises(RefusedError) as refused:
        Study(kit, "one").withdraw()
    assert refused.value.__notes__ == [
        "nothing was computed with what was submitted; other studies may have it"
    ]
    assert spending(kit, "two", data).before == 0
    nodes.refuses = ""
    submit(kit, "three", data)
    assert spending(kit, "two", data).before == 3.0
    Study(kit, "three").status()
    assert spending(kit, "two", data).before == 0


def test_a_study_that_no_node_has_accepted_spends_nothing(kit: Path, nodes: Nodes) -> None:
    """Data that it has refused can go to another one at once, or to this one when it is accepted."""
    data = fresh()
    nodes.refuses = RefusalCode.UNKNOWN_STUDY
    with pytest.raises(RefusedError) as refused:
        submit(kit, "one", data)
    assert "nothing was sent, and this or another file can be submitted" in refused.value.__notes__[0]
    assert spending(kit, "two", data).before == 0
    nodes.refuses = ""
    submit(kit, "one", data)
    assert spending(kit, "two", data).before == 1.0


def test_what_was_refused_spends_nothing(kit: Path, nodes: Nodes) -> None:
    """And what was submitted before goes on to count."""
    first, second, third = fresh(), fresh(), fresh()
    nodes.refuses = RefusalCode.SAMPLES
    with pytest.raises(RefusedError):
        submit(kit, "one", first)
    assert spending(kit, "two", first).before == 0
    nodes.refuses = ""
    submit(kit, "one", first)
    submit(kit, "one", second, replace=True)
    nodes.refuses = RefusalCode.BEGUN
    with pytest.raises(RefusedError):
        submit(kit, "one", third, replace=True)
    assert [spending(kit, "two", data).before for data in (first, second, third)] == [0.0, 1.0, 0.0]


def test_studies_without_noise_have_no_bound(kit: Path, nodes: Nodes) -> None:
    data = fresh()
    submit(kit, "published", data)
    assert spending(kit, "one", data).before == math.inf
    assert spending(kit, "open", data).total == math.inf
    submit(kit, "one", data)  # nobody has set a floor


def test_a_ledger_from_before_knows_no_epsilon(kit: Path, nodes: Nodes) -> None:
    """Studies had no noise then."""
    data = fresh()
    submit(kit, "one", data)
    ledger = Ledger(OwnerKit.read(kit))
    content = ledger._content()
    old = {
        study: msgspec.structs.replace(entry, epsilon=None, replaced=())
        for study, entry in content.studies.items()
    }
    ledger._write(msgspec.structs.replace(content, studies=old))
    text = (kit / "ledger.json").read_text()
    assert "epsilon" not in text or '"epsilon":null' in text.replace(" ", "")
    assert spending(kit, "two", data).before == math.inf


# The floor


def test_it_stops_above_the_floor_with_nothing_done(kit: Path, nodes: Nodes) -> None:
    data = fresh()
    with_floor(kit, 3)
    submit(kit, "one", data)
    submit(kit, "two", data)  # exactly as much as there is
    before = {path: path.read_bytes() for path in kit.rglob("*") if path.is_file()}
    check = Study(kit, "half").check(data)
    assert check.refusal.startswith("epsilon: this study 0.5, so far 3 on this data (one, two), at most 3 by")
    prepared = Study(kit, "half").prepare(data)
    with pytest.raises(BudgetError, match="Nothing was sent") as raised:
        Study(kit, "half").send(prepared)
    assert (raised.value.exit_code, str(raised.value)) == (8, check.refusal)
    after = {path: path.read_bytes() for path in kit.rglob("*") if path.is_file() and path.suffix != ".lock"}
    assert after == {path: content for path, content in before.items() if path.suffix != ".lock"}
    assert not (kit / "outbox/half").exists()
    submit(kit, "half", fresh())  # other people have a budget of their own
    submit(kit, "one", data)  # what has been submitted is not refused later


@pytest.mark.parametrize("study", ["published", "open"])
def test_a_floor_takes_no_study_without_noise(kit: Path, nodes: Nodes, study: str) -> None:
    with_floor(kit, 16)
    with pytest.raises(BudgetError, match="has no noise that would bound what it tells of a person"):
        submit(kit, study, fresh())
    assert not (kit / "outbox" / study).exists()
    assert not nodes.taken


def test_a_floor_counts_what_was_before_it(kit: Path, nodes: Nodes) -> None:
    published, noisy = fresh(), fresh()
    submit(kit, "published", published)
    submit(kit, "three", noisy)
    with_floor(kit, 4)
    with pytest.raises(BudgetError, match="one of these had no noise"):
        submit(kit, "one", published)
    with pytest.raises(BudgetError, match="so far 3 on this data"):
        submit(kit, "two", noisy)
    submit(kit, "one", noisy)


def test_of_studies_at_once_only_as_many_are_sent_as_the_floor_allows(kit: Path, nodes: Nodes) -> None:
    """Both were prepared when there was enough for either, and both may ask the ledger at the same time."""
    data = fresh()
    with_floor(kit, 3)
    own = {name: Study(kit, name) for name in ("two", "three")}
    prepared = {name: study.prepare(data) for name, study in own.items()}
    own["two"].send(prepared["two"])
    with pytest.raises(InputError, match="has changed since it was shown"):
        own["three"].send(prepared["three"])
    other = OwnerKit.read(kit)
    sketch = Ledger(other).sketch(fresh())
    manifests = [other.manifest(name) for name in ("two", "three", "one", "half")]

    def record(manifest: Manifest) -> float:
        try:
            Ledger(other).record(sketch, manifest)
        except BudgetError:
            return 0.0
        return manifest.terms.policy.spent

    with ThreadPoolExecutor(4) as pool:
        assert 0 < sum(pool.map(record, manifests)) <= 3


# Cuts


def test_what_may_have_left_counts(kit: Path, nodes: Nodes, monkeypatch: pytest.MonkeyPatch) -> None:
    data = fresh()

    def cut(client: NodeClient, *_: object) -> Acknowledgement:
        raise PeerLostError(client.server.title, "the connection broke")

    with monkeypatch.context() as broken:
        broken.setattr(NodeClient, "submit", cut)
        with pytest.raises(PeerLostError):
            submit(kit, "one", data)
    assert spending(kit, "two", data).before == 1.0
    submit(kit, "one", data)
    assert spending(kit, "two", data).before == 1.0


KILLED = """
import contextlib, os, sys
import numpy as np
from ppaurora.data import Samples
from ppaurora.owner.client import NodeClient
from ppaurora.owner.outbox import Outbox
from ppaurora.owner.study import Study

@contextlib.contextmanager
def reached(client):
    yield

setattr(*{moment}, lambda *_, **__: os._exit(9))
NodeClient.reached = reached
study = Study(sys.argv[1], "one")
labels = np.arange(60, dtype=np.uint8) % 2
data = Samples("hospital-a", np.arange(60.0) / 7, labels)
study.send(study.prepare(data))
"""


@pytest.mark.parametrize(
    ("moment", "counted"),
    [('(Outbox, "prepare")', 0.0), ('(Outbox, "leaves_for")', 1.0), ('(NodeClient, "submit")', 1.0)],
    ids=["before it is written down", "between writing and sending", "while it is sent"],
)
def test_a_process_that_is_killed_has_written_before_it_sends(
    kit: Path, nodes: Nodes, moment: str, counted: float
) -> None:
    script = KILLED.replace("{moment}", moment)
    killed = subprocess.run([sys.executable, "-c", script, kit], check=False, capture_output=True)
    assert killed.returncode == 9, killed.stderr.decode()
    data = Samples("hospital-a", np.arange(60.0) / 7, np.arange(60, dtype=np.uint8) % 2)
    assert spending(kit, "two", data).before == counted
    submit(kit, "one", data)
    assert spending(kit, "two", data).before == 1.0
