"""Signatures with the keys by which participants are known.

A participant's key also proves who it is in TLS. What is signed here begins with words that nothing signed
in TLS begins with, so neither signature can pass for the other.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed448, ed25519, padding, rsa

from ppaurora.errors import InputError

_SHA256 = hashes.SHA256()
_PSS = padding.PSS(padding.MGF1(_SHA256), _SHA256.digest_size)


@dataclass(frozen=True)
class Signature:
    """Who signed, as a public key in DER form, how, and the signature itself."""

    key: bytes
    algorithm: str
    signature: bytes

    @property
    def pin(self) -> str:
        """Return the pin by which the key is known, see `pins`."""
        return hashlib.sha256(self.key).hexdigest()


def sign(key_file: Path, content: bytes) -> Signature:
    """Sign with a private key of any kind that certificates for TLS have."""
    try:
        key = serialization.load_pem_private_key(key_file.read_bytes(), password=None)
    except OSError as error:
        raise InputError(f"{key_file}: cannot be read: {error.strerror}") from None
    except (ValueError, TypeError, UnsupportedAlgorithm):
        raise InputError(f"{key_file}: holds no unencrypted private key in PEM form") from None
    match key:
        case ec.EllipticCurvePrivateKey():
            signature = key.sign(content, ec.ECDSA(_SHA256))
        case ed25519.Ed25519PrivateKey() | ed448.Ed448PrivateKey():
            signature = key.sign(content)
        case rsa.RSAPrivateKey():
            signature = key.sign(content, _PSS, _SHA256)
        case _:
            raise InputError(f"{key_file}: is of a kind that cannot sign")
    public = key.public_key()
    der = public.public_bytes(serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo)
    return Signature(der, _algorithm(public), signature)


def problem_with(signature: Signature, content: bytes) -> str:
    """Return why it is no signature of this content, or nothing; the caller compares whose key it is."""
    try:
        key = serialization.load_der_public_key(signature.key)
    except (ValueError, UnsupportedAlgorithm):
        return "the key is not a public key"
    if signature.algorithm != _algorithm(key):
        return "the key is not of the kind that the algorithm asks for"
    try:
        match key:
            case ec.EllipticCurvePublicKey():
                key.verify(signature.signature, content, ec.ECDSA(_SHA256))
            case ed25519.Ed25519PublicKey() | ed448.Ed448PublicKey():
                key.verify(signature.signature, content)
            case rsa.RSAPublicKey():
                key.verify(signature.signature, content, _PSS, _SHA256)
            case _:
                return "the key is of a kind that cannot sign"
    except InvalidSignature:
        return "the signature does not fit"
    return ""


def _algorithm(key: object) -> str:
    match key:
        case ec.EllipticCurvePublicKey():
            return "ECDSA with SHA-256"
        case ed25519.Ed25519PublicKey():
            return "Ed25519"
        case ed448.Ed448PublicKey():
            return "Ed448"
        case rsa.RSAPublicKey():
            return "RSA-PSS with SHA-256"
    return "none"
