"""Shares of tables at a node: as long as the grid makes them, as their owner has committed to them."""

from __future__ import annotations

from ppaurora.sharing.commitment import SALT_BYTES
from ppaurora.suites.role import Role
from tests.support.trials import Trials

PROTOCOL = '[protocol]\nname = "grid"\nlow = 0.0\nhigh = 1.0\ndecimals = {decimals}\n'


def test_a_share_of_a_table_is_taken_as_it_was_committed_to(nodes: Trials) -> None:
    """Words that were replaced, and those of another grid, are refused; nothing is kept of them."""
    manifest = nodes.study("committed-table", more=PROTOCOL.format(decimals=2))
    finer = nodes.study("committed-finer-table", more=PROTOCOL.format(decimals=3))
    upload, other = nodes.upload(manifest), nodes.upload(finer)
    assert [len(body) - SALT_BYTES for body in upload.bodies] == [32, 4 * 2 * 101]
    before = nodes.shares("proxy-1")
    words = nodes.client("north", manifest, Role.PROXY_1)
    spoilt = upload.bodies[1][:-4] + bytes(4)
    assert nodes.refusal(lambda: upload.send(words, bodies=(upload.bodies[0], spoilt))) == "commitment"
    longer = (upload.bodies[0], other.bodies[1])
    assert nodes.refusal(lambda: upload.send(words, bodies=longer)) == "too-long"
    assert nodes.shares("proxy-1") == before
    upload.send(words)
    assert len(nodes.shares("proxy-1")) == len(before) + 1
