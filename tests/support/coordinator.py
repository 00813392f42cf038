"""A study's coordinator, who amends it."""

from __future__ import annotations

import datetime
import shutil
from pathlib import Path

from ppaurora.study.amending import Amending, amend
from ppaurora.study.kit import amendments_path
from tests.support.deployment import NODES, OWNERS
from tests.support.trials import Trials

DAY = datetime.date(2199, 6, 30)


class Coordinator:
    """Who has made a study of three owners, with a last day, and what it takes to amend it."""

    def __init__(self, nodes: Trials, name: str, more: str = "") -> None:
        self.nodes, self.name = nodes, name
        more = f"[evaluation]\nsubmissions_until = {DAY}\n{more}"
        self.manifest = nodes.study(name, owners=OWNERS, more=more)
        self.plan = nodes.folder / f"{name}.toml"
        # `Trials` keeps all participants' kits in one folder; a coordinator has those of one study.
        self.kits = nodes.folder / name
        for participant in (*NODES, *OWNERS):
            kit = self.kits / participant
            kit.mkdir(exist_ok=True)
            for file in ("certificate.pem", "authority.pem"):
                shutil.copy(nodes.kit(participant) / file, kit / file)

    @property
    def file(self) -> Path:
        return amendments_path(self.kits, self.name)

    def amend(
        self, *changes: tuple[str, str], reason: str = "so it goes", new_keys: tuple[str, ...] = ()
    ) -> Amending:
        """Change the plan, and amend the study by that."""
        text = self.plan.read_text()
        for before, after in changes:
            assert before in text
            text = text.replace(before, after)
        self.plan.write_text(text)
        return amend(self.plan, self.kits, reason=reason, new_keys=new_keys)


def until(day: datetime.date) -> str:
    return f"submissions_until = {day}"


def dropped(owner: str) -> tuple[str, str]:
    return f"[owners.{owner}]\n", ""
