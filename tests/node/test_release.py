"""What an owner gets of a result, and when."""

from __future__ import annotations

import asyncio

import numpy as np
import pytest
from aiohttp import web
from aiohttp.test_utils import make_mocked_request

from ppaurora.io.models import from_json
from ppaurora.messages.owners import ReleasedPart
from ppaurora.node.refusals import RequestRefusedError
from ppaurora.node.store import Store, StudyRecord
from ppaurora.study.kit import NodeKit
from tests.support.trials import OWNERS, Trials, kept_share, owners_service, part


def test_a_part_is_given_out_once_it_is_released_and_not_before(
    store: Store, consortium: Trials, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A part that is computed and not released may be one of several, of which owners could get two."""
    manifest = consortium.manifest
    service = owners_service(NodeKit.read(consortium.kit("proxy-0")), store)

    async def participant(_: web.Request) -> tuple[StudyRecord, str]:
        (study,) = store.studies()
        return study, "north"

    monkeypatch.setattr(service, "_participant", participant)

    def fetched() -> web.Response:
        return asyncio.run(service._release(make_mocked_request("GET", "/")))

    for owner in OWNERS:
        kept_share(store, manifest, owner)
    (study,) = store.studies()
    agreed = tuple(one.submitted for one in store.submissions(study))
    store.begin_attempt(manifest.hash, 1, agreed)
    store.computed(manifest.hash, 1, {owner: part(np.arange(4)) for owner in OWNERS})
    with pytest.raises(RequestRefusedError) as refused:
        fetched()
    assert refused.value.code == "not-released"
    store.release(manifest.hash, 1)
    body = fetched().body
    assert isinstance(body, bytes)
    assert from_json(ReleasedPart, body).part == part(np.arange(4))
