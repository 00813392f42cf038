"""Certificates: an authority that signs them, how they are read, and how people see them."""

from __future__ import annotations

import datetime
import functools
from dataclasses import dataclass, field
from pathlib import Path

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from ppaurora.credentials.pins import pin_of
from ppaurora.errors import InputError
from ppaurora.io.text import printable
from ppaurora.io.times import as_people_say

_BACKDATED = datetime.timedelta(minutes=5)  # for clocks that are a little behind


@dataclass(frozen=True)
class Issued:
    """A certificate and its key, both as PEM."""

    certificate: bytes
    key: bytes = field(repr=False)


class Authority:
    """An authority that signs the certificates of a study's participants."""

    def __init__(self, certificate: x509.Certificate, key: ec.EllipticCurvePrivateKey) -> None:
        self._certificate = certificate
        self._key = key

    @classmethod
    def make(cls, name: str, lifetime: datetime.timedelta) -> Authority:
        key = ec.generate_private_key(ec.SECP256R1())
        subject = _name(name)
        certificate = (
            _builder(subject, subject, key.public_key(), lifetime)
            .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
            .add_extension(_key_usage(key_cert_sign=True), critical=True)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
            .sign(key, hashes.SHA256())
        )
        return cls(certificate, key)

    @classmethod
    def load(cls, certificate: Path, key: Path) -> Authority:
        signing_key = load_key(key)
        return cls(x509.load_pem_x509_certificate(read_pem(certificate)), signing_key)

    @property
    def certificate(self) -> bytes:
        return self._certificate.public_bytes(serialization.Encoding.PEM)

    @property
    def key(self) -> bytes:
        return _key_bytes(self._key)

    def has_signed(self, certificate: bytes) -> bool:
        try:
            x509.load_pem_x509_certificate(certificate).verify_directly_issued_by(self._certificate)
        except (ValueError, TypeError, InvalidSignature):
            return False
        return True

    def issue(self, name: str, lifetime: datetime.timedelta) -> Issued:
        """Return a certificate for a new key, and the key."""
        key = ec.generate_private_key(ec.SECP256R1())
        return Issued(self.certify(name, key.public_key(), lifetime), _key_bytes(key))

    def certify(self, name: str, key: ec.EllipticCurvePublicKey, lifetime: datetime.timedelta) -> bytes:
        """Return a certificate for a key that exists, to use as server and as client."""
        certificate = (
            _builder(_name(name), self._certificate.subject, key, lifetime)
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .add_extension(_key_usage(key_cert_sign=False), critical=True)
            .add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), critical=False)
            .add_extension(
                x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH]),
                critical=False,
            )
            .add_extension(
                x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key()), critical=False
            )
            .sign(self._key, hashes.SHA256())
        )
        return certificate.public_bytes(serialization.Encoding.PEM)


def pin_of_pem(certificate: bytes) -> str:
    return pin_of(x509.load_pem_x509_certificate(certificate).public_bytes(serialization.Encoding.DER))


def first_certificate(text: str) -> str:
    """Return the first certificate as PEM, without what is around it; raise ValueError if there is none."""
    return (
        x509.load_pem_x509_certificate(text.encode()).public_bytes(serialization.Encoding.PEM).decode("ascii")
    )


def describe_certificates(text: str) -> list[str]:
    """Name and digest of each, for people to compare. Raises ValueError if there is none."""
    return [
        f"{printable(one.subject.rfc4514_string())}, SHA-256 {one.fingerprint(hashes.SHA256()).hex()}"
        for one in x509.load_pem_x509_certificates(text.encode())
    ]


@dataclass(frozen=True)
class Validity:
    """From when until when a certificate is valid, by this machine's clock now."""

    begins: datetime.datetime
    ends: datetime.datetime
    now: datetime.datetime

    @classmethod
    def of(cls, certificate: bytes) -> Validity:
        parsed = x509.load_pem_x509_certificate(certificate)
        now = datetime.datetime.now(datetime.UTC)
        return cls(parsed.not_valid_before_utc, parsed.not_valid_after_utc, now)

    @property
    def is_yet_to_begin(self) -> bool:
        return self.now < self.begins

    @property
    def days_left(self) -> float:
        """Return for how many days it is valid; below zero if no longer, infinite if not yet."""
        if self.is_yet_to_begin:
            return float("inf")
        return (self.ends - self.now) / datetime.timedelta(days=1)

    @property
    def problem(self) -> str:
        """Return why it is not valid now; empty if it is."""
        if self.is_yet_to_begin:
            said, when = "is not valid before", self.begins
        elif self.days_left <= 0:
            said, when = "expired on", self.ends
        else:
            return ""
        clock = as_people_say(self.now.timestamp())
        return f"{said} {as_people_say(when.timestamp())}, and this machine's clock says {clock}"

    @property
    def remedy(self) -> str:
        """Return what to do about the problem: nobody has a certificate before it is made."""
        if self.is_yet_to_begin:
            return "this machine's clock is behind: set it, for instance with NTP"
        return (
            "check this machine's clock; if it is right, ask for a renewed certificate: 'ppaurora renew' "
            "makes one for the same key"
        )


def days_left(certificate: bytes) -> float:
    """Return for how many days a certificate is valid; below zero if no longer, infinite if not yet."""
    return Validity.of(certificate).days_left


@functools.lru_cache(maxsize=1024)
def earliest_end(certificates: bytes) -> datetime.datetime:
    """Return when the first of these certificates ends. Raises ValueError if there is none."""
    return min(one.not_valid_after_utc for one in x509.load_pem_x509_certificates(certificates))


def read_pem(path: Path) -> bytes:
    """Return the content of a certificate file, or raise an error that says what is wrong with it."""
    try:
        content = path.read_bytes()
        x509.load_pem_x509_certificates(content)
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from None
    except ValueError:
        raise InputError(f"{path}: holds no certificate in PEM form") from None
    return content


def public_key_of(certificate: Path) -> ec.EllipticCurvePublicKey:
    key = x509.load_pem_x509_certificate(read_pem(certificate)).public_key()
    if not isinstance(key, ec.EllipticCurvePublicKey):
        raise InputError(f"{certificate}: was not made by 'provision'; renew it where it was made")
    return key


def load_key(path: Path) -> ec.EllipticCurvePrivateKey:
    try:
        key = serialization.load_pem_private_key(path.read_bytes(), password=None)
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from None
    except (ValueError, TypeError):
        raise InputError(f"{path}: holds no unencrypted private key in PEM form") from None
    if not isinstance(key, ec.EllipticCurvePrivateKey):
        raise InputError(f"{path}: only elliptic-curve keys can be certified here")
    return key


def _key_bytes(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )


def _name(common_name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common_name)])


def _builder(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePublicKey, lifetime: datetime.timedelta
) -> x509.CertificateBuilder:
    now = datetime.datetime.now(datetime.UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _BACKDATED)
        .not_valid_after(now + lifetime)
    )


def _key_usage(*, key_cert_sign: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=True,
        key_cert_sign=key_cert_sign,
        crl_sign=key_cert_sign,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )
