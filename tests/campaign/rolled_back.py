"""A node is killed while a study goes on, a file of its data is damaged, and it is started again.

Either nothing was lost and the study ends, or the node does not start, says why, and leaves every file as it
is. Then the backup is restored, or its operator and the owners do what `ppaurora recover` says; and the study
ends with the right result, or a new one does where people were told to make one.
"""

from __future__ import annotations

import contextlib
import itertools
import random
import shutil
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ppaurora.errors import NotReleasedError, PartyFailedError, PeerError, PpauroraError, RefusedError
from tests.campaign.data_folders import DAMAGED_WORDS, ROLLED_BACK, contents
from tests.campaign.facts import Facts
from tests.campaign.tally import (
    NEW_STUDY,
    NOT_REACHED,
    RECOVERED_TO_THE_END,
    RESTORED,
    RIGHT,
    BreachError,
    LossError,
    Tally,
)
from tests.campaign.world import SECONDS_TO_END, Trial, World
from tests.campaign.wreckage import HARMLESS, KILLED, SORTS, NothingToDamageError, in_turn, wreck
from tests.support.deployment import NODES, command

_NODES_IN_TURN = ("proxy-0", "proxy-1", "proxy-0", "proxy-1", "helper")
Start = Callable[[World, str], None]


def run(
    world: World,
    trials: int,
    chance: random.Random,
    sorts: Sequence[str] = tuple(SORTS),
    nodes: Sequence[str] = _NODES_IN_TURN,
    start: Start = World.start,
) -> Tally:
    tally = Tally("damaged logs, pages and files of killed nodes")
    turns = zip(in_turn(sorts), itertools.cycle(nodes), strict=False)
    for (sort, variant), node in itertools.islice(turns, trials):
        case = _Case(world, node, sort, variant, chance, start)
        tally.trial_of(sort, variant, case.carry_out)
    return tally


@dataclass
class _Case:
    world: World
    node: str
    sort: str
    variant: str
    chance: random.Random
    start: Start
    trial: Trial = field(init=False)
    way: list[str] = field(default_factory=list)  # what was done, for people who look into a breach

    def carry_out(self) -> str:
        try:
            return self._carry_out(self.world.folder / "aside")
        except (BreachError, PpauroraError) as error:
            kind = type(error) if isinstance(error, BreachError) else BreachError
            self.world.end(self.node)  # after what must not be, nothing is as others expect it
            raise kind(f"{self.node}, {'; '.join(self.way)}: {type(error).__name__}: {error}") from error
        finally:
            if self.world.is_dead(self.node):
                self._restore_backup()
                self.world.start(self.node)
            shutil.rmtree(self.world.folder / "aside", ignore_errors=True)

    @property
    def data(self) -> Path:
        return self.world.kit(self.node) / "data"

    @property
    def whole(self) -> Path:
        return self.world.folder / "aside" / "whole"

    def _carry_out(self, aside: Path) -> str:
        self.trial = self.world.trial("back")
        uploads = self._go_on_until_killed(aside)
        shutil.copytree(self.data, self.whole)
        durable = Facts.of_copy(self.whole)
        try:
            wreck(self.sort, self.variant, self.data, aside / "earlier", self.chance)
        except NothingToDamageError:
            self.world.start(self.node)
            uploads.join(SECONDS_TO_END)
            self._to_the_end()
            return NOT_REACHED
        before, said = contents(self.data), len(self.world.log(self.node))
        try:
            self.start(self.world, self.node)
        except PartyFailedError:
            outcome = self._refused(before, self.world.log(self.node)[said:])
        else:
            if self.world.is_dead(self.node):
                raise BreachError("died at its start")
            lacks = Facts.of(self.data / "node.db").lacks(durable)
            if lacks:
                raise LossError(lacks)
            outcome = RIGHT
        uploads.join(SECONDS_TO_END)
        self._to_the_end()
        return NEW_STUDY if "a new study" in self.way else outcome

    def _go_on_until_killed(self, aside: Path) -> threading.Thread:
        """The study begins; the node is down once, then goes on, and is killed at some moment."""
        if self.chance.random() < 0.5:
            self.trial.submit_patiently("north")
        self.world.kill(self.node)
        shutil.copytree(self.data, aside / "earlier")
        if self.chance.random() < 0.3 and self.variant != KILLED:
            self.world.start(self.node)
            self.world.end(self.node)  # its log is written back then
        if self.variant == KILLED:
            self.world.start_faulty(self.node, f"kill checkpoint {self.chance.randint(2, 14)}")
        else:
            self.world.start(self.node)
        uploads = threading.Thread(target=self._submit, daemon=True)
        uploads.start()
        time.sleep(self.chance.uniform(0.1, 2.5))
        if not self.world.is_dead(self.node):
            self.world.kill(self.node)
        return uploads

    def _submit(self) -> None:
        with contextlib.suppress(Exception):  # it goes on below
            for owner in ("north", "harbour"):
                self.trial.submit(owner)

    def _refused(self, before: dict[str, bytes], said: str) -> str:
        """It has said why, and changed nothing; then one of the ways back is taken."""
        code = self.world.processes[self.node].wait(60)
        if code != 2 or (ROLLED_BACK not in said and DAMAGED_WORDS not in said):
            raise BreachError(f"unclear: exit code {code}: {said[-600:]}")
        self.way.append(ROLLED_BACK if ROLLED_BACK in said else DAMAGED_WORDS)
        if self.sort in HARMLESS:
            raise BreachError(f"refused, and nothing was lost: {said[-600:]}")
        after = contents(self.data)
        changed = [name for name, content in before.items() if after.get(name) != content]
        if DAMAGED_WORDS in said:  # SQLite has written its log back
            changed = [name for name in changed if not name.startswith("node.db")]
        if changed:
            raise BreachError(f"refused, and changed {', '.join(changed)}")
        if self.chance.random() < 0.3 or "ppaurora recover" not in said:
            self._restore_backup()
            self.world.start(self.node)
            return RESTORED
        self._recover()
        return RECOVERED_TO_THE_END

    def _restore_backup(self) -> None:
        self.way.append("the backup")
        if self.whole.exists():
            shutil.rmtree(self.data)
            shutil.copytree(self.whole, self.data)

    def _recover(self) -> None:
        """And whatever it tells the operator to do."""
        self.way.append("recover")
        name, kit = self.trial.name, self.world.kit(self.node)
        told = self._command("recover", kit, "--yes")
        lines = [line for line in told.splitlines() if line.startswith(f"{name}: ")]
        self.way += [line.removeprefix(f"{name}: ") for line in lines]
        if any("ppaurora accept" in line for line in lines):
            manifest = self.world.folder / f"{name}.json"
            manifest.write_text(self.trial.manifest.text())
            self._command("accept", kit, manifest, "--yes")
        if self.chance.random() < 0.5:
            self._retry_where_told(lines)
            self.world.start(self.node)
        else:
            self.world.start(self.node)
            self._retry_where_told(lines)

    def _retry_where_told(self, lines: list[str]) -> None:
        if any("ppaurora retry" in line for line in lines):
            self._command("retry", self.world.kit(self.node), self.trial.name)

    def _command(self, *words: object) -> str:
        done = command(*words)
        if done.returncode != 0:
            raise BreachError(f"{words[0]}: exit code {done.returncode}: {done.stdout} {done.stderr}")
        return done.stdout

    def _to_the_end(self) -> None:
        """Owners send again as long as they are asked to; there is a new study where people are told so."""
        deadline = time.monotonic() + SECONDS_TO_END
        problem: object = ""
        while time.monotonic() < deadline:
            for owner in self._awaited():
                try:
                    self.trial.submit(owner)
                except (PeerError, RefusedError) as error:
                    problem = error
                try:
                    self.trial.check_result(1.0, owners=(owner,))
                except (NotReleasedError, PeerError, RefusedError) as error:
                    problem = error
            if not self._awaited():
                self.trial.check_result()
                self._check_kept()
                return
            if self._needs_new_study():
                self._new_study()
                return
            self._retry_where_asked()
        states = {node: self._state(node) for node in NODES}
        raise BreachError(f"{self.trial.name} does not end: {problem}; {states}")

    def _awaited(self) -> list[str]:
        return [owner for owner in ("north", "harbour") if not self.trial.has_result(owner)]

    def _state(self, node: str) -> list[tuple[object, ...]]:
        return self.trial._rows(node, "SELECT state, note FROM studies WHERE hash = ?")

    def _needs_new_study(self) -> bool:
        """Where a node says so, in a note that all can see, or the command that recovers it."""
        notes = [str(note) for node in NODES for _, note in self._state(node)]
        return any("a new study" in text for text in (*notes, *self.way))

    def _retry_where_asked(self) -> None:
        for node in NODES:
            for state, note in self._state(node):
                if state == "stopped" and "ppaurora retry" in str(note):
                    self.way.append(f"retry at {node}")
                    done = command("retry", self.world.kit(node), self.trial.name)
                    if done.returncode and "a new study" not in done.stderr:  # it has just heard of a release
                        raise BreachError(f"retry: exit code {done.returncode}: {done.stderr}")

    def _new_study(self) -> None:
        self._check_kept()
        data = self.trial.data
        self.way.append("a new study")
        self.trial = self.world.trial("anew")
        self.trial.data = data
        self.trial.finish()

    def _check_kept(self) -> None:
        try:
            self.trial.check_kept()
        except BreachError as error:
            if "recover" not in self.way or "was lost" not in str(error):
                raise
