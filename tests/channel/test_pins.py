"""A pin is the digest of the public key in a certificate, found where TLS found it, or not at all."""

from __future__ import annotations

import datetime
import hashlib
import ssl

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.x509.oid import NameOID

from ppaurora.credentials.certificates import Authority, pin_of_pem
from ppaurora.credentials.pins import pin_of

DAY = datetime.timedelta(days=1)
Key = ec.EllipticCurvePrivateKey | ed25519.Ed25519PrivateKey | rsa.RSAPrivateKey
KEYS: dict[str, Key] = {
    "P-256": ec.generate_private_key(ec.SECP256R1()),
    "P-384": ec.generate_private_key(ec.SECP384R1()),
    "Ed25519": ed25519.Ed25519PrivateKey.generate(),
    "RSA": rsa.generate_private_key(65537, 2048),
}


def self_signed(key: Key, name: str) -> x509.Certificate:
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    now = datetime.datetime.now(datetime.UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now)
        .not_valid_after(now + DAY)
        .sign(key, None if isinstance(key, ed25519.Ed25519PrivateKey) else hashes.SHA256())
    )


def by_the_library(certificate: x509.Certificate) -> str:
    key = certificate.public_key().public_bytes(
        serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    return hashlib.sha256(key).hexdigest()


@pytest.mark.parametrize("kind", KEYS)
@pytest.mark.parametrize("name", ["a", "n" * 64])
def test_a_pin_is_the_digest_of_the_key(kind: str, name: str) -> None:
    certificate = self_signed(KEYS[kind], name)
    assert pin_of(certificate.public_bytes(serialization.Encoding.DER)) == by_the_library(certificate)
    assert pin_of_pem(certificate.public_bytes(serialization.Encoding.PEM)) == by_the_library(certificate)


def test_a_renewed_certificate_has_the_same_pin_and_another_key_another() -> None:
    authority = Authority.make("authority", DAY)
    key, other = KEYS["P-256"], KEYS["P-384"]
    assert isinstance(key, ec.EllipticCurvePrivateKey)
    assert isinstance(other, ec.EllipticCurvePrivateKey)
    pins = [
        pin_of_pem(authority.certify(name, one.public_key(), DAY))
        for name, one in (("north", key), ("north", key), ("south", key), ("north", other))
    ]
    assert len(set(pins)) == 2
    assert pins[0] == pins[1] == pins[2]


def test_nobody_is_known_by_no_certificate() -> None:
    assert pin_of(b"") == ""


def der() -> bytes:
    return ssl.PEM_cert_to_DER_cert(Authority.make("authority", DAY).certificate.decode())


def test_what_is_cut_off_is_no_certificate() -> None:
    whole = der()
    for length in range(1, len(whole)):
        with pytest.raises(ValueError, match="not a certificate"):
            pin_of(whole[:length])


def spoilt() -> dict[str, bytes]:
    """Other encodings of lengths, which are no DER although some programs take them, and another order."""
    whole = der()
    assert whole[:2] == b"\x30\x82"
    assert whole[4:6] == b"\x30\x82"
    return {
        "a length with a leading zero": b"\x30\x83\x00" + whole[2:],
        "no length": b"\x30\x80" + whole[4:] + b"\x00\x00",
        "a short length in the long form": whole[:4] + b"\x30\x81\x7f" + whole[8:],
        "a length without end": b"\x30\xff" + b"\xff" * 127 + whole,
        "another tag": b"\x31" + whole[1:],
        "no certificate inside": b"\x30\x03\x02\x01\x01",
        "nothing inside": b"\x30\x00",
        "the version twice": whole[:8] + whole[8:13] + whole[8:],
    }


@pytest.mark.parametrize("kind", spoilt())
def test_what_is_not_strictly_a_certificate_has_no_pin(kind: str) -> None:
    with pytest.raises(ValueError, match="not a certificate"):
        pin_of(spoilt()[kind])
