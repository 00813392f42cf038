"""What is said of a peer that was not reached, by how far the connection came."""

from __future__ import annotations

import socket
import ssl

import pytest

from ppaurora.channel.tls import HungUpError, Stage, unreached
from ppaurora.errors import PeerError, PeerLostError, PeerMisbehavedError, PeerTimeoutError, reason_of

WAY = "open TCP to h:1"


def said(stage: Stage, error: Exception) -> PeerError:
    return unreached("proxy 0", "h:1", stage, error, WAY)


def unverified(reason: str) -> ssl.SSLCertVerificationError:
    error = ssl.SSLCertVerificationError(1, "certificate verify failed")
    error.verify_message = reason
    return error


@pytest.mark.parametrize("reason", ["certificate is not yet valid", "certificate has expired"])
def test_a_clock_that_is_off_is_suspected(reason: str) -> None:
    error = said(Stage.HANDSHAKE, unverified(reason))
    assert type(error) is PeerMisbehavedError
    assert f"{reason}, and this machine's clock says 2" in error.problem
    assert error.advice.startswith("check this machine's clock; if it is right, ask the operator of proxy 0")


def test_a_certificate_of_strangers_is_not_blamed_on_the_clock() -> None:
    error = said(Stage.HANDSHAKE, unverified("self-signed certificate"))
    assert "clock" not in str(error) + error.advice
    assert "pass unopened" in error.advice


@pytest.mark.parametrize(
    ("stage", "error", "kind", "is_network"),
    [
        (Stage.CONNECT, socket.gaierror(socket.EAI_NONAME, "unknown"), PeerLostError, True),
        (Stage.CONNECT, ConnectionRefusedError(111, "Connection refused"), PeerLostError, True),
        (Stage.CONNECT, OSError(113, "No route to host"), PeerLostError, True),
        (Stage.CONNECT, TimeoutError("timed out"), PeerTimeoutError, True),
        (Stage.HANDSHAKE, TimeoutError("timed out"), PeerTimeoutError, False),
        (Stage.HANDSHAKE, ssl.SSLEOFError(8, "EOF"), PeerLostError, False),
        (Stage.REQUEST, ConnectionResetError(104, "reset"), HungUpError, False),
        (Stage.REQUEST, ssl.SSLError(1, "[SSL: TLSV1_ALERT_UNKNOWN_CA]"), HungUpError, False),
        (Stage.REQUEST, TimeoutError("timed out"), PeerTimeoutError, False),
        (Stage.ANSWER, ConnectionResetError(104, "reset"), PeerLostError, False),
    ],
)
def test_the_network_is_asked_for_only_before_anybody_answers(
    stage: Stage, error: Exception, kind: type, is_network: bool
) -> None:
    found = said(stage, error)
    assert type(found) is kind
    assert (WAY in found.advice) == is_network
    assert ("'ppaurora accept KIT MANIFEST'" in found.advice) == (kind is HungUpError)
    assert found.problem.count("h:1") == 1


def test_why_a_certificate_is_not_trusted_is_told() -> None:
    """OpenSSL has one reason for many problems; the words tell them apart."""
    assert reason_of(unverified("certificate has expired")) == "certificate has expired"
