"""The protocols: each one object that knows its servers, its data, its run, and what it discloses."""

from ppaurora.protocols.base import Protocol
from ppaurora.protocols.fast import Fast
from ppaurora.protocols.grid import GridProtocol
from ppaurora.protocols.lists import ListProtocol, Prepared
from ppaurora.protocols.names import ProtocolName
from ppaurora.protocols.paper import Paper
from ppaurora.protocols.registry import find_protocol, protocols, register

DEFAULT_PROTOCOL: ProtocolName = "fast"

__all__ = [
    "DEFAULT_PROTOCOL",
    "Fast",
    "GridProtocol",
    "ListProtocol",
    "Paper",
    "Prepared",
    "Protocol",
    "find_protocol",
    "protocols",
    "register",
]
