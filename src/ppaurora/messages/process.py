"""Between a server process and the process that started it: a task in, events out, a line of JSON each.

The task comes on the server's standard input, after one byte that carries the descriptor of the server's
listening socket, and followed by the input shares as raw bytes unless they are in files. Events leave on its
standard output.
"""

from __future__ import annotations

from ppaurora.agreement.terms import Job
from ppaurora.channel.meter import MeterReading
from ppaurora.channel.servers import Server
from ppaurora.channel.shaped import Network
from ppaurora.io.models import StrictModel
from ppaurora.messages.workers import Crew, Endpoint, Endpoints
from ppaurora.sharing.stages import ResultShare


class Links(StrictModel):
    """How a server finds the others and knows them: its own certificate, their pinned keys and addresses."""

    certificate: str
    key: str
    authorities: str
    pins: dict[str, str]  # by server, as its file name is
    addresses: dict[str, tuple[str, int]]
    timeout: float
    server_name: str
    passed: bool  # whether connections are passed through the listener, or arrive there
    budget: float | None = None  # seconds that the computation may take, if there is a limit


class Task(StrictModel):
    """One server's part of one attempt at a job."""

    job: Job
    server: str
    links: Links
    attempt: int = 1
    study: bytes = b""  # what the session's keys are bound to besides the job
    recipients: int = 1
    # Salt and share of every owner, as they were submitted. None: bare shares follow the task, if this server
    # has any.
    share_files: tuple[str, ...] | None = None
    network: Network | None = None
    crew: Crew | None = None  # several workers, where there are some


class Order(StrictModel):
    """To one worker of a server: its part of a task. Its parts of the input shares follow as raw bytes."""

    task: Task
    worker: int
    endpoints: dict[str, Endpoint]  # of the other servers' workers of its number
    inputs: tuple[int, ...] = ()  # how many bytes each share's part has

    @property
    def server(self) -> Server:
        return self.task.job.terms.protocol.server_named(self.task.server)


class Event(StrictModel, tag_field="event", tag=str.lower):
    """Events that a server process tells its starter."""


class Alive(Event):
    """A sign of life."""


class Progressed(Event):
    """How far a long step is."""

    step: str
    done: int
    total: int


class Placed(Event):
    """Workers stand ready; the others' workers find them at these endpoints."""

    endpoints: Endpoints


class Opened(Event):
    """A session with the other servers, by its public name, which no other session has."""

    session: str


class Finished(Event):
    """This server's parts of the result, one for every recipient, and what the run cost it."""

    parts: tuple[ResultShare, ...]
    seconds: float
    meter: MeterReading
    openings: dict[str, int]
    peak_bytes: int


class Failed(Event):
    """An error, by the name of its class; `peer` is who is to blame, if it is one of the others."""

    kind: str
    message: str
    peer: str | None = None


AnyEvent = Alive | Progressed | Placed | Opened | Finished | Failed
