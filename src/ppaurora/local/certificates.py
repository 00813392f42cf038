"""Certificates for one run on this machine: an authority that is forgotten, a certificate per server."""

from __future__ import annotations

import datetime
import os
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from ppaurora.channel.tls import Identity, fingerprint
from ppaurora.role import Role

_LIFETIME = datetime.timedelta(days=30)


def make_identities(folder: Path) -> dict[Role, Identity]:
    """Writes certificates and keys (mode 0600) to `folder`. The authority's key is never written."""
    authority_key = ec.generate_private_key(ec.SECP256R1())
    authority_name = _name("ppaurora run")
    authority = _sign(
        _builder(authority_name, authority_name, authority_key.public_key())
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_key_usage(key_cert_sign=True), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(authority_key.public_key()), critical=False),
        authority_key,
    )
    authority_path = folder / "authority.pem"
    authority_path.write_bytes(authority.public_bytes(serialization.Encoding.PEM))

    paths: dict[Role, tuple[Path, Path]] = {}
    pins: dict[Role, str] = {}
    for role in Role:
        name = role.title.replace(" ", "-")
        key = ec.generate_private_key(ec.SECP256R1())
        certificate = _sign(
            _builder(_name(name), authority_name, key.public_key())
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .add_extension(_key_usage(key_cert_sign=False), critical=True)
            .add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), critical=False)
            .add_extension(
                x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH]),
                critical=False,
            )
            .add_extension(
                x509.AuthorityKeyIdentifier.from_issuer_public_key(authority_key.public_key()), critical=False
            ),
            authority_key,
        )
        paths[role] = folder / f"{name}.pem", folder / f"{name}.key"
        paths[role][0].write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
        _write_secret(
            paths[role][1],
            key.private_bytes(
                serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
            ),
        )
        pins[role] = fingerprint(certificate.public_bytes(serialization.Encoding.DER))
    return {
        role: Identity(*paths[role], authority_path, {peer: pins[peer] for peer in role.peers})
        for role in Role
    }


def _name(common_name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common_name)])


def _builder(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePublicKey
) -> x509.CertificateBuilder:
    now = datetime.datetime.now(datetime.UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(minutes=5))
        .not_valid_after(now + _LIFETIME)
    )


def _sign(builder: x509.CertificateBuilder, key: ec.EllipticCurvePrivateKey) -> x509.Certificate:
    return builder.sign(key, hashes.SHA256())


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


def _write_secret(path: Path, content: bytes) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
