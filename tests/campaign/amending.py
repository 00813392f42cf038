"""Studies are amended while nodes die at some moment, owners send, change and agree, and attempts may begin.

A last day moves, an owner is dropped, another has a new key, limits change; owners have agreed to some of it
beforehand. Operators accept and owners agree in any order, and some only when they are asked again. What must
be in the result is what the leader had in force when the first attempt began, with everybody's agreement.
"""

from __future__ import annotations

import contextlib
import datetime
import functools
import json
import random
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from msgspec import UNSET

from ppaurora.errors import InputError, PeerError, RefusedError
from ppaurora.io.models import from_json
from ppaurora.messages.owners import SignedAgreement
from ppaurora.messages.refusals import RefusalCode
from ppaurora.owner.outbox import OutgoingSubmission
from ppaurora.owner.report import StudyReport
from ppaurora.owner.study import Study
from ppaurora.owner.verifying import verify_receipt
from ppaurora.study.amendments import Amendments, problem_with_agreement
from tests.campaign.mending import Undecided
from tests.campaign.tally import BreachError, Tally
from tests.campaign.world import PROXIES, SECONDS_TO_END, Trial, World
from tests.support import amended
from tests.support.amended import DAY, dropped, until
from tests.support.deployment import NODES, OWNERS
from tests.support.repository import ROOT
from tests.support.trials import becomes

AMENDED = "right result on the amended terms"
TOO_LATE = "right result on the terms before: an amendment was refused as too late"
_BEFOREHAND = "[agreed_changes]\nminimum_owners = 2\ndeadline_days = 30\n"
_LEADER = "proxy-0"
_LOSES_KEY, _LEAVES, _UNDECIDED = "harbour", "valley", "north"
_SORTS = ("later", "much later", "owner dropped", "new key", "other limits")
_STORE, _AMENDMENTS = "ppaurora.node.store:Store", "ppaurora.node.amending:StudyAmendments"
_SIDES = ("before", "after")
# Points of the code at which a node dies, and others at which an operator's `ppaurora accept` does.
_OF_LEADER = (
    f"{_AMENDMENTS}.tell",
    f"{_STORE}.keep_agreement",
    f"{_STORE}.gather",
    f"{_STORE}.begin_attempt",
)
_OF_OTHERS = (
    f"{_STORE}.put_in_force",
    f"{_STORE}._put_in_force",
    f"{_STORE}.keep_agreement",
    f"{_STORE}.begin_attempt",
)
_OF_COMMANDS = (f"{_STORE}.amend", f"{_STORE}._put_in_force", f"{_STORE}._unlink")


def run(world: World, trials: int, chance: random.Random) -> Tally:
    """As many kills of nodes, in as many studies as it takes."""
    tally = Tally("amendments under kills")
    tally.details["kills"] = 0
    while tally.details["kills"] < trials:
        most = trials - tally.details["kills"]
        tally.trial("study", lambda most=most: _study(world, most, chance, tally))  # type: ignore[misc]
    return tally


def _study(world: World, most: int, chance: random.Random, tally: Tally) -> str:
    study = Amended.make(world, chance, tally)
    if chance.random() < 0.4:
        victim, fault = _named(chance)
        kills = min(chance.randint(0, 2), most - 1)
        with _faulty(world, victim, fault, tally):
            return study.carry_out(kills, tuple(set(NODES) - {victim}))
    return study.carry_out(min(chance.randint(2, 6), most), NODES)


def _named(chance: random.Random) -> tuple[str, str]:
    """Return a node and what it dies of."""
    victim = chance.choice(NODES)
    if chance.random() < 0.3:
        return victim, f"kill transaction inside {chance.randint(1, 12)}"
    place = chance.choice(_OF_LEADER if victim == _LEADER else _OF_OTHERS)
    return victim, f"kill {place} {chance.choice(_SIDES)} {chance.randint(1, 2)}"


@contextlib.contextmanager
def _faulty(world: World, victim: str, fault: str, tally: Tally) -> Iterator[None]:
    """A node that may die once while this lasts, and is started again."""
    world.end(victim)
    world.start_faulty(victim, fault)
    process = world.processes[victim]
    with world.revived(victim):
        yield
    if process.poll() is None:
        tally.details["named points that were not reached"] += 1
        world.restart(victim)
        return
    tally.details["kills"] += 1
    tally.details[f"kills of {victim}"] += 1
    tally.details["kills at named points"] += 1
    if world.is_dead(victim):
        world.start(victim)


@dataclass
class Amended(Trial):
    """A study with its coordinator, operators and owners, and what they were told."""

    coordinator: amended.Amended
    sorts: tuple[str, ...]
    chance: random.Random
    tally: Tally
    hesitant: str | None  # accepts or agrees only when asked again
    amendments: Amendments | None = None
    with_new_key: tuple[int, Path] | None = None  # from which amendment on, and whose kit
    accepted: dict[str, int] = field(default_factory=dict)  # by node, what its operator was told
    refused: dict[str, int] = field(default_factory=dict)  # by node, what came too late there
    agreed: dict[str, int] = field(default_factory=dict)  # by owner, what the leader has acknowledged
    sent: dict[str, tuple[str, ...]] = field(default_factory=dict)  # by owner, acknowledged commitments
    problems: list[Exception] = field(default_factory=list)
    is_made: bool = False  # no further amendment comes
    is_asked_again: threading.Event = field(default_factory=threading.Event)
    has_sent_early: threading.Event = field(default_factory=threading.Event)
    news: threading.Condition = field(default_factory=threading.Condition)

    @classmethod
    def make(cls, world: World, chance: random.Random, tally: Tally) -> Amended:
        name = world.fresh_name("amended")
        coordinator = amended.Amended(world, name, _BEFOREHAND if chance.random() < 0.5 else "")
        sorts = tuple(chance.sample(_SORTS, chance.choice((1, 1, 2))))
        tally.details.update(f"amendments: {sort}" for sort in sorts)
        kits, data = world.own_kits(name, OWNERS), world.fresh_data(OWNERS)
        hesitant = chance.choice((*NODES, _UNDECIDED, _LOSES_KEY)) if chance.random() < 0.3 else None
        return cls(world, coordinator.manifest, kits, data, coordinator, sorts, chance, tally, hesitant)

    def carry_out(self, kills: int, among: tuple[str, ...]) -> str:
        """Let everybody act while nodes are killed, and check what came of it."""
        threads = [self._start(act) for act in self._acts()]
        for _ in range(kills):
            time.sleep(self.chance.uniform(0.0, 1.5))
            self.world.kill_one(self.chance, self.tally, among)
            self.tally.details["kills"] += 1
        time.sleep(self.chance.uniform(0.0, 3.0))
        self.tally.details["asked again"] += self.hesitant is not None
        self.is_asked_again.set()
        deadline = time.monotonic() + SECONDS_TO_END
        while any(thread.is_alive() for thread in threads) and not self.problems:
            if time.monotonic() > deadline:
                raise BreachError(f"{self.name}: not everybody was answered")
            time.sleep(0.05)
        if self.problems:
            raise self.problems[0]
        return self.check()

    def _start(self, act: Callable[[random.Random], None]) -> threading.Thread:
        chance = random.Random(self.chance.random())  # noqa: S311

        def carry_out() -> None:
            try:
                act(chance)
            except Exception as error:
                self.problems.append(error)
                with self.news:
                    self.news.notify_all()

        thread = threading.Thread(target=carry_out, daemon=True)
        thread.start()
        return thread

    def _acts(self) -> Iterator[Callable[[random.Random], None]]:
        yield self._amend
        for node in NODES:
            yield functools.partial(self._operate, node)
        for owner in OWNERS:
            yield functools.partial(self._agree, owner)
            yield functools.partial(self._submit, owner)

    def _later_than(self, known: int) -> Amendments | None:
        """Wait for a further amendment, and return all; None if no more come."""
        with self.news:
            self.news.wait_for(lambda: self._made > known or self.is_made or self.problems)
            return self.amendments if self._made > known and not self.problems else None

    @property
    def _made(self) -> int:
        return 0 if self.amendments is None else len(self.amendments.steps)

    def _hesitate(self, who: str, chance: random.Random) -> None:
        if who == self.hesitant:
            self.is_asked_again.wait(SECONDS_TO_END)
        else:
            time.sleep(chance.uniform(0.0, 2.5))

    # The coordinator

    def _amend(self, chance: random.Random) -> None:
        day = DAY
        for sort in self.sorts:
            time.sleep(chance.uniform(0.0, 3.0))
            later = day + datetime.timedelta(days=chance.randint(1, 15) if sort == "later" else 60)
            changes: dict[str, tuple[tuple[str, str], ...]] = {
                "later": ((until(day), until(later)),),
                "much later": ((until(day), until(later)),),
                "owner dropped": (dropped(_LEAVES),),
                "new key": (),
                "other limits": (("samples_per_owner = 2_000_000", "samples_per_owner = 1_000_000"),),
            }
            day = later if sort in ("later", "much later") else day
            loses_key = sort == "new key"
            if loses_key:
                self.has_sent_early.wait(SECONDS_TO_END)
            made = self.coordinator.amend(*changes[sort], new_keys=(_LOSES_KEY,) if loses_key else ())
            with self.news:
                self.amendments = made
                if loses_key:
                    self.with_new_key = self._made, self.coordinator.kits / _LOSES_KEY
                self.news.notify_all()
        with self.news:
            self.is_made = True
            self.news.notify_all()

    # Operators

    def _operate(self, node: str, chance: random.Random) -> None:
        known = 0
        while self._later_than(known) is not None:
            self._hesitate(node, chance)
            known = self._accept(node, chance)

    def _accept(self, node: str, chance: random.Random) -> int:
        """Run `ppaurora accept`, which may be killed, until it has answered."""
        while True:
            made = self._made
            words = ["accept", str(self.world.kit(node)), str(self.coordinator.file), "--yes"]
            program = ["ppaurora"]
            if chance.random() < 0.25:
                program = [
                    "tests.campaign.faulty",
                    f"kill {chance.choice(_OF_COMMANDS)} {chance.choice(_SIDES)} 1",
                ]
            process = subprocess.Popen(
                [sys.executable, "-m", *program, *words],
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                cwd=ROOT,
            )
            if chance.random() < 0.2:
                time.sleep(chance.uniform(0.0, 0.6))
                process.kill()
            said, _ = process.communicate(timeout=SECONDS_TO_END)
            answer = re.search(r"accepted(?: before)?: amendment (\d+)", said)
            if process.returncode == 0 and answer is not None:
                self.accepted[node] = int(answer[1])
                return self.accepted[node]
            if process.returncode == 2 and "cannot be amended any more" in said:
                self.refused[node] = made
                return made
            if process.returncode != -signal.SIGKILL:
                raise BreachError(f"{self.name}: accept at {node} ended with {process.returncode}: {said}")
            self.tally.details["kills of operators' commands"] += 1

    # Owners

    def owner(self, name: str) -> Study:
        if name == _LOSES_KEY and self.with_new_key is not None:
            return Study(self.with_new_key[1], self.name, timeout=60.0)
        return super().owner(name)

    def submit(self, owner: str) -> OutgoingSubmission | None:
        """Submit once; who is dropped may be refused, and does not try again."""
        try:
            sent = super().submit(owner)
        except RefusedError as error:
            is_dropped = owner == _LEAVES and "owner dropped" in self.sorts
            if not is_dropped or error.code != RefusalCode.NOT_AN_OWNER:
                raise
            return None
        if sent is not None:
            self.sent[owner] = sent.offer.commitments
        return sent

    def _submit(self, owner: str, chance: random.Random) -> None:
        if owner == _UNDECIDED and chance.random() < 0.4:
            undecided = Undecided(self, chance, self.tally)
            undecided.change_its_mind(chance.randint(1, 2))
            if undecided.problem is not None:
                raise undecided.problem
            del self.sent[owner]
            return
        if owner == _LEAVES and "owner dropped" in self.sorts and chance.random() < 0.35:
            return
        if owner == _LOSES_KEY and "new key" in self.sorts:
            if chance.random() < 0.5:  # with the new key only
                self.has_sent_early.set()
                with self.news:
                    self.news.wait_for(lambda: self.with_new_key is not None or self.problems)
            self.submit_patiently(owner)
            self.has_sent_early.set()
            return
        time.sleep(chance.uniform(0.0, 5.0))
        self.submit_patiently(owner)

    def _agree(self, owner: str, chance: random.Random) -> None:
        known = 0
        while self._later_than(known) is not None:
            self._hesitate(owner, chance)
            known = self._agree_to_latest(owner, chance)

    def _agree_to_latest(self, owner: str, chance: random.Random) -> int:
        """Agree until the leader has taken it, unless the amendment was refused there; return the number."""
        deadline = time.monotonic() + SECONDS_TO_END
        while not self.problems:
            study = self.owner(owner)
            try:
                proposal = study.proposal() if chance.random() < 0.3 else None
                proposal = proposal or study.proposal(self.coordinator.file)
                if proposal is not None and proposal.is_dropped:
                    return proposal.number
                if proposal is not None:
                    study.agree(proposal)
                is_told = study.tell_agreement()
            except (PeerError, RefusedError, InputError) as error:
                if isinstance(error, InputError) and "another key" not in str(error):
                    raise
                if _LEADER in self.refused:
                    break
                if time.monotonic() > deadline:
                    raise BreachError(f"{self.name}: {owner} could not agree: {error}") from None
                time.sleep(0.2)
                continue
            signed = study._agreements.signed()
            if is_told and signed is not None:
                self.agreed[owner] = signed.agreement.amendment
            return study.manifest.amendment
        return self._made

    # What came of it

    def check(self) -> str:
        """Check everybody's result, and what every node has on record."""
        states = "SELECT state FROM studies WHERE hash = ?"
        if not becomes(lambda: all(self._rows(node, states) == [("released",)] for node in NODES), 300.0):
            notes = [self._rows(node, "SELECT state, note FROM studies WHERE hash = ?") for node in NODES]
            raise BreachError(f"{self.name}: did not end: {notes}")
        number = self._number(_LEADER, "SELECT in_force FROM studies WHERE hash = ?")
        amendments = self.amendments
        assert amendments is not None
        counted = amendments.manifests[number]
        self.data = {owner: self.data[owner] for owner in counted.owner_names}
        if self.with_new_key is not None and number < self.with_new_key[0]:
            self.with_new_key = None
        begun = [self._begun_on(node, amendments) for node in NODES]
        if any(other != begun[0][attempt] for one in begun for attempt, other in one.items()):
            raise BreachError(f"{self.name}: nodes have begun on different terms: {begun}")
        for owner in self.data:
            report = self.check_result(owners=(owner,))
            self._check_receipt(owner, report, amendments, number)
        self.check_kept()
        for node in NODES:
            self._check_records(node, amendments, number)
        self._check_disks()
        if number == self._made:
            return AMENDED
        if self.refused.get(_LEADER, 0) <= number:
            raise BreachError(f"{self.name}: amendment {self._made} was ignored, and nobody was told")
        return TOO_LATE

    def _number(self, node: str, query: str) -> int:
        ((number,),) = self._rows(node, query)
        return int(str(number or 0))

    def _check_receipt(self, owner: str, report: StudyReport, amendments: Amendments, number: int) -> None:
        receipt, counted = report.receipt, amendments.manifests[number]
        verify_receipt(self.owner(owner).results, manifest_hash=counted.hash)
        if receipt.manifest != counted:
            raise BreachError(f"{self.name}: the receipt of {owner} is of another manifest")
        agreed = {}
        if receipt.amended is not UNSET:
            agreed = {one.agreement.owner: one.agreement.amendment for one in receipt.amended.agreements}
        if (receipt.amended is UNSET) != (number == 0) or amendments.to_agree(number, agreed):
            raise BreachError(f"{self.name}: the receipt of {owner} lacks agreements: {agreed}")
        for signed in receipt.statements:
            used = {one.owner: one.commitments for one in signed.statement.submissions}
            if any(used.get(name, sent) != sent for name, sent in self.sent.items()):
                raise BreachError(f"{self.name}: something else than was acknowledged was used")

    def _check_records(self, node: str, amendments: Amendments, number: int) -> None:
        """Compare with what people were told; who leads has in force what it accepted, others what it has."""
        accepted = self._number(node, "SELECT MAX(number) FROM amendments WHERE study = ?")
        if accepted < self.accepted.get(node, 0):
            raise BreachError(f"{self.name}: an amendment that was accepted at {node} was lost")
        in_force = self._number(node, "SELECT in_force FROM studies WHERE hash = ?")
        if in_force != number or (node == _LEADER and accepted != number):
            raise BreachError(f"{self.name}: {node} has {in_force} of {accepted} in force, not {number}")
        if self.refused.get(node, number + 1) <= number:
            raise BreachError(f"{self.name}: {node} has refused what counts")
        rows = self._rows(node, "SELECT content FROM agreements WHERE study = ?")
        signed = [from_json(SignedAgreement, str(content)) for (content,) in rows]
        if any(problem_with_agreement(one, amendments) for one in signed):
            raise BreachError(f"{self.name}: {node} has an agreement that does not verify")
        kept = {one.agreement.owner: one.agreement.amendment for one in signed}
        if node == _LEADER and any(kept.get(owner, 0) < told for owner, told in self.agreed.items()):
            raise BreachError(f"{self.name}: an agreement that was acknowledged was lost: {kept}")

    def _begun_on(self, node: str, amendments: Amendments) -> dict[int, int]:
        """Return by attempt which amendment was in force; by the audit log, all had agreed to it before."""
        in_force, agreed, found = 0, dict[str, int](), dict[int, int]()
        for line in (self.world.kit(node) / "data" / "audit.log").read_text().splitlines():
            text = json.loads(line)["text"]
            if not text.startswith(f"{self.name}: "):
                continue
            if put := re.fullmatch(r".*: amendment (\d+) is in force", text):
                in_force = int(put[1])
            elif said := re.fullmatch(r".*: (\w+) agreed to amendment (\d+)", text):
                agreed[said[1]] = int(said[2])
            elif began := re.fullmatch(r".*: attempt (\d+) began", text):
                found[int(began[1])] = in_force
                awaited = amendments.to_agree(in_force, agreed) if in_force else []
                if awaited:
                    raise BreachError(
                        f"{self.name}: {node} has begun on amendment {in_force} without {awaited}"
                    )
        return found

    def _check_disks(self) -> None:
        """No share of the study is left, of an owner who was dropped no more than of others."""
        for node in PROXIES:
            folder = self.world.kit(node) / "data" / "shares"
            if not becomes(lambda folder=folder: not self._left_in(folder), 60.0):  # type: ignore[misc]
                raise BreachError(f"{self.name}: {node} still has shares of {self._left_in(folder)}")

    def _left_in(self, folder: Path) -> list[str]:
        said = [path.read_text() for path in folder.glob("*.about")]
        contents = [json.loads(text.splitlines()[0]) for text in said]
        return [one["submitted"]["owner"] for one in contents if one["study"] == self.manifest.hash]
