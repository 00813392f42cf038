"""job.json: jobs, their canonical texts and their hashes."""

from __future__ import annotations

import json

from ppaurora.agreement.terms import Job, Limits, Terms
from ppaurora.algorithms.curve import MOST_SAMPLES
from ppaurora.data.grid import Grid
from ppaurora.io.models import canonical_json, from_json
from ppaurora.metrics import METRICS, metrics_named
from ppaurora.policy.rules import MOST_DIGITS, Policy, Weights
from ppaurora.protocols import Fast, GridProtocol, Paper
from tests.messages.vectors.file import Bad, Entry, VectorFile
from tests.messages.vectors.seeds import seed
from tests.messages.vectors.spoiling import MISSING, Fault, spoilt

WHAT = """
Jobs: what is computed, on how many samples of each owner. `text` is the job's JSON with every field
written out, sorted and without blanks; `study` what the job is bound to besides, or nothing; `hash` the
SHA-256 of "ppaurora job", a zero byte, the SHA-256 of the study, and the text in UTF-8. `study` and
`hash` are in hexadecimal.
"""

FAST = Job(
    terms=Terms(metrics=metrics_named("auroc", "aupr"), protocol=Fast(key_bits=32), policy=Policy.exact()),
    sizes=(5, 3, 2),
)
STUDY = Job(terms=Terms(metrics=metrics_named("auroc", "aupr")), sizes=(60, 45, 40))
FULL = Job(
    terms=Terms(
        metrics=(
            METRICS["auroc"](),
            METRICS["sensitivity"](thresholds=(-1.5, 0.25, 40.0)),
            METRICS["partial_auroc"](max_fpr=0.1),
            METRICS["histogram"](bins=(0.0, 0.25, 1.0)),
            METRICS["reliability"](bins=(0.0, 0.25, 1.0)),
        ),
        confidence_level=0.9,
        protocol=Fast(key_bits=32),
        limits=Limits(samples_per_owner=2000, attempts=3, retention_days=7),
        policy=Policy.exact(
            minimum_owners=2,
            largest_owner_fraction=0.75,
            minimum_samples=100,
            minimum_samples_per_owner=20,
            minimum_positives=25,
            minimum_negatives=15,
            minimum_per_cell=5,
            digits=3,
            counts="rounded",
        ),
    ),
    sizes=(1000, 400),
)
PRIVATE = Job(
    terms=Terms(
        metrics=metrics_named("auroc", "brier"),
        policy=Policy.private(epsilon=1.5, rows_per_person=2, weights=Weights(auroc=3.0)),
    ),
    sizes=(60, 45),
)
PAPER = Job(
    terms=Terms(
        metrics=metrics_named("ap"),
        protocol=Paper(delta=3),
        limits=Limits(samples_per_owner=5000, attempts=3, retention_days=7),
        policy=Policy.exact(
            minimum_owners=2,
            largest_owner_fraction=1.0,
            minimum_samples=100,
            minimum_samples_per_owner=20,
            digits="exact",
        ),
    ),
    sizes=(1000, 20),
)
GRID = Job(
    terms=Terms(
        metrics=metrics_named("auroc", "ap"),
        confidence_level=0.95,
        protocol=GridProtocol(low=-5.0, high=40.0, decimals=2),
        limits=Limits(samples_per_owner=MOST_SAMPLES),
        policy=Policy.exact(),
    ),
    sizes=(1000, MOST_SAMPLES - 1000),
    negated=True,
)
TABLE = Job(
    terms=Terms(metrics=metrics_named("auroc"), protocol=Fast(key_bits=32, grid=Grid(decimals=3))),
    sizes=(60, 45, 40),
)
LARGEST = Job(
    terms=Terms(
        metrics=metrics_named("auroc_no_ties"),
        limits=Limits(samples_per_owner=MOST_SAMPLES),
        policy=Policy.exact(),
    ),
    sizes=(MOST_SAMPLES - 1, 1),
)
JOBS = {
    "fast": (FAST, b""),
    "fast in a study": (FAST, seed("a study")),
    "paper": (PAPER, b""),
    "paper in a study": (PAPER, seed("a study")),
    "grid, and lower scores are the more positive ones": (GRID, b""),
    "fast with a table beside the lists": (TABLE, b""),
    "the policy that studies have by default": (STUDY, b""),
    "a policy with noise": (PRIVATE, b""),
    "parameters of metrics, intervals, no default": (FULL, seed("a study")),
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
    ("an unknown metric", "unknown metric", "terms.metrics", ["f2"]),
    ("a metric twice", "more than once", "terms.metrics", ["ap", "ap"]),
    ("no metric", "no metric", "terms.metrics", []),
    ("an unknown protocol", "unknown protocol", "terms.protocol.name", "slow"),
    ("a parameter of another protocol", "key_bits", "terms.protocol.key_bits", 64),
    ("an even delta", "odd", "terms.protocol.delta", 2),
    ("a delta that is a text", "int", "terms.protocol.delta", "3"),
    ("keys of 48 bits", "32 or 64", "terms.protocol", {"name": "fast", "key_bits": 48}),
    ("too many attempts", "<= 1000", "terms.limits.attempts", 1001),
    ("intervals of a protocol that has none", "does not compute", "terms.confidence_level", 0.95),
    ("a metric of another protocol", "does not compute", "terms.metrics", ["brier"]),
)


# The same with a job that has a policy, intervals, and metrics with parameters.
_THRESHOLDS = "terms.metrics.1.thresholds"
FULL_FAULTS: tuple[Fault, ...] = (
    ("an unknown rule", "unknown field", "terms.policy.colour", "blue"),
    ("terms of a release, as there were once", "unknown field", "terms.release", {}),
    ("no decimals", ">= 1", "terms.policy.digits", 0),
    ("too many decimals", f"<= {MOST_DIGITS}", "terms.policy.digits", MOST_DIGITS + 1),
    ("decimals that are a fraction", "Expected `int | str`", "terms.policy.digits", 2.5),
    ("decimals in a word that there is not", "Invalid enum value", "terms.policy.digits", "many"),
    ("counts in a word that there is not", "Invalid enum value", "terms.policy.counts", "told"),
    ("a study of one owner", ">= 2", "terms.policy.minimum_owners", 1),
    ("a fraction of zero", "> 0", "terms.policy.largest_owner_fraction", 0.0),
    ("a fraction above one", "<= 1", "terms.policy.largest_owner_fraction", 1.01),
    ("fewer positives than none", ">= 0", "terms.policy.minimum_positives", -1),
    ("cells of no sample", ">= 1", "terms.policy.minimum_per_cell", 0),
    ("fewer owners than the policy asks for", "at least 3 owners", "terms.policy.minimum_owners", 3),
    ("an owner that is too large", "more than 0.75 of all", "sizes", [1201, 400]),
    ("a level in percent", "0.9 for 90 %", "terms.confidence_level", 90),
    ("a level of one", "both excluded", "terms.confidence_level", 1.0),
    ("a level that is a text", "Expected `float | null`", "terms.confidence_level", "0.9"),
    ("a metric that is a number", "a metric is", "terms.metrics.0", 7),
    ("a metric without a name", "unknown metric", "terms.metrics.1.name", MISSING),
    ("a metric without its parameters", "is missing", "terms.metrics.1", "sensitivity"),
    ("a parameter of another metric", "no such setting", "terms.metrics.1.bins", [0.0, 1.0]),
    ("a parameter of a metric that has none", "no such setting", "terms.metrics.0", {
        "name": "auroc", "max_fpr": 0.1,
    }),
    ("no thresholds", "length >= 1", _THRESHOLDS, []),
    ("a threshold twice", "increasing order", _THRESHOLDS, [0.5, 0.5]),
    ("thresholds that fall", "increasing order", _THRESHOLDS, [0.5, 0.25]),
    ("a threshold that is a text", "expected float", _THRESHOLDS, ["0.5"]),
    ("a rate of zero", "above 0", "terms.metrics.2.max_fpr", 0.0),
    ("a rate with too many decimals", "six decimals", "terms.metrics.2.max_fpr", 0.1234567),
    ("one edge", "length >= 2", "terms.metrics.3.bins", [0.5]),
    ("bins that do not reach from 0 to 1", "from 0 to 1", "terms.metrics.4.bins", [0.0, 0.5]),
    ("a metric twice, with two parameters", "more than once", "terms.metrics.2", {
        "name": "sensitivity", "thresholds": [0.75],
    }),
    ("a metric that tells counts, which are hidden", "tells numbers", "terms.policy.counts", "hidden"),
    ("a protocol that cannot round", "cannot round", "terms.protocol", {"name": "paper", "delta": 1}),
)  # fmt: skip

STUDY_FAULTS: tuple[Fault, ...] = (
    ("two owners, under the default policy", "at least 3 owners", "sizes", [60, 45]),
    ("an owner that is too large, under the default policy", "more than 0.5", "sizes", [482, 45, 40]),
    ("an owner with too few samples, under the default policy", "fewer than 20", "sizes", [60, 45, 19]),
    ("a kind of policy that there is not", "Invalid enum value", "terms.policy.kind", "public"),
    ("fewer positives than the policy's kind asks for", "stricter", "terms.policy.minimum_positives", 9),
    ("more decimals than the policy's kind has", "stricter", "terms.policy.digits", 4),
    ("decimals that are decided on inside, as there were once", "Invalid", "terms.policy.digits", "auto"),
    ("the most decimals, as there were once", "unknown field", "terms.policy.most_digits", 4),
    ("an epsilon without noise", "kind = 'private'", "terms.policy.epsilon", 1.0),
)

PRIVATE_FAULTS: tuple[Fault, ...] = (
    ("noise, and a floor on a secret", "withholds and rounds", "terms.policy.minimum_positives", 10),
    ("noise, and hidden counts", "withholds and rounds", "terms.policy.counts", "hidden"),
    ("noise that protects nobody", "<= 16", "terms.policy.epsilon", 17.0),
    ("a person without rows", ">= 1", "terms.policy.rows_per_person", 0),
    ("a weight of nothing", "> 0", "terms.policy.weights.auroc", 0.0),
    ("a weight of what is no mechanism", "unknown field", "terms.policy.weights.ap", 1.0),
)

_GRID = "terms.protocol"
GRID_FAULTS: tuple[Fault, ...] = (
    ("a direction that is a text", "Expected `bool`", "negated", "lower"),
    ("a direction that is a number", "Expected `bool`", "negated", 1),
    ("a grid without a range", "above low", f"{_GRID}.high", -5.0),
    ("a grid that ends between two values", "as many decimals", f"{_GRID}.high", 40.001),
    ("a grid of ten decimals", "a whole number from 0 to 9", f"{_GRID}.decimals", 10),
    ("a grid of too many values", "at most 1,048,576 values", f"{_GRID}.decimals", 6),
    ("decimals of a grid that are a text", "a whole number from 0 to 9", f"{_GRID}.decimals", "2"),
    ("a metric that takes equal scores apart", "no meaning", "terms.metrics", ["auroc_no_ties"]),
    (
        "a metric of probabilities, on a wider grid",
        "takes probabilities",
        "terms.metrics",
        ["brier"],
    ),
    ("a grid of another protocol", "no such setting", "terms.protocol.key_bits", 64),
)
TABLE_FAULTS: tuple[Fault, ...] = (
    ("a table on a grid that is a number", "expected object", f"{_GRID}.grid", 3),
    ("a table on a grid with too many values", "at most 1,048,576 values", f"{_GRID}.grid.decimals", 7),
    ("a table on a grid with an unknown field", "no such setting", f"{_GRID}.grid.steps", 7),
)


def spoil() -> list[Bad]:
    refused = [
        Bad(why, ValueError, says, {"text": canonical_json(content).decode()})
        for job, faults in (
            (PAPER, FAULTS),
            (FULL, FULL_FAULTS),
            (STUDY, STUDY_FAULTS),
            (PRIVATE, PRIVATE_FAULTS),
            (GRID, GRID_FAULTS),
            (TABLE, TABLE_FAULTS),
        )
        for why, says, content in spoilt(json.loads(canonical_json(job)), faults)
    ]
    text = canonical_json(PAPER).decode()
    return [*refused, Bad("cut off", ValueError, "truncated", {"text": text[:-1]})]


FILE = VectorFile("job", WHAT, make, spoil, check, take)
