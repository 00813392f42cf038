"""Mutual TLS 1.3 between the parties: who is who, how they connect, how frames travel."""

from ppaurora.channel.tls.connecting import Listener, PassedSockets, connect_parties, listen, pass_socket
from ppaurora.channel.tls.identity import Identity, peer_pin, tls_context
from ppaurora.channel.tls.loss import LOST, is_lost
from ppaurora.channel.tls.reaching import HungUpError, Stage, not_the_node, unreached
from ppaurora.channel.tls.transport import TlsTransport

__all__ = [
    "LOST",
    "HungUpError",
    "Identity",
    "Listener",
    "PassedSockets",
    "Stage",
    "TlsTransport",
    "connect_parties",
    "is_lost",
    "listen",
    "not_the_node",
    "pass_socket",
    "peer_pin",
    "tls_context",
    "unreached",
]
