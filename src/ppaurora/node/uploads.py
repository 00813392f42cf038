"""How an owner's share arrives: announced in a header, streamed to disk, compared with its commitment."""

from __future__ import annotations

import asyncio
import hashlib
import os
import secrets
from pathlib import Path
from typing import BinaryIO, TypeVar

from aiohttp import web

from ppaurora.channel.servers import Server
from ppaurora.io.files import sync
from ppaurora.io.models import StrictModel, from_json
from ppaurora.messages.owners import OFFER_HEADER, Offer, SignedAgreement, SignedStatement, Withdrawal
from ppaurora.messages.refusals import RefusalCode
from ppaurora.node.refusals import refuse
from ppaurora.sharing.commitment import SALT_BYTES
from ppaurora.study.manifest import Manifest

PIECE = 1 << 18
_SECONDS_FOR_A_PIECE = 60.0
_SLOWEST_BYTES_PER_SECOND = 20_000

M = TypeVar("M", bound=StrictModel)


def read_offer(request: web.Request, manifest: Manifest, server: Server) -> Offer:
    """Return what the headers announce, checked before a byte of the body is read."""
    try:
        offer = from_json(Offer, request.headers[OFFER_HEADER])
    except (KeyError, ValueError):
        refuse(
            RefusalCode.HEADERS, f"{OFFER_HEADER} with the number of samples and the commitments is needed"
        )
    if len(offer.commitments) != len(manifest.protocol.input_servers):
        refuse(RefusalCode.HEADERS, f"{len(manifest.protocol.input_servers)} commitments are needed")
    problem = manifest.problem_with_own(offer.samples, offer.floors)
    if problem:
        refuse(RefusalCode.SAMPLES, problem)
    shape = manifest.terms.shape
    expected = SALT_BYTES + manifest.protocol.share_bytes(server, offer.samples, shape)
    if request.content_length is None:
        refuse(RefusalCode.LENGTH)
    if request.content_length > expected:
        refuse(RefusalCode.TOO_LONG, f"the body has {request.content_length} bytes instead of {expected}")
    if request.content_length < expected:
        refuse(RefusalCode.TOO_SHORT, f"the body has {request.content_length} bytes instead of {expected}")
    return offer


async def read_withdrawal(request: web.Request) -> Withdrawal:
    return await _read_message(request, Withdrawal, "a withdrawal has a revision, and nothing else")


async def read_statement(request: web.Request) -> SignedStatement:
    return await _read_message(request, SignedStatement, "this is not what a node signs of a release")


async def read_agreement(request: web.Request) -> SignedAgreement:
    return await _read_message(request, SignedAgreement, "this is no agreement to an amendment")


async def _read_message(request: web.Request, kind: type[M], problem: str) -> M:
    try:
        async with asyncio.timeout(_SECONDS_FOR_A_PIECE):
            return from_json(kind, await request.read())
    except ValueError:
        raise web.HTTPBadRequest(reason=problem) from None
    except TimeoutError:
        refuse(RefusalCode.TOO_SLOW)


async def receive_share(request: web.Request, commitment: str, folder: Path) -> Path:
    """Write salt and share to a file, durably; refuse what does not fit the commitment."""
    length = request.content_length or 0
    try:
        async with asyncio.timeout(_SECONDS_FOR_A_PIECE + length / _SLOWEST_BYTES_PER_SECOND):
            return await _receive_file(request, commitment, folder, length)
    except TimeoutError:
        refuse(RefusalCode.TOO_SLOW)


async def _receive_file(request: web.Request, commitment: str, folder: Path, missing: int) -> Path:
    path = folder / secrets.token_hex(16)
    digest = hashlib.sha256()
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            while missing:
                async with asyncio.timeout(_SECONDS_FOR_A_PIECE):
                    piece = await request.content.read(min(PIECE, missing))
                if not piece:
                    refuse(RefusalCode.TOO_SHORT, "the body ended early")
                missing -= len(piece)
                digest.update(piece)
                await asyncio.to_thread(file.write, piece)
            if digest.hexdigest() != commitment:
                refuse(RefusalCode.COMMITMENT)
            await asyncio.to_thread(_sync, file)
        await asyncio.to_thread(sync, folder)
    except BaseException:
        path.unlink(missing_ok=True)
        raise
    return path


def _sync(file: BinaryIO) -> None:
    file.flush()
    os.fsync(file.fileno())
