"""The pin by which a participant is known: a digest of the public key in its certificate.

Not of the certificate: one that is renewed for the same key is still its owner's. A server process meets
no certificate but its peers', which TLS has read and verified before, so the way to the key in it is walked
here, and the library that makes certificates is not loaded for that.
"""

from __future__ import annotations

import hashlib

_INTEGER, _SEQUENCE, _VERSION = 0x02, 0x30, 0xA0
# RFC 5280, 4.1: serial number, signature algorithm, issuer, validity, subject; then the public key.
_BEFORE_THE_KEY = (_INTEGER, _SEQUENCE, _SEQUENCE, _SEQUENCE, _SEQUENCE)


def pin_of(certificate: bytes) -> str:
    """Return the pin of a certificate in DER form, or nobody's; raise ValueError if it is no certificate."""
    if not certificate:
        return ""
    at, _ = _element(certificate, 0, _SEQUENCE)
    at, _ = _element(certificate, at, _SEQUENCE)  # the part that is signed
    if certificate[at : at + 1] == bytes([_VERSION]):
        _, at = _element(certificate, at, _VERSION)
    for tag in _BEFORE_THE_KEY:
        _, at = _element(certificate, at, tag)
    _, end = _element(certificate, at, _SEQUENCE)
    return hashlib.sha256(certificate[at:end]).hexdigest()


def _element(der: bytes, at: int, tag: int) -> tuple[int, int]:
    """Return where the contents of the element at this place begin and end; it must have this tag.

    Strictly DER, where every length has one encoding: nobody can read another key here than TLS did.
    """
    if der[at : at + 1] != bytes([tag]):
        raise ValueError("this is not a certificate")
    start = at + 2
    length = int.from_bytes(der[at + 1 : start])
    if length >= 0x80:
        digits = der[start : start + length - 0x80]
        start += len(digits)
        length = int.from_bytes(digits)
        if digits[:1] in (b"", b"\0") or length < 0x80:
            raise ValueError("this is not a certificate")
    if start + length > len(der):
        raise ValueError("this is not a certificate")
    return start, start + length
