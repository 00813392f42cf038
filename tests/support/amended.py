"""Studies that their coordinator amends, beside real nodes that run."""

from __future__ import annotations

import datetime
import shutil
from pathlib import Path

from ppaurora.owner.study import Study
from ppaurora.setup.acceptance import accept_amendments
from ppaurora.study.amending import amend
from ppaurora.study.amendments import Amendments
from ppaurora.study.kit import NodeKit, amendments_path
from tests.support.deployment import NODES, OWNERS, samples
from tests.support.sending import send
from tests.support.trials import RunCommand, Trials, becomes

DAY = datetime.date(2199, 6, 30)
DATA = {owner: samples(60, place) for place, owner in enumerate(OWNERS)}


class Amended:
    """A study of three owners, and its coordinator."""

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
    ) -> Amendments:
        text = self.plan.read_text()
        for before, after in changes:
            assert before in text
            text = text.replace(before, after)
        self.plan.write_text(text)
        return amend(self.plan, self.kits, reason=reason, new_keys=new_keys).amendments

    def accept(self, run: RunCommand, *participants: str) -> str:
        said = ""
        for one in participants:
            code, told = run("accept", self.nodes.kit(one), self.file, "--yes")
            assert code == 0, told
            said += told
        return said

    def accept_at(self, *nodes: str) -> None:
        """As their operators do, without a command."""
        for node in nodes:
            accept_amendments(NodeKit.read(self.nodes.kit(node)), Amendments.read(self.file))

    def owner(self, name: str) -> Study:
        return Study(self.nodes.kit(name), self.name)

    def submit(self, *owners: str) -> None:
        for owner in owners:
            send(self.owner(owner), DATA[owner])

    def in_force(self, node: str) -> int:
        with self.nodes.store(node) as store:
            study = store.study(self.manifest.hash)
            assert study is not None
            return study.manifest.amendment

    def is_in_force(self, number: int) -> bool:
        return becomes(lambda: {self.in_force(node) for node in NODES} == {number})


def until(day: datetime.date) -> str:
    return f"submissions_until = {day}"


def dropped(owner: str) -> tuple[str, str]:
    return f"[owners.{owner}]\n", ""
