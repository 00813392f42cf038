"""Whatever a dishonest node answers: owners and other nodes get one of our errors, with its exit code."""

from __future__ import annotations

import json
import shutil
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from ppaurora.data import check_samples
from ppaurora.errors import PeerError, PeerMisbehavedError, PpauroraError
from ppaurora.io.models import StrictModel, to_json
from ppaurora.messages.nodes import Answer, Hello, Verdict
from ppaurora.messages.owners import (
    Acknowledgement,
    Problem,
    Refusal,
    ReleasedPart,
    StudyStatus,
    Submitted,
)
from ppaurora.node.questions import ask
from ppaurora.owner.study import Study
from ppaurora.sharing.commitment import Salt
from ppaurora.study.kit import NodeKit
from tests.support.deployment import samples
from tests.support.false_nodes import Says, false_node, response
from tests.support.malformed import malformed
from tests.support.trials import PAIR, PROXY_0, PROXY_1, Trials, nothing_submitted, part

EXIT_CODES = {2, 3, 4}


@pytest.fixture(scope="module")
def quiet(tmp_path_factory: pytest.TempPathFactory) -> Trials:
    """A consortium whose nodes do not run; north's submission was cut off on its way to them."""
    trials = Trials(tmp_path_factory.mktemp("quiet"), PAIR)
    outbox = Study(trials.kit("north"))._outbox
    submission = outbox.prepare(check_samples("north", *samples(20, 1)))
    for server in (PROXY_0, PROXY_1):
        submission = outbox.leaves_for(submission, server)
    return trials


@pytest.fixture(scope="module")
def says(quiet: Trials) -> Iterator[Says]:
    """Both proxies say the same to owners."""
    with ExitStack() as nodes:
        speakers = [
            nodes.enter_context(false_node(quiet, name, quiet.addresses[name][0] or 0, b"\r\n\r\n"))
            for name in ("proxy-0", "proxy-1")
        ]

        def say(text: bytes) -> None:
            for speaker in speakers:
                speaker(text)

        yield say


def good_answer(kind: type[StrictModel], quiet: Trials) -> Any:
    """As plain JSON."""
    manifest, own = quiet.manifest, Study(quiet.kit("north")).submitted
    assert own is not None
    submissions = tuple(
        Submitted(owner=owner, samples=20, commitments=own.offer.commitments) for owner in PAIR
    )
    answers: dict[type[StrictModel], StrictModel] = {
        StudyStatus: nothing_submitted(manifest),
        Acknowledgement: Acknowledgement(
            study=manifest.hash,
            owner="north",
            samples=20,
            commitments=own.offer.commitments,
            revision=1,
            received_at=time.time(),
            server="proxy 1",
        ),
        ReleasedPart: ReleasedPart(
            study=manifest.hash,
            owner="north",
            attempt=1,
            protocol_version=manifest.version,
            submissions=submissions,
            part=part([0, 1, 2, 3]),
            salt=Salt(bytes(32)),
            statements=(),
        ),
        Refusal: Refusal(error=Problem(code="closed", message="the study is over")),
    }
    return json.loads(to_json(answers[kind]))


def outcome(call: Callable[[], object]) -> str:
    """What came of it: an answer, or the name of one of our errors. Anything else is raised."""
    raised: PpauroraError | None = None
    try:
        call()
    except PpauroraError as error:
        raised = error
    if raised is None:
        return "taken"
    assert raised.exit_code in EXIT_CODES, type(raised)
    assert len(str(raised)) < 2000
    return type(raised).__name__


def try_all(
    says: Says, kit: Path, answers: Iterator[bytes], use: Callable[[Study], object], status: str = "200 OK"
) -> Counter[str]:
    found: Counter[str] = Counter()
    for answer in answers:
        says(response(answer, status))
        found[outcome(lambda: use(Study(kit)))] += 1
        shutil.rmtree(kit / "inbox", ignore_errors=True)
    return found


def test_malformed_answers_to_what_was_submitted(quiet: Trials, says: Says) -> None:
    data = check_samples("north", *samples(20, 1))
    answers = malformed(good_answer(Acknowledgement, quiet))
    found = try_all(says, quiet.kit("north"), answers, lambda study: study.submit(data))
    assert found["PeerMisbehavedError"] > 100, found


@pytest.mark.parametrize(
    ("name", "instead"),
    [
        ("study", "0" * 64),
        ("owner", "harbour"),
        ("commitments", ["1" * 64, "2" * 64]),
        ("revision", 2),
    ],
)
def test_an_acknowledgement_of_something_else_is_none(
    quiet: Trials, says: Says, tmp_path: Path, name: str, instead: Any
) -> None:
    """An owner would take its share for stored where another one is."""
    shutil.copytree(quiet.kit("north"), tmp_path / "kit", ignore=shutil.ignore_patterns("outbox"))
    study, data = Study(tmp_path / "kit"), check_samples("north", *samples(20, 1))
    commitments = study._outbox.prepare(data).offer.commitments
    right = {**good_answer(Acknowledgement, quiet), "commitments": list(commitments)}
    says(response(json.dumps({**right, name: instead}).encode()))
    with pytest.raises(PeerMisbehavedError, match="acknowledged something else than was sent"):
        study.submit(data)
    says(response(json.dumps(right).encode()))
    assert study._outbox.is_complete(study.submit(data))


def test_malformed_answers_about_the_status(quiet: Trials, says: Says) -> None:
    """`status` says of a node that is not understood why it is not; `wait` goes on asking until the end."""
    answers = list(malformed(good_answer(StudyStatus, quiet)))
    found = try_all(says, quiet.kit("north"), iter(answers), lambda study: study.status())
    assert found == {"taken": len(answers)}
    waited = try_all(says, quiet.kit("north"), iter(answers[::97]), lambda study: study.wait(timeout=0))
    assert set(waited) == {"NotReleasedError"}, waited


def test_malformed_parts_of_a_result(quiet: Trials, says: Says) -> None:
    answers = malformed(good_answer(ReleasedPart, quiet))
    found = try_all(says, quiet.kit("north"), answers, lambda study: study.result())
    assert found["PeerMisbehavedError"] > 300, found
    assert not found["taken"], found


def test_malformed_refusals(quiet: Trials, says: Says) -> None:
    answers = malformed(good_answer(Refusal, quiet))
    found = try_all(says, quiet.kit("north"), answers, lambda study: study.result(), "409 no")
    assert set(found) == {"PeerMisbehavedError", "RefusedError"}, found


@pytest.mark.parametrize(
    "said",
    [
        b"HTTP/1.1 200 OK\r\n\r\n" + b" " * 1000,
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n-5\r\n" + b" " * 1000,
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nffffffffff\r\n" + b" " * 1000,
        b"HTTP/1.1 200 OK\r\nContent-Length: 99999999999999\r\n\r\n" + b" " * 1000,
        b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n" + b" " * 1000,
        b"HTTP/1.1 9999999 OK\r\n\r\n",
        b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 1000 + b"\r\n",
        b"HTTP/1.1 200 OK\r\nX: " + b"y" * 100_000 + b"\r\n\r\n",
        b"\xff\xfe" * 1000 + b"\r\n\r\n",
    ],
    ids=lambda said: f"{said[:60].decode('latin-1')!r}",
)
def test_answers_that_are_hardly_http(quiet: Trials, says: Says, said: bytes) -> None:
    says(said)
    with pytest.raises(PeerError):
        Study(quiet.kit("north")).result()


def test_malformed_answers_between_nodes(quiet: Trials) -> None:
    """Among them an attempt number that is null, a text, negative, or too large."""
    leader, manifest = NodeKit.read(quiet.kit("proxy-0")), quiet.manifest
    good = json.loads(to_json(Answer(answer=Verdict.READY, note="x", last=3, version="1")))
    found: Counter[str] = Counter()
    with false_node(quiet, "proxy-1", quiet.addresses["proxy-1"][1], b"\n") as say:
        for answer in malformed(good):
            say(answer.replace(b"\n", b"") + b"\n")
            found[outcome(lambda: ask(leader, manifest, PROXY_1, Hello(study=manifest.hash), 60))] += 1
    assert found["PeerMisbehavedError"] > 80, found
