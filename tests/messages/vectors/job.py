"""job.json: jobs, their canonical texts and their hashes."""

from __future__ import annotations

import json

from ppaurora.algorithms.curve import MOST_SAMPLES
from ppaurora.models import canonical_json, from_json
from ppaurora.protocols import Fast, Paper
from ppaurora.terms import Job, Limits, ReleaseTerms, Terms
from tests.messages.vectors.file import Bad, Entry, VectorFile
from tests.messages.vectors.seeds import seed
from tests.messages.vectors.spoiling import MISSING, Fault, spoilt

WHAT = """
Jobs: what is computed, on how many samples of each owner. `text` is the job's JSON with every field
written out, sorted and without blanks; `study` what the job is bound to besides, or nothing; `hash` the
SHA-256 of "ppaurora job", a zero byte, the SHA-256 of the study, and the text in UTF-8. `study` and
`hash` are in hexadecimal.
"""

FAST = Job(terms=Terms(metrics=("auroc", "aupr"), protocol=Fast(key_bits=32)), sizes=(5, 3, 2))
PAPER = Job(
    terms=Terms(
        metrics=("ap",),
        protocol=Paper(delta=3),
        limits=Limits(samples_per_owner=5000, attempts=3),
        release=ReleaseTerms(minimum_samples=100, minimum_samples_per_owner=20, retention_days=7),
    ),
    sizes=(1000, 20),
)
LARGEST = Job(
    terms=Terms(metrics=("auroc_no_ties",), limits=Limits(samples_per_owner=MOST_SAMPLES)),
    sizes=(MOST_SAMPLES - 1, 1),
)
JOBS = {
    "fast": (FAST, b""),
    "fast in a study": (FAST, seed("a study")),
    "paper": (PAPER, b""),
    "paper in a study": (PAPER, seed("a study")),
    "as many samples as there may be": (LARGEST, b""),
}


def make() -> list[Entry]:
    return [
        {
            "name": name,
            "text": canonical_json(job).decode(),
            "study": study.hex(),
            "hash": job.hash(study).hex(),
        }
        for name, (job, study) in JOBS.items()
    ]


def check(vector: Entry) -> None:
    job = from_json(Job, vector["text"])
    assert canonical_json(job).decode() == vector["text"]
    assert job.hash(bytes.fromhex(vector["study"])).hex() == vector["hash"]


def take(bad: Entry) -> object:
    return from_json(Job, bad["text"])


FAULTS: tuple[Fault, ...] = (
    ("an unknown field", "unknown field", "colour", "blue"),
    ("an unknown field of the terms", "unknown field", "terms.delta", 3),
    ("no sizes", "missing", "sizes", MISSING),
    ("no terms", "missing", "terms", MISSING),
    ("a size that is a text", "Expected `int`", "sizes.0", "1000"),
    ("a size with a decimal point", "Expected `int`", "sizes.0", 1000.0),
    ("a size that is a truth value", "Expected `int`", "sizes.0", True),
    ("one owner", "at least two owners", "sizes", [1000]),
    ("an owner without samples", "at least one sample", "sizes.1", 0),
    ("a negative size", "at least one sample", "sizes.1", -20),
    ("more samples than can be computed with", "too many", "sizes.0", MOST_SAMPLES),
    ("a size far beyond 64 bits", "too many", "sizes.0", 10**30),
    ("more samples than an owner may have", "more than 5,000", "sizes.0", 5001),
    ("fewer samples than an owner must have", "fewer than 20", "sizes.1", 19),
    ("fewer samples than needed in all", "in all", "sizes", [50, 49]),
    ("an unknown metric", "unknown metric", "terms.metrics", ["f1"]),
    ("a metric twice", "more than once", "terms.metrics", ["ap", "ap"]),
    ("no metric", "no metric", "terms.metrics", []),
    ("an unknown protocol", "unknown protocol", "terms.protocol.name", "slow"),
    ("a parameter of another protocol", "key_bits", "terms.protocol.key_bits", 64),
    ("an even delta", "odd", "terms.protocol.delta", 2),
    ("a delta that is a text", "int", "terms.protocol.delta", "3"),
    ("keys of 48 bits", "32 or 64", "terms.protocol", {"name": "fast", "key_bits": 48}),
    ("too many attempts", "<= 1000", "terms.limits.attempts", 1001),
)


def spoil() -> list[Bad]:
    text = canonical_json(PAPER).decode()
    refused = [
        Bad(why, ValueError, says, {"text": canonical_json(content).decode()})
        for why, says, content in spoilt(json.loads(text), FAULTS)
    ]
    return [*refused, Bad("cut off", ValueError, "truncated", {"text": text[:-1]})]


FILE = VectorFile("job", WHAT, make, spoil, check, take)
