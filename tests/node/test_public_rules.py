"""Public rules at nodes that run: told when submissions arrive, mended by owners until an attempt begins."""

from __future__ import annotations

from pathlib import Path

import pytest

from ppaurora.data import check_samples
from ppaurora.errors import InputError, NotReleasedError, RefusedError
from ppaurora.messages.owners import Offer, StudyState, StudyStatus
from ppaurora.node import operating
from ppaurora.owner.study import Study
from ppaurora.policy.rules import Floors
from ppaurora.study.kit import NodeKit
from ppaurora.study.manifest import Manifest
from tests.support.deployment import write_csv
from tests.support.policies import DEFAULT_POLICY, at_nodes, events_of, made_up, submit_all, with_floors
from tests.support.trials import OWNERS, PROXY_0, PROXY_1, YES, RunCommand, Trials, becomes

PROXIES = ("proxy 0", "proxy 1")
GRID = '[protocol]\nname = "grid"\nlow = -8.0\nhigh = 8.0\ndecimals = 1\n'
LARGEST = (
    "north has more than 0.5 of all samples: 220 of 300; north can replace its submission by a smaller one, "
    "or the others theirs by larger ones, with 'ppaurora submit --replace'"
)
FEW = (
    "there are fewer than 300 samples in all: 299; owners can replace their submissions by larger ones with "
    "'ppaurora submit --replace'; or the coordinator can amend the study"
)


def planned(nodes: Trials, name: str, *, policy: str = DEFAULT_POLICY, more: str = "") -> Manifest:
    """Of all three owners."""
    return nodes.study(name, owners=OWNERS, head='metrics = ["auroc"]\n', policy=policy, more=more)


def notes(study: Study) -> dict[str, str]:
    """What both proxies say of a study that collects."""
    answers = study.status()
    assert {answer.state for answer in answers.values()} == {StudyState.COLLECTING}
    return {title: answer.note for title, answer in answers.items()}


def check_waits(nodes: Trials, manifest: Manifest, study: Study, note: str) -> None:
    """Both proxies say why, no attempt was begun, and no node has stopped."""
    assert becomes(lambda: notes(study) == dict.fromkeys(PROXIES, note)), notes(study)
    for node, found in at_nodes(nodes, manifest.hash).items():
        assert (found.state, found.attempts) == (StudyState.COLLECTING, 0), node
        assert "attempt begins" not in [event["event"] for event in events_of(nodes, node, manifest.study)]


@pytest.mark.parametrize("protocol", ["", GRID], ids=["fast", "grid"])
def test_a_study_of_which_one_owner_has_too_much_waits_until_it_has_less(
    nodes: Trials, run: RunCommand, tmp_path: Path, protocol: str
) -> None:
    """The last one to submit is told, and whoever asks; a smaller file in place of the large one mends it."""
    name = f"balance-{'grid' if protocol else 'fast'}"
    manifest = planned(nodes, name, more=protocol)
    said = {}
    for owner, (labels, scores) in made_up(name, sizes=(220, 40, 40)).items():
        file = write_csv(tmp_path / f"{owner}.csv", labels, scores)
        code, said[owner] = run("submit", nodes.kit(owner), file, "--study", name, *YES)
        assert code == 0, said[owner]
    told = {owner: "220 of 300" in text for owner, text in said.items()}
    assert told == {"north": False, "harbour": False, "valley": True}
    assert f"proxy 0: {LARGEST}" in said["valley"]
    study = Study(nodes.kit("harbour"), name)
    check_waits(nodes, manifest, study, LARGEST)
    with pytest.raises(NotReleasedError, match=r"there is no result yet: proxy 0: north has more than 0\.5"):
        study.wait(timeout=0)
    code, text = run("result", nodes.kit("north"), "--study", name)
    assert (code, f"there is no result; the study is collecting: {LARGEST}" in text) == (4, True)
    logged = [event for event in nodes.events("proxy-0") if event.get("study") == name]
    assert [event["reason"] for event in logged if "reason" in event] == [LARGEST]

    labels, scores = made_up(f"{name} again", sizes=(79, 40, 40))["north"]
    file = write_csv(tmp_path / "smaller.csv", labels, scores)
    code, text = run("submit", nodes.kit("north"), file, "--study", name, "--replace", *YES)
    assert (code, "of all samples:" in text) == (0, False), text
    report = study.wait(timeout=300)
    assert report.receipt.samples == {"north": 79, "harbour": 40, "valley": 40}


def test_a_study_with_too_few_samples_goes_on_with_more(nodes: Trials) -> None:
    """Also if the large one's owner takes it back first; while it is missing, nothing is broken."""
    manifest = planned(nodes, "sparse", policy="[policy]\nminimum_samples = 300\n")
    data = made_up("sparse", sizes=(100, 100, 99))
    studies = submit_all(nodes, "sparse", data)
    check_waits(nodes, manifest, studies["north"], FEW)
    studies["valley"].withdraw()
    assert becomes(lambda: set(notes(studies["north"]).values()) == {""})
    labels, scores = made_up("sparse again", sizes=(100, 100, 100))["valley"]
    studies["valley"].submit(check_samples("valley", labels, scores))
    assert sum(studies["north"].wait(timeout=300).receipt.samples.values()) == 300


def test_floors_of_one_owner_that_all_together_break_are_named(nodes: Trials, tmp_path: Path) -> None:
    """Its owner lowers them, and submits the same data again."""
    manifest = planned(nodes, "demanding-less")
    kits = {"harbour": with_floors(nodes, "harbour", tmp_path, "largest_owner_fraction = 0.37")}
    data = made_up("demanding-less")
    studies = submit_all(nodes, "demanding-less", data, kits)
    note = (
        "north has more than 0.37 of all samples: 500 of 1,330, as the floors of harbour demand; north can "
        "replace its submission by a smaller one, or the others theirs by larger ones, with 'ppaurora submit "
        "--replace'; or harbour can lower its floors ([floors] in owner.toml) and submit again with "
        "'ppaurora submit --replace'"
    )
    check_waits(nodes, manifest, studies["north"], note)
    settings = kits["harbour"] / "owner.toml"
    settings.write_text(settings.read_text().replace("0.37", "0.38"))
    Study(kits["harbour"], "demanding-less").submit(check_samples("harbour", *data["harbour"]), replace=True)
    assert studies["north"].wait(timeout=300).policy.largest_owner_fraction == 0.38


ALONE = {
    "owners": ("minimum_owners = 4", Floors(minimum_owners=4), "at least 4 owners, there are 3"),
    "fraction": (
        "largest_owner_fraction = 0.3",
        Floors(largest_owner_fraction=0.3),
        "one of 3 owners always has more than 0.3 of all samples",
    ),
    "samples": (
        "minimum_samples = 6_000_001",
        Floors(minimum_samples=6_000_001),
        "there can be no 6,000,001 samples in all",
    ),
}


@pytest.mark.parametrize("rule", ALONE)
def test_floors_that_nobody_can_meet_are_refused_before_anything_is_sent(
    nodes: Trials, tmp_path: Path, run: RunCommand, rule: str
) -> None:
    """By check and submit, and by a node that is sent them all the same."""
    written, floors, says = ALONE[rule]
    manifest = planned(nodes, f"alone-{rule}")
    kit = with_floors(nodes, "north", tmp_path, written)
    file = write_csv(tmp_path / "data.csv", *made_up(manifest.study)["north"])
    for command in (("check", file, "--kit", kit), ("submit", kit, file, *YES)):
        code, said = run(*command, "--study", manifest.study)
        flat = " ".join(said.split())
        assert (code, says in flat) == (2, True), said
        assert "lower your floors ([floors] in owner.toml)" in flat
    assert not (kit / "outbox" / manifest.study).exists()
    upload = nodes.upload(manifest)
    for server in (PROXY_0, PROXY_1):
        client = nodes.client("north", manifest, server)

        def submit(floors: Floors, client=client, server=server) -> object:  # type: ignore[no-untyped-def]
            offer = Offer(samples=upload.samples, floors=floors, commitments=upload.commitments)
            return client.submit(offer, upload.bodies[server])

        assert nodes.refusal(lambda submit=submit: submit(floors)) == "samples"  # type: ignore[misc]
        assert client.status().submitted == ()
        submit(Floors())  # the control
        assert client.status().submitted == ("north",)


def test_retry_says_what_is_still_wrong(nodes: Trials, run: RunCommand) -> None:
    """Whether or not somebody has stopped the study."""
    manifest = planned(nodes, "retried")
    study = submit_all(nodes, "retried", made_up("retried", sizes=(220, 40, 40)))["north"]
    check_waits(nodes, manifest, study, LARGEST)
    kit = nodes.kit("proxy-0")
    code, said = run("retry", kit, "retried")
    assert (code, f"this study has not stopped; there is nothing to retry. It waits: {LARGEST}" in said) == (
        2,
        True,
    )
    assert run("stop", kit, "retried")[0] == 0
    answer = study.status()["proxy 0"]
    assert (answer.state, answer.note) == (
        "stopped",
        "this node's operator stopped the study; they let it go on with 'ppaurora retry'",
    )
    with pytest.raises(
        RefusedError, match=r"closed.*stopped; nothing more can be submitted: this node's operator"
    ):
        Study(nodes.kit("north"), "retried").submit(
            check_samples("north", *made_up("retried again", sizes=(60, 40, 40))["north"]), replace=True
        )
    code, said = run("retry", kit, "retried")
    assert (code, "goes on" in said) == (0, False)
    assert f"retried has stopped no longer at this node, but waits: {LARGEST}" in said
    assert "it had stopped because: this node's operator stopped the study" in said
    check_waits(nodes, manifest, study, LARGEST)
    study.submit(check_samples("north", *made_up("retried", sizes=(60, 40, 40))["north"]), replace=True)
    assert study.wait(timeout=300).receipt.samples["north"] == 60
    assert run("retry", kit, "retried")[0] == 2


def test_a_node_that_was_killed_says_the_same(tmp_path: Path) -> None:
    """Nothing of the wait is on record: it is read from the submissions, before a kill and after it."""
    nodes = Trials(tmp_path)
    manifest = planned(nodes, "killed")
    nodes.start()
    try:
        study = submit_all(nodes, "killed", made_up("killed", sizes=(220, 40, 40)))["north"]
        check_waits(nodes, manifest, study, LARGEST)
        nodes.kill("proxy-0")
        nodes.kill("proxy-1")
        nodes.start("proxy-0", "proxy-1")
        check_waits(nodes, manifest, study, LARGEST)
        study.submit(check_samples("north", *made_up("killed", sizes=(60, 40, 40))["north"]), replace=True)
        assert study.wait(timeout=300).receipt.samples["north"] == 60
    finally:
        nodes.stop()


def test_a_plan_that_no_owner_could_meet_is_no_study(nodes: Trials) -> None:
    for policy, says in (
        ("[policy]\nlargest_owner_fraction = 0.3\n", "one of 3 owners always has more than 0.3"),
        ("[policy]\nminimum_samples = 6_000_001\n", "there can be no 6,000,001 samples in all"),
    ):
        with pytest.raises(InputError, match=f"nothing could be computed, whatever owners submit: {says}"):
            planned(nodes, "impossible", policy=policy)


def test_an_operators_pages_and_commands_tell_why_it_waits(nodes: Trials, run: RunCommand) -> None:
    manifest = planned(nodes, "operators")
    study = submit_all(nodes, "operators", made_up("operators", sizes=(220, 40, 40)))["north"]
    check_waits(nodes, manifest, study, LARGEST)
    code, said = run("studies", nodes.kit("proxy-1"))
    assert (code, LARGEST in said) == (0, True)
    shown = operating.look_at_study(NodeKit.read(nodes.kit("proxy-0")), "operators").status
    assert isinstance(shown, StudyStatus)
    assert (shown.missing, shown.note) == ((), LARGEST)
