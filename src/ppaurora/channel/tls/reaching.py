"""Why a node was not reached, by how far the connection came: what is probable, and who can do what.

A name that is unknown, a port where nobody listens, and an address where nothing answers are matters of the
network. Who has shown the right key and then breaks off was reached: it does not let this participant in,
most often because its operator has not accepted the study yet.
"""

from __future__ import annotations

import http.client
import socket
import ssl
import time
from enum import IntEnum

from ppaurora.channel.tls.loss import LOST, is_lost
from ppaurora.errors import PeerError, PeerLostError, PeerMisbehavedError, PeerTimeoutError, reason_of
from ppaurora.io.text import printable
from ppaurora.io.times import as_people_say


class HungUpError(PeerLostError):
    """A node has ended the connection in place of an answer, as one does that has not accepted the study."""


class Stage(IntEnum):
    """How far a connection came."""

    CONNECT = 0  # the name is looked up, and the address is called
    HANDSHAKE = 1  # somebody has accepted the connection
    REQUEST = 2  # it is the right node
    ANSWER = 3  # it has begun to answer


def unreached(peer: str, where: str, stage: Stage, error: Exception, way: str) -> PeerError:
    """Return the error for people, of a connection to a peer that came so far.

    `way` says what the administrators of this network can do about an address where nothing answers.
    """
    asking = f"ask the operator of {peer}"
    if stage is Stage.CONNECT:
        return _not_connected(peer, where, error, way, asking)
    if isinstance(error, TimeoutError):
        advice = f"the connection was accepted: {asking} whether the node is well (/healthz says)"
        return PeerTimeoutError(peer, f"at {where} did not answer in time", advice)
    if stage is Stage.HANDSHAKE:
        return _no_handshake(peer, where, error, asking)
    if stage is Stage.REQUEST:
        return HungUpError(
            peer,
            f"at {where} broke off the connection before it answered{_told_by(error)}; "
            "it has probably not accepted this study yet",
            f"the node was reached, so the network is open. Try again; if it stays so, {asking} to run "
            "'ppaurora accept KIT MANIFEST' with this study's manifest",
        )
    return PeerLostError(peer, f"cannot be reached at {where}: {_words(error)}")


def _not_connected(peer: str, where: str, error: Exception, way: str, asking: str) -> PeerError:
    if isinstance(error, TimeoutError):
        advice = f"nothing answers at this address: {way}, or {asking} whether the machine is up"
        return PeerTimeoutError(peer, f"at {where} did not answer in time", advice)
    if isinstance(error, socket.gaierror | UnicodeError):
        advice = f"no machine is known by this name here: {asking} whether the address is right; {way}"
    elif isinstance(error, ConnectionRefusedError):
        advice = (
            f"the machine is there, and nothing listens at this port: {asking} whether the node runs "
            f"('ppaurora serve'). If others reach it, a firewall refuses connections: {way}"
        )
    else:
        advice = f"{way}, or {asking} whether the machine is up"
    return PeerLostError(peer, f"cannot be reached at {where}: {_words(error)}", advice)


def _no_handshake(peer: str, where: str, error: Exception, asking: str) -> PeerError:
    if is_lost(error):
        advice = (
            "something accepted the connection, and ended it before it showed a certificate: "
            f"{asking} whether the node runs, and the administrators of your network whether a firewall "
            "ends TLS connections"
        )
        return PeerLostError(peer, f"at {where}: {LOST} in the TLS handshake", advice)
    if not isinstance(error, ssl.SSLCertVerificationError):
        said, advice = reason_of(error), _somebody_else(where)
    elif (said := printable(error.verify_message)) and ("expired" in said or "not yet valid" in said):
        said = f"{said}, and this machine's clock says {as_people_say(time.time())}"
        advice = f"check this machine's clock; if it is right, {asking}: its certificate has to be renewed"
    else:
        said = f"no authority of this study has signed the certificate that is shown there ({said})"
        advice = _somebody_else(where)
    return PeerMisbehavedError(peer, f"at {where} failed the TLS handshake: {said}", advice)


def not_the_node(peer: str, where: str, other: str) -> PeerMisbehavedError:
    """Return the error of a trusted certificate with the wrong key; `other` says whose it is, if known."""
    if not other:
        said = "has another key than the manifest says; nothing was sent"
        return PeerMisbehavedError(peer, f"at {where} {said}", _somebody_else(where))
    advice = f"the addresses of {peer} and {other} may be mixed up: ask whoever coordinates the study"
    return PeerMisbehavedError(peer, f"at {where} has the key of {other}; nothing was sent", advice)


def _somebody_else(where: str) -> str:
    return (
        "something else than the node answers there. Often that is a firewall or a web proxy that opens TLS: "
        f"ask the administrators of your network to let connections to {where} pass unopened. If there is "
        "none, compare the address and the manifest's hash with the other participants"
    )


def _told_by(error: Exception) -> str:
    """Return what TLS was told at the end, if it was told anything."""
    return f" ({reason_of(error)})" if isinstance(error, ssl.SSLError) and not is_lost(error) else ""


def _words(error: Exception) -> str:
    """Return how a connection was lost, in words for people."""
    if isinstance(error, ssl.SSLError | http.client.IncompleteRead):
        return LOST
    return getattr(error, "strerror", None) or printable(error) or type(error).__name__
