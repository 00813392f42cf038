"""Workers whose messages to other servers go over real connections, each over its own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import ppaurora
from ppaurora.local import threads
from ppaurora.local.certificates import make_identities
from ppaurora.suites.role import Role
from tests.support.channels import PATIENCE, tls_transports
from tests.support.evaluations import check_values, random_owners


@pytest.mark.parametrize("size", [300, 20_000])
def test_workers_over_tls(size: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With larger lists, more is under way than kernels keep: it leaves before a wait for peer workers."""
    identities = make_identities(tmp_path, Role)

    def connected(servers: Any, timeout: float) -> Any:
        return tls_transports(identities, 3 * PATIENCE)

    monkeypatch.setattr(threads, "memory_transports", connected)
    owners = random_owners(5, [size, size, size // 3], 60)
    report = ppaurora.evaluate(owners, metrics=["auroc"], workers=2)
    if size < 1000:
        check_values(report, owners)
    else:
        monkeypatch.undo()
        assert report.auroc == ppaurora.evaluate(owners, metrics=["auroc"]).auroc
