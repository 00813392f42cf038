"""What an owner is about to send is on its own disk first."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from ppaurora.data import Samples
from ppaurora.owner.outbox import Outbox
from ppaurora.study.kit import OwnerKit
from ppaurora.study.plan import SAMPLE
from ppaurora.study.provision import provision


def test_shares_are_durable_before_the_record_that_names_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else a power cut leaves a record of shares that are empty, and other shares would be drawn and sent."""
    (tmp_path / "study.toml").write_text(SAMPLE)
    provision(tmp_path / "study.toml", tmp_path / "kits")
    kit = OwnerKit.read(tmp_path / "kits/hospital-a")
    outbox = Outbox(kit, kit.manifest())
    done: list[str] = []
    put_in_place, make_durable = os.replace, os.fsync

    def replace(old: str, new: Path) -> None:
        done.append(f"in place: {Path(new).name}")
        put_in_place(old, new)

    def fsync(descriptor: int) -> None:
        done.append(Path(f"/proc/self/fd/{descriptor}").resolve().name)
        make_durable(descriptor)

    monkeypatch.setattr(os, "replace", replace)
    monkeypatch.setattr(os, "fsync", fsync)
    scores = np.linspace(0.0, 1.0, 20)
    outbox.prepare(Samples("hospital-a", scores, (scores > 0.5).astype(np.uint8)))
    before = done[: done.index("in place: submission.json")]
    assert {"proxy-0.1.share", "proxy-1.1.share", "outbox"} <= set(before)
    assert done[-1] == "sepsis-2026"  # the folder that has the record
