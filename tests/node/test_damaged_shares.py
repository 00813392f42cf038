"""A share that the disk did not keep as it was: nothing is computed with it, and its owner heals it."""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from pathlib import Path

import pytest

from ppaurora.channel.servers import Server
from ppaurora.data.samples import check_samples
from ppaurora.errors import RefusedError
from ppaurora.messages.owners import StudyStatus
from ppaurora.owner.study import Study
from ppaurora.study.manifest import Manifest
from tests.support.deployment import samples
from tests.support.disks import change_on_disk
from tests.support.oracles import exact_auroc
from tests.support.sending import send
from tests.support.trials import PAIR, PROXY_0, PROXY_1, Trials, becomes, part

DATA = {owner: samples(40, 800 + seed) for seed, owner in enumerate(PAIR)}


def flip(path: Path) -> None:
    """One bit, anywhere."""
    content = bytearray(path.read_bytes())
    bit = random.Random(path.name).randrange(8 * len(content))  # noqa: S311
    content[bit // 8] ^= 1 << bit % 8
    path.write_bytes(content)


def truncate(path: Path) -> None:
    os.truncate(path, path.stat().st_size - 1)


def lengthen(path: Path) -> None:
    path.write_bytes(path.read_bytes() + b"\0")


def submit(nodes: Trials, owner: str, study: str) -> None:
    send(Study(nodes.kit(owner), study), check_samples(owner, *DATA[owner]))


def stored_share(nodes: Trials, node: str, manifest: Manifest, owner: str) -> Path:
    with nodes.store(node) as store:
        kept = store.submission(manifest.hash, owner)
        assert kept is not None
        assert kept.file is not None
        return store.shares / kept.file


def pooled() -> float:
    pairs = [
        (score, int(label))
        for labels, scores in DATA.values()
        for label, score in zip(labels, scores, strict=True)
    ]
    expected = exact_auroc(pairs)
    assert expected is not None
    return float(expected)


@pytest.mark.parametrize("server", [PROXY_0, PROXY_1], ids=lambda server: server.file_name)
@pytest.mark.parametrize("damage", [flip, truncate, lengthen, Path.unlink])
def test_a_damaged_share_costs_no_attempt_and_its_owner_heals_it(
    nodes: Trials, server: Server, damage: Callable[[Path], None]
) -> None:
    name = f"damaged-{server.file_name}-{damage.__name__}"
    manifest = nodes.study(name)
    submit(nodes, "north", name)
    path = stored_share(nodes, server.file_name, manifest, "north")
    damage(path)
    submit(nodes, "harbour", name)
    client = nodes.client("harbour", manifest, server)

    def is_missed(status: StudyStatus) -> bool:
        return status.missing == ("north",) and "north" in status.note and "submit again" in status.note

    assert becomes(lambda: is_missed(client.status()))
    for node in ("proxy-0", "proxy-1", "helper"):
        with nodes.store(node) as store:
            assert store.last_attempt(manifest.hash) == 0
    submit(nodes, "north", name)
    assert client.status().missing == ()
    report = Study(nodes.kit("harbour"), name).wait(timeout=300)
    assert (report.auroc, report.receipt.attempt) == (pooled(), 1)
    assert not path.exists()


def test_the_same_share_sent_again_replaces_one_whose_damage_nobody_has_noticed(nodes: Trials) -> None:
    """By whatever program the owner uses, and also while all that the node sees is the right length."""
    manifest = nodes.study("unnoticed")
    upload = nodes.upload(manifest)
    first = upload.send(nodes.client("north", manifest))
    path = stored_share(nodes, "proxy-0", manifest, "north")
    flip(path)
    assert upload.send(nodes.client("north", manifest)) == first
    assert stored_share(nodes, "proxy-0", manifest, "north").read_bytes() == upload.bodies[0]
    assert not path.exists()


def test_a_damaged_part_of_the_result_is_not_given_out(nodes: Trials) -> None:
    manifest = nodes.study("damaged-part")
    with nodes.store("proxy-0") as store:
        store.begin_attempt(manifest.hash, 1)
        store.computed(manifest.hash, 1, {owner: part([1, 2, 3, 4]) for owner in PAIR})
        store.release(manifest.hash, 1)
    north, good, damaged = (manifest.hash, "north"), part([1, 2, 3, 4]), part([1, 2, 3, 5])
    change_on_disk(nodes.database("proxy-0"), "results", "part", damaged.to_bytes(), *north)
    assert nodes.client("harbour", manifest).release().part.to_bytes() == good.to_bytes()
    with pytest.raises(RefusedError) as refused:
        nodes.client("north", manifest).release()
    assert refused.value.code == "damaged"
    change_on_disk(nodes.database("proxy-0"), "results", "part", good.to_bytes(), *north)
    assert nodes.client("north", manifest).release().part.to_bytes() == good.to_bytes()
