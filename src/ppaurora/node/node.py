"""A node, put together: what it keeps, its ports, and the parts that do the work.

watching    looks after all studies: who is let in, what is deleted, what goes on
leading     takes studies further that this node leads
turns       which of them, and when
peers       which other nodes are silent, and when they are asked again
following   answers the leaders of the others
withdrawing passes on what owners withdraw
peer_records  asks whether others know of a release that this node has forgotten
runner      a node's part of an attempt, whoever leads
"""

from __future__ import annotations

import contextlib
import errno
import logging
import os

from ppaurora.errors import InputError
from ppaurora.node.activity import Activity
from ppaurora.node.amending import StudyAmendments
from ppaurora.node.authorities import Authorities
from ppaurora.node.clock import Clock
from ppaurora.node.following import Follower
from ppaurora.node.leading import Leader
from ppaurora.node.metrics import Metrics
from ppaurora.node.peer_records import PeerRecords
from ppaurora.node.runner import AttemptRunner
from ppaurora.node.sni_router import SniRouter
from ppaurora.node.store import STORAGE_ERRORS, Store, hold
from ppaurora.node.watching import Watcher
from ppaurora.node.withdrawing import Withdrawals
from ppaurora.party.starting import WarmPool
from ppaurora.protocols import Protocol
from ppaurora.study.kit import NodeKit
from ppaurora.study.names import split_address
from ppaurora.version import __version__

log = logging.getLogger(__name__)


class Node:
    """Works from its creation until it is closed; owners reach it through `service`."""

    def __init__(self, kit: NodeKit, metrics: Metrics) -> None:
        self.kit = kit
        self.metrics = metrics
        self.store = Store(kit.data)
        self._only_one = hold(kit.data)
        self.clock = Clock(self.store)
        self.store.record(f"the node starts, with ppaurora {__version__}")
        self.store.fail_interrupted()
        self.activity = Activity()
        self.authorities = Authorities(kit)
        self.router = _router(kit, self.authorities)
        self._warm_pool = WarmPool()
        runner = AttemptRunner(kit, self.store, self.router, self.activity, metrics, self._warm_pool)
        self._look_through_shares(runner)
        self.withdrawals = Withdrawals(kit, self.store, self.activity)
        self.amendments = StudyAmendments(kit, self.store, self.activity)
        self._leader = Leader(kit, self.store, self.activity, runner, self.withdrawals, self.amendments)
        self.watcher = Watcher(
            kit,
            self.store,
            self.activity,
            self.authorities,
            runner,
            self._leader,
            metrics,
            self.clock,
        )
        self.peer_records = PeerRecords(kit, self.store, self.activity, runner)
        self.router.open(Follower(kit, self.store, self.activity, runner, self.amendments).answer)
        self.watcher.start()
        self.peer_records.start()
        self._warm_pool.keep(Protocol.process, kit.title)
        if not self.store.studies():
            log.warning("no study was accepted yet", extra={"do": f"ppaurora accept {kit.folder} MANIFEST"})

    def _look_through_shares(self, runner: AttemptRunner) -> None:
        """Take shares back in whose rows were lost, and delete what is left of unfinished uploads."""
        self.store.describe_shares()
        for study in self.store.studies():
            runner.take_back(study)
        strays = self.store.remove_strays()
        if strays:
            log.info("files of unfinished uploads were deleted", extra={"files": strays})

    def close(self) -> None:
        """Stop what runs; a study goes on when the node is back."""
        self._warm_pool.close()
        self.router.close()
        self.activity.stop()
        self.watcher.join()
        self._leader.close()
        self.activity.wait_until_idle()
        self.clock.close()
        with contextlib.suppress(*STORAGE_ERRORS):
            self.store.record("the node stops")
        self.store.close()
        self._only_one.close()


def _router(kit: NodeKit, authorities: Authorities) -> SniRouter:
    where = kit.settings.listen_nodes
    try:
        return SniRouter(split_address(where), authorities.server_context())
    except OSError as error:
        raise cannot_listen(kit, "listen_nodes", where, error) from None


def cannot_listen(kit: NodeKit, setting: str, where: str, error: OSError) -> InputError:
    """Return the error that says which setting to change."""
    hint = "; another program, or another node, has this port" if error.errno == errno.EADDRINUSE else ""
    reason = os.strerror(error.errno) if error.errno else str(error)
    return InputError(
        f"cannot listen at {where}: {reason}{hint}; {setting} in {kit.folder / 'node.toml'} says where"
    )
