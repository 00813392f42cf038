"""Messages of nodes and owners are taken strictly: what is unknown, out of bounds or misspelt is refused."""

from __future__ import annotations

import json

import pytest

from ppaurora.io.models import from_json, to_json
from ppaurora.messages.nodes import (
    Answer,
    AnyQuestion,
    Begin,
    Hello,
    Outcome,
    Ready,
    Release,
    Rendezvous,
    Stop,
    Verdict,
)
from ppaurora.messages.owners import Offer, Submitted

DIGEST = "0" * 64
SUBMITTED = Submitted(owner="north", samples=5, commitments=(DIGEST, DIGEST))
QUESTIONS: list[AnyQuestion] = [
    Hello(study=DIGEST),
    Ready(study=DIGEST, agreed=(SUBMITTED,)),
    Begin(study=DIGEST, attempt=1, token="0" * 32, agreed=(SUBMITTED,), workers=2),
    Rendezvous(study=DIGEST, attempt=1, placements=()),
    Outcome(study=DIGEST, attempt=1),
    Release(study=DIGEST, attempt=1, statements=()),
    Stop(study=DIGEST, note="look"),
]


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda question: type(question).__name__)
def test_questions_come_back_as_they_were(question: AnyQuestion) -> None:
    line = to_json(question)
    assert json.loads(line)["ask"] == type(question).__name__.lower()
    assert from_json(AnyQuestion, line) == question
    with pytest.raises(ValueError, match="unknown field"):
        from_json(AnyQuestion, to_json({**json.loads(line), "more": 1}))
    for missing in set(json.loads(line)) - {"ask"}:
        with pytest.raises(ValueError, match="missing required field"):
            from_json(AnyQuestion, to_json({k: v for k, v in json.loads(line).items() if k != missing}))


@pytest.mark.parametrize(
    "line",
    [
        {},
        {"ask": "hello"},
        {"ask": "hello", "study": "0" * 63},
        {"ask": "hello", "study": DIGEST + "\n"},
        {"ask": "dance", "study": DIGEST},
        {"ask": ["release"], "study": DIGEST},
        {"ask": "outcome", "study": DIGEST, "attempt": "first"},
        {"ask": "outcome", "study": DIGEST, "attempt": "1"},
        {"ask": "outcome", "study": DIGEST, "attempt": True},
        {"ask": "outcome", "study": DIGEST, "attempt": -1},
        {"ask": "outcome", "study": DIGEST, "attempt": 1_000_000_001},
        {"ask": "outcome", "study": DIGEST, "attempt": 1 << 70},
        {"ask": "begin", "study": DIGEST, "attempt": 1, "agreed": [], "token": "0" * 32, "workers": 65},
        {"ask": "begin", "study": DIGEST, "attempt": 1, "agreed": [], "token": "0" * 31, "workers": 1},
        {"ask": "begin", "study": DIGEST, "attempt": 1, "agreed": [], "token": "0" * 32 + "\n", "workers": 1},
        {"ask": "begin", "study": DIGEST, "attempt": 1, "agreed": [], "token": "G" * 32, "workers": 1},
        {"ask": "ready", "study": DIGEST, "agreed": [{"owner": "north", "samples": 5}]},
        {"ask": "ready", "study": DIGEST, "agreed": 5},
    ],
    ids=lambda line: json.dumps(line)[:60],
)
def test_what_is_no_question_is_refused(line: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=r"."):
        from_json(AnyQuestion, json.dumps(line))


def test_an_answer_has_one_of_the_known_verdicts() -> None:
    answer = Answer(answer=Verdict.READY, last=3)
    assert from_json(Answer, to_json(answer)) == answer
    for wrong in ('{"answer": "perhaps"}', '{"answer": "ready", "last": -1}', '{"note": "x"}', "[]"):
        with pytest.raises(ValueError, match=r"."):
            from_json(Answer, wrong)


def test_an_offer_has_whole_commitments() -> None:
    offer = Offer(samples=5, commitments=(DIGEST,))
    assert from_json(Offer, to_json(offer)) == offer
    for commitment in ("0" * 63, "G" * 64, DIGEST + "\n", DIGEST.replace("0", "A")):
        with pytest.raises(ValueError, match=r"."):
            from_json(Offer, to_json(Offer(samples=5, commitments=(commitment,))))
