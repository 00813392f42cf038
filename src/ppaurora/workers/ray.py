"""Workers as actors on a Ray cluster of this party's: a placement group, with an actor in each place.

Nothing is restarted and nothing is tried again by Ray. Actors and their places belong to this process: when
it is gone, however it ended, Ray ends them.
"""

from __future__ import annotations

import contextlib
import os
import queue
import socket
import sys
import threading
from collections.abc import Callable, Sequence
from typing import Any, Self

import numpy as np

from ppaurora.channel.base import Buffer
from ppaurora.errors import InputError, PartyFailedError
from ppaurora.io.models import from_json, to_json
from ppaurora.messages.process import AnyEvent, Event, Order, Placed
from ppaurora.messages.workers import Endpoint, RayPlace
from ppaurora.party.starting import PROCESS_VARIABLES
from ppaurora.version import __version__
from ppaurora.workers.cluster import Cluster, installed_ray
from ppaurora.workers.engine import Ended
from ppaurora.workers.relay import relay

_SECONDS_TO_PLACE = 60.0
_SECONDS_TO_START = 150.0  # an actor, on a busy machine
_SECONDS_BETWEEN_SIGNS = 5.0
_CALLS_AT_ONCE = 8


def connect(cluster: Cluster) -> Any:
    """Return Ray, connected to the cluster; raise a `PartyFailedError` that says why it cannot be.

    To be called once in a process, before Ray is loaded.
    """
    try:
        installed_ray()
        cluster.check_credentials()
        cluster.reach()
    except InputError as error:
        raise PartyFailedError(str(error)) from None
    os.environ.update(cluster.environment())
    import ray
    from ray._raylet import GcsClient

    try:
        GcsClient(address=cluster.address)
    except ray.exceptions.AuthenticationError:
        raise PartyFailedError(
            f"{cluster} does not take the token in {cluster.credentials / 'token'}; 'ray get-auth-token' "
            "shows the right one where the cluster was started"
        ) from None
    where = {"_node_ip_address": cluster.host} if cluster.is_local else {}
    try:
        ray.init(
            address=cluster.address,
            namespace="ppaurora",
            log_to_driver=False,
            logging_level="ERROR",
            configure_logging=False,
            **where,
        )
    except ConnectionError:
        raise PartyFailedError(
            f"{cluster} does not let this node in; does this machine belong to it? Have it join: ray start "
            f"--address {cluster.address} --num-cpus 0"
        ) from None
    except RuntimeError as error:  # Ray's words on versions name both
        raise PartyFailedError(f"{cluster} cannot be used: {' '.join(str(error).split())}") from None
    return ray


def actor_class() -> type:
    """Return the class of a worker; it is loaded with Ray, and so after `connect`."""
    from ppaurora.workers.ray_actor import RayWorker

    return RayWorker


class RayEngine:
    """An actor for every worker."""

    def __init__(self, title: str, count: int, place: RayPlace) -> None:
        self._title = title
        self._count = count
        self._place = place
        self._cluster = Cluster.of(place)
        self._ray: Any = None
        self._group: Any = None
        self._actors: list[Any] = []
        self._addresses: list[tuple[str, int]] = []
        self._events: queue.Queue[tuple[int, Event | Ended]] = queue.Queue()
        self._closed = threading.Event()

    def place(self) -> Sequence[Endpoint]:
        os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # Ray prints what happens to workers
        self._ray = connect(self._cluster)
        self._reserve()
        from ray.util.scheduling_strategies import PlacementGroupSchedulingStrategy

        actor = self._ray.remote(actor_class())
        for number in range(self._count):
            strategy = PlacementGroupSchedulingStrategy(self._group, placement_group_bundle_index=number)
            self._actors.append(
                actor.options(
                    name=None,
                    num_cpus=self._place.cpus,
                    memory=self._place.memory or None,
                    max_restarts=0,
                    max_task_retries=0,
                    max_concurrency=_CALLS_AT_ONCE + self._count,
                    scheduling_strategy=strategy,
                    runtime_env={"env_vars": PROCESS_VARIABLES},
                ).remote()
            )
        return [self._endpoint(number) for number in range(self._count)]

    def _reserve(self) -> None:
        """Reserve a place for every worker, or raise."""
        from ray.util.placement_group import placement_group

        bundle = {"CPU": self._place.cpus} | ({"memory": self._place.memory} if self._place.memory else {})
        whole = self._ray.cluster_resources()
        fits = all(whole.get(name, 0.0) >= self._count * amount for name, amount in bundle.items())
        if fits:
            self._group = placement_group([bundle] * self._count, strategy="SPREAD")
        if not fits or not self._group.wait(_SECONDS_TO_PLACE):
            free = self._ray.available_resources()
            raise PartyFailedError(
                f"{self._cluster} has no room for {self._count} workers with {_described(bundle)} each; free "
                f"are {_described({name: free.get(name, 0.0) for name in bundle})}. Have fewer with count in "
                "[workers] of node.toml, or add machines"
            )

    def _endpoint(self, number: int) -> Endpoint:
        try:
            version, host, port, placed = self._ray.get(
                self._actors[number].place.remote(self._place.ports), timeout=_SECONDS_TO_START
            )
        except self._ray.exceptions.RayError as error:
            raise PartyFailedError(f"worker {number} could not be placed: {_reason(error)}") from None
        if version != __version__:
            raise PartyFailedError(
                f"worker {number} has ppaurora {version}, and this node {__version__}; install the same on "
                f"all machines of {self._cluster}"
            )
        self._addresses.append((host, port))
        return from_json(Placed, placed).endpoints[0]

    def begin(self, order: Order, inputs: Sequence[Buffer]) -> None:
        number = order.worker
        handed = [np.frombuffer(part, dtype=np.uint8) for part in inputs]
        work = self._actors[number].run.remote(to_json(order), self._actors, *handed)
        between_signs = min(order.task.links.timeout / 4, _SECONDS_BETWEEN_SIGNS)
        for listen, about in ((self._hear_news, between_signs), (self._hear_end, work)):
            threading.Thread(target=listen, args=(number, about), daemon=True).start()

    def _hear_news(self, number: int, seconds: float) -> None:
        with contextlib.suppress(Exception):  # that it is gone is heard as its end
            while not self._closed.is_set():
                for told in self._ray.get(self._actors[number].news.remote(seconds)):
                    self._events.put((number, from_json(AnyEvent, told)))

    def _hear_end(self, number: int, work: Any) -> None:
        try:
            event: Event | Ended = from_json(AnyEvent, self._ray.get(work))
        except Exception as error:
            event = Ended(f"was lost: {_reason(error)}")
        self._events.put((number, event))

    def admit(self, worker: int, connection: socket.socket) -> None:
        relay(connection, self._addresses[worker])

    def next_event(self, seconds: float) -> tuple[int, Event | Ended] | None:
        try:
            return self._events.get(timeout=seconds)
        except queue.Empty:
            return None

    def close(self) -> None:
        """Ray ends what this process has started when it leaves; it is told now, and not only noticed."""
        self._closed.set()
        if self._ray is None:
            return
        from ray.util.placement_group import remove_placement_group

        for actor in self._actors:
            _try(self._ray.kill, actor)
        if self._group is not None:
            _try(remove_placement_group, self._group)
        _try(self._ray.shutdown)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _try(action: Callable[..., Any], *arguments: Any) -> None:
    with contextlib.suppress(Exception):  # the cluster may be gone
        action(*arguments)


def _described(bundle: dict[str, float]) -> str:
    words = {"CPU": lambda n: f"{n:g} CPUs", "memory": lambda n: f"{n / 1e6:,.0f} MB"}
    return " and ".join(words[name](amount) for name, amount in bundle.items())


def _reason(error: BaseException) -> str:
    """Return the kind of Ray's error only: its own words may quote what was computed on."""
    return type(error).__name__
