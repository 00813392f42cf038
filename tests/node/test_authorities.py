"""One list of authorities for all ports of a node."""

from __future__ import annotations

import logging

import pytest

from ppaurora.credentials.certificates import Authority
from ppaurora.node.authorities import Authorities
from ppaurora.study.kit import NodeKit
from tests.support.deployment import NODES
from tests.support.trials import HOUR, Trials


def test_every_context_follows_the_one_list(consortium: Trials, caplog: pytest.LogCaptureFixture) -> None:
    """Those made before an authority was trusted, and those made after; others are let in at none."""
    authorities = Authorities(NodeKit.read(consortium.kit(NODES[0])))
    first, second = (Authority.make(name, HOUR).certificate for name in ("first", "second"))
    early = authorities.server_context()
    assert early.get_ca_certs() == []
    authorities.trust(first.decode())
    late = authorities.server_context()
    for context in (early, late):
        assert len(context.get_ca_certs()) == 1
    for _ in range(3):
        authorities.trust((first + second).decode())
    for context in (early, late):
        assert len(context.get_ca_certs()) == 2
    with caplog.at_level(logging.ERROR):
        authorities.trust("nonsense")
        authorities.trust("nonsense")
    assert len(caplog.records) == 2  # once for each context
    assert "nonsense" not in caplog.text
