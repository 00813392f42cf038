"""An owner as plainly as can be: `http.client` over TLS and the messages, nothing of `owner/`."""

from __future__ import annotations

import contextlib
import http.client
from dataclasses import dataclass
from typing import TypeVar

from ppaurora.channel.servers import Server
from ppaurora.data.samples import Samples
from ppaurora.io.models import from_json, to_json
from ppaurora.messages.owners import (
    OFFER_HEADER,
    Acknowledgement,
    Offer,
    Refusal,
    ReleasedPart,
    StudyStatus,
    studies_path,
)
from ppaurora.sharing.commitment import commit, fresh_salt
from ppaurora.study.kit import OwnerKit
from ppaurora.study.manifest import Manifest
from tests.support.deployment import Deployment, values_of
from tests.support.trials import becomes

M = TypeVar("M")


class Refused(Exception):  # noqa: N818
    def __init__(self, status: int, code: str) -> None:
        self.status, self.code = status, code
        super().__init__(f"{status} {code}")


@dataclass
class PlainOwner:
    """One owner in one study of a deployment."""

    deployment: Deployment
    name: str
    manifest: Manifest

    def request(
        self,
        kind: type[M],
        server: Server,
        method: str,
        path: str,
        body: bytes | None = None,
        headers: dict[str, str] | None = None,
    ) -> M:
        kit = OwnerKit.read(self.deployment.kit(self.name))
        host, port = self.manifest.owners_address(server)
        context = kit.client_context(self.manifest)
        connection = http.client.HTTPSConnection(host, port, context=context, timeout=60)
        with contextlib.closing(connection):
            connection.request(method, path, body, headers or {})
            response = connection.getresponse()
            content = response.read()
        if response.status != 200:
            raise Refused(response.status, from_json(Refusal, content).error.code)
        return from_json(kind, content)

    @property
    def path(self) -> str:
        return f"{studies_path()}/{self.manifest.hash}"

    def status(self, server: Server) -> StudyStatus:
        return self.request(StudyStatus, server, "GET", self.path)

    def release(self, server: Server) -> ReleasedPart:
        return self.request(ReleasedPart, server, "GET", f"{self.path}/release")

    def put(self, server: Server, offer: bytes, body: bytes) -> Acknowledgement:
        headers = {OFFER_HEADER: offer.decode()}
        return self.request(Acknowledgement, server, "PUT", f"{self.path}/submission", body, headers)

    def submit(self, data: Samples) -> list[Acknowledgement]:
        """To every server that takes submissions, in their order."""
        protocol = self.manifest.protocol
        salted = [(fresh_salt(), share.to_bytes()) for share in self.manifest.terms.share(data)]
        offer = to_json(
            Offer(samples=len(data), commitments=tuple(commit(salt, share) for salt, share in salted))
        )
        return [
            self.put(server, offer, salt + share)
            for server, (salt, share) in zip(protocol.input_servers, salted, strict=True)
        ]

    def result(self, seconds: float = 300.0) -> dict[str, float]:
        """Once all have released it."""
        manifest, protocol = self.manifest, self.manifest.protocol

        def released() -> bool:
            return all(self.status(server).state == "released" for server in protocol.result_servers)

        assert becomes(released, seconds), [self.status(server) for server in protocol.result_servers]
        answers = [self.release(server) for server in protocol.result_servers]
        query = manifest.job(answers[0].submissions).query
        result = protocol.combine([answer.part for answer in answers], query, manifest.owner_names)
        return values_of(result.metrics)
