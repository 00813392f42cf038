"""A party's Ray cluster as it is before anybody speaks Ray with it: where it is, and what opens it.

The folder of credentials holds

    token             what Ray asks for (RAY_AUTH_MODE=token)
    certificate.pem   this machine's certificate inside the cluster, and
    key.pem           its key
    authority.pem     who signed the certificates of the cluster's machines

Ray takes all of it from the environment, before it is loaded; so Ray runs in processes of its own only.
"""

from __future__ import annotations

import importlib.metadata
import ipaddress
import socket
import ssl
import stat
from dataclasses import dataclass
from pathlib import Path

from ppaurora.errors import InputError, reason_of
from ppaurora.messages.workers import RayPlace

OLDEST_RAY = (2, 52)
_SECONDS_TO_CONNECT = 5.0
_TOKEN, _CERTIFICATE, _KEY, _AUTHORITY = "token", "certificate.pem", "key.pem", "authority.pem"
_SECRETS = (_TOKEN, _KEY)


def installed_ray() -> str:
    """Return the version of Ray that is installed here, or raise an `InputError` that says what to do."""
    try:
        version = importlib.metadata.version("ray")
    except importlib.metadata.PackageNotFoundError:
        raise InputError("Ray is not installed here; run: pip install 'ppaurora[ray]'") from None
    if tuple(map(int, version.split(".")[:2])) < OLDEST_RAY:
        oldest = ".".join(map(str, OLDEST_RAY))
        raise InputError(
            f"Ray {version} is installed here, and cannot ask for a token; {oldest} or newer can"
        )
    return version


@dataclass(frozen=True)
class Cluster:
    """Where a party's cluster is, and what opens it."""

    host: str
    port: int
    credentials: Path

    @classmethod
    def of(cls, place: RayPlace) -> Cluster:
        return cls(*place.address, Path(place.credentials))

    def __str__(self) -> str:
        return f"the Ray cluster at {self.host}:{self.port}"

    @property
    def address(self) -> str:
        return f"{self.host}:{self.port}"

    @property
    def is_local(self) -> bool:
        """Return whether all of it is on this machine, where nobody else can reach it."""
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return self.host == "localhost"

    def environment(self) -> dict[str, str]:
        """Return the variables of a process that will load Ray. Nothing is reported to anybody."""
        folder = self.credentials
        variables = {
            "RAY_AUTH_MODE": "token",
            "RAY_AUTH_TOKEN_PATH": str(folder / _TOKEN),
            "RAY_USE_TLS": "1",
            "RAY_TLS_SERVER_CERT": str(folder / _CERTIFICATE),
            "RAY_TLS_SERVER_KEY": str(folder / _KEY),
            "RAY_TLS_CA_CERT": str(folder / _AUTHORITY),
            "RAY_USAGE_STATS_ENABLED": "0",
            "RAY_DEDUP_LOGS": "0",
        }
        # Otherwise Ray takes another address of this machine for its own.
        return variables | ({"RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0"} if self.is_local else {})

    def check_credentials(self) -> str:
        """Raise unless all credentials are there, and secrets for nobody else to read."""
        for name in (_TOKEN, _CERTIFICATE, _KEY, _AUTHORITY):
            path = self.credentials / name
            try:
                mode, size = path.stat().st_mode, path.stat().st_size
            except OSError as error:
                raise InputError(
                    f"{path}: cannot be read: {error.strerror}; put the cluster's {name} there"
                ) from None
            if not size:
                raise InputError(f"{path}: is empty; put the cluster's {name} there")
            if name in _SECRETS and stat.S_IMODE(mode) & 0o077:
                raise InputError(f"{path}: others on this machine can read it; run: chmod 600 {path}")
        return str(self.credentials)

    def reach(self) -> str:
        """Check that the other end speaks TLS with a certificate of the authority, and asks for ours."""
        try:
            with socket.create_connection((self.host, self.port), _SECONDS_TO_CONNECT) as raw:
                self._shake_hands(raw)
        except ssl.SSLError as error:
            raise InputError(
                f"{self} does not speak TLS as {self.credentials} says: {reason_of(error)}; start all of it "
                "with RAY_USE_TLS=1 and certificates of its authority"
            ) from None
        except OSError as error:
            raise InputError(
                f"{self} cannot be reached: {reason_of(error)}; is it started, and is this the address of "
                "its head?"
            ) from None
        return self.address

    def _shake_hands(self, raw: socket.socket) -> None:
        context = ssl.create_default_context(cafile=str(self.credentials / _AUTHORITY))
        context.check_hostname = False
        context.set_alpn_protocols(["h2"])
        context.load_cert_chain(self.credentials / _CERTIFICATE, self.credentials / _KEY)
        with context.wrap_socket(raw) as sock:
            sock.do_handshake()

    def answers_at(self, port: int) -> bool:
        """Return whether anybody listens at another port of the head's."""
        try:
            socket.create_connection((self.host, port), _SECONDS_TO_CONNECT).close()
        except OSError:
            return False
        return True
