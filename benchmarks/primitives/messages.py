"""Between a measurement and its servers. Functions travel by name, values pickled: all on one machine."""

from __future__ import annotations

from ppaurora.io.models import StrictModel
from ppaurora.messages.process import AnyEvent, Event, Links


class Start(StrictModel):
    server: str
    links: Links


class Task(StrictModel):
    call: bytes  # a function and its arguments


class Answered(Event):
    value: bytes


MeasuringEvent = AnyEvent | Answered
