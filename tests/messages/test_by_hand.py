"""The vectors again, by an implementation that shares no code with the package.

It is what somebody would write in another language from what the files say: standard library, X25519 and AES.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import math
import struct
from collections.abc import Iterable
from fractions import Fraction
from itertools import pairwise, product
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

from tests.support.oracles import defined, exact_aupr, exact_auroc, exact_average_precision
from tests.support.repository import ROOT

WORD = 1 << 64


def vectors(name: str) -> pytest.MarkDecorator:
    found = json.loads((ROOT / "test_vectors" / f"{name}.json").read_text(encoding="utf-8"))["vectors"]
    return pytest.mark.parametrize("vector", found, ids=lambda vector: vector["name"])


def sha256(*parts: bytes) -> bytes:
    return hashlib.sha256(b"".join(parts)).digest()


def hmac_sha256(key: bytes, content: bytes) -> bytes:
    return hmac.new(key, content, "sha256").digest()


def stream(key: bytes, count: int) -> bytes:
    """The first bytes of AES-256 in counter mode."""
    return Cipher(algorithms.AES(key), modes.CTR(bytes(16))).encryptor().update(bytes(count))


def words(raw: bytes) -> list[int]:
    return list(struct.unpack(f"<{len(raw) // 8}Q", raw))


@vectors("manifest")
def test_manifests(vector: dict[str, Any]) -> None:
    content = json.loads(vector["text"])
    assert json.dumps(content, indent=2, sort_keys=True, ensure_ascii=False) + "\n" == vector["text"]
    assert sha256(vector["text"].encode()).hex() == vector["hash"]
    for key, value in vector["content"].items():
        if not isinstance(value, dict | list):
            assert content[key] == value


@vectors("job")
def test_jobs(vector: dict[str, Any]) -> None:
    text = json.dumps(json.loads(vector["text"]), sort_keys=True, separators=(",", ":"))
    assert text == vector["text"]
    study = sha256(bytes.fromhex(vector["study"]))
    assert sha256(b"ppaurora job\0", study, text.encode()).hex() == vector["hash"]


def strictest(rules: list[dict[str, Any]]) -> dict[str, Any]:
    """Of a policy and floors, of which none asks for a minimum of every owner."""
    found: dict[str, Any] = {
        name: max(one[name] for one in rules if name in one) for name in rules[0] if name.startswith("min")
    }
    found["largest_owner_fraction"] = min(one["largest_owner_fraction"] for one in rules)
    found["counts"] = next(
        word for word in ("hidden", "rounded", "exact") if word in [one["counts"] for one in rules]
    )
    numbers = [one["digits"] for one in rules if one["digits"] != "exact"]
    found["digits"] = min(numbers) if numbers else "exact"
    policy, *floors = rules
    above = any(one["minimum_per_cell"] > policy["minimum_per_cell"] for one in floors)
    return policy | found | {"whole_tables": policy["whole_tables"] or above}


@vectors("study")
def test_studies(vector: dict[str, Any]) -> None:
    content = json.loads(vector["manifest"])
    hash_ = sha256(vector["manifest"].encode()).hex()
    bound_to = [content["version"], hash_, vector["agreed"]]
    study = json.dumps(bound_to, sort_keys=True, separators=(",", ":"))
    assert study == vector["study"]
    sizes = [one["samples"] for one in vector["agreed"]]
    floors = [one["floors"] for one in vector["agreed"]]
    terms = {**content["terms"], "policy": strictest([content["terms"]["policy"], *floors])}
    negated = content["evaluation"]["score_direction"] == "lower"
    job = {"sizes": sizes, "terms": terms, "negated": negated}
    text = json.dumps(job, sort_keys=True, separators=(",", ":"))
    assert sha256(b"ppaurora job\0", sha256(study.encode()), text.encode()).hex() == vector["job_hash"]
    assert vector["attempt_name"] == f"{vector['token']}.job.ppaurora"


@vectors("session")
def test_sessions(vector: dict[str, Any]) -> None:
    privates = [X25519PrivateKey.from_private_bytes(bytes.fromhex(key)) for key in vector["private_keys"]]
    publics = [private.public_key().public_bytes_raw() for private in privates]
    sent = [bytes.fromhex(nonce) + public for nonce, public in zip(vector["nonces"], publics, strict=True)]
    start = bytes.fromhex(vector["job_hash"]) + vector["attempt"].to_bytes(8, "big")
    assert [(start + one).hex() for one in sent] == vector["hellos"]
    salt = sha256(start, *sent)
    assert sha256(b"ppaurora session\0", salt).hex()[:32] == vector["session"]
    for pair, key in vector["keys"].items():
        one, other = map(int, pair.split())
        secret = privates[one].exchange(X25519PublicKey.from_public_bytes(publics[other]))
        assert hmac_sha256(hmac_sha256(salt, secret), f"ppaurora pair key {pair}\1".encode()).hex() == key
    for opened in vector["streams"]:
        info = f"ppaurora stream\0{opened['label']}\1".encode()
        key = hmac_sha256(bytes.fromhex(vector["keys"][opened["key"]]), info)
        first = words(stream(key, 8 * len(opened["words"])))
        assert [f"{word:016x}" for word in first] == opened["words"]


@vectors("frame")
def test_frames(vector: dict[str, Any]) -> None:
    if "stream" in vector:
        rest = bytes.fromhex(vector["stream"])
        while rest:
            assert rest[:4] == b"PPA8"
            rest = rest[32 + int.from_bytes(rest[28:32], "big") :]
        return
    header = vector["header"]
    numbers = [header[name].to_bytes(4, "big") for name in ("depth", "sequence", "length")]
    packed = b"PPA8" + numbers[0] + bytes.fromhex(header["session"]) + numbers[1] + numbers[2]
    assert packed.hex() == vector["packed"]


def check_commitments(vector: dict[str, Any]) -> None:
    for salt, share, commitment in zip(vector["salts"], vector["shares"], vector["commitments"], strict=True):
        assert sha256(bytes.fromhex(salt), bytes.fromhex(share)).hex() == commitment


def check_sorted(vector: dict[str, Any], keys: list[int]) -> None:
    order = sorted(range(len(keys)), key=lambda place: -keys[place])  # keeps the order of equal ones
    assert [f"{keys[place]:016x}" for place in order] == vector["keys"]
    assert [vector["labels"][place] for place in order] == vector["sorted_labels"]


def fast_key(score: float, bits: int) -> int:
    """Sign and magnitude as a number that grows with the score."""
    packed = struct.pack(">d", score + 0.0) if bits == 64 else struct.pack(">f", score + 0.0)
    pattern = int.from_bytes(packed, "big")
    return (1 << bits) - 1 - pattern if pattern >> (bits - 1) else pattern + (1 << (bits - 1))


def counts(raw: bytes) -> list[int]:
    return list(struct.unpack(f"<{len(raw) // 4}I", raw))


def steps_on_grid(number: float, grid: dict[str, Any]) -> int:
    """The number in units of the last decimal; Python rounds half to even."""
    steps: int = round(number * 10 ** grid["decimals"])
    return steps


def check_table(vector: dict[str, Any], grid: dict[str, Any], seed: bytes, rest: bytes) -> None:
    """Both shares of a table, and the counts of samples that are in it."""
    first, last = (steps_on_grid(grid[end], grid) for end in ("low", "high"))
    read = [steps_on_grid(score, grid) for score in vector["scores"]]
    samples = list(zip(read, vector["labels"], strict=True))
    table = [samples.count((value, label)) for label in (1, 0) for value in range(first, last + 1)]
    assert table == vector["positives"] + vector["negatives"]
    assert sum(table) == len(samples)
    pad = counts(stream(seed, 4 * len(table)))
    assert [(one + other) % 2**32 for one, other in zip(pad, counts(rest), strict=True)] == table


def check_sums(vector: dict[str, Any], shares: list[bytes]) -> int:
    """How many there are behind the lists."""
    samples = list(zip(vector["scores"], vector["labels"], strict=True))
    sums = [total for metric in vector["metrics"] for total in owner_sums(metric, samples).items()]
    sums += beside_thresholds(vector["metrics"], samples).items()
    assert list(dict(sums).values()) == vector["sums"]
    if sums:
        behind = [words(share[-8 * len(vector["sums"]) :]) for share in shares]
        assert [(one + other) % WORD for one, other in zip(*behind, strict=True)] == vector["sums"]
    return len(vector["sums"])


def owner_sums(metric: Any, samples: list[tuple[float, int]]) -> dict[tuple[Any, ...], int]:
    """By what they are, so that those of two metrics are the same."""
    name, parameters = (metric, {}) if isinstance(metric, str) else (metric["name"], metric)
    if name == "brier":
        return {("squares",): in_steps((score - label) ** 2 for score, label in samples)}
    if name in ("observed_expected", "calibration_in_the_large"):
        return {("scores",): in_steps(score for score, _ in samples)}
    found: dict[tuple[Any, ...], int] = {}
    for threshold in parameters.get("thresholds", ()):
        for label in (1, 0):
            found[threshold, label] = sum(one == label and score >= threshold for score, one in samples)
    edges = parameters.get("bins", ())
    for low, high in pairwise(edges):
        if name == "reliability":
            inside = [one for one in samples if low < one[0] <= high or one[0] == low == edges[0]]
            found[name, low, "samples"] = len(inside)
            found[name, low, "positives"] = sum(label for _, label in inside)
            found[name, low, "scores"] = in_steps(score for score, _ in inside)
        else:
            inside = [one for one in samples if low <= one[0] < high or one[0] == high == edges[-1]]
            found[name, low, "positives"] = sum(label for _, label in inside)
            found[name, low, "negatives"] = sum(1 - label for _, label in inside)
    return found


def beside_thresholds(
    metrics: list[Any], samples: list[tuple[float, int]]
) -> dict[tuple[float, tuple[float, bool]], int]:
    """Between every threshold and the edges of bins beside it; by both, an edge with whether its bin has it
    as its upper end."""
    tables = [metric for metric in metrics if isinstance(metric, dict)]
    thresholds = sorted({one for table in tables for one in table.get("thresholds", ())})
    found = {}
    for threshold, table in product(thresholds, tables):
        bins = table.get("bins", ())
        if table["name"] == "reliability":
            edges = [(edge, True) for edge in bins[1:-1]]
        else:
            edges = [(edge, edge == bins[-1]) for edge in bins]
        same = [edge for edge in edges if edge[0] == threshold]
        near = [edge for edge in edges if edge[0] < threshold][-1:]
        near += [edge for edge in edges if edge[0] > threshold][:1]
        for edge, is_upper_end in same or near:
            between = [
                score
                for score, _ in samples
                if (score >= threshold) != (score > edge if is_upper_end else score >= edge)
            ]
            found[threshold, (edge, is_upper_end)] = len(between)
    return found


def in_steps(numbers: Iterable[float]) -> int:
    """Their sum, rounded once."""
    return round(sum(map(Fraction, numbers), Fraction(0)) * 2**32)


@vectors("input_shares_fast")
def test_input_shares_of_fast(vector: dict[str, Any]) -> None:
    bits, size = vector["protocol"]["key_bits"], len(vector["scores"])
    check_sorted(vector, [fast_key(score, bits) for score in vector["scores"]])
    check_commitments(vector)
    first, second = (bytes.fromhex(share) for share in vector["shares"])
    assert first == stream(bytes.fromhex(vector["stream_key"]), len(first))
    grid = vector["protocol"].get("grid")
    if grid is not None:
        cells = len(vector["positives"])
        check_table(vector, grid, first[-32:], second[-8 * cells :])
        first, second = first[:-32], second[: -8 * cells]
    sums = check_sums(vector, [first, second])
    first, second = first[: len(first) - 8 * sums], second[: len(second) - 8 * sums]
    planes = [one ^ other for one, other in zip(words(first), words(second), strict=True)]
    per_plane = -(-size // 64)
    assert len(planes) == (bits + 1) * per_plane
    for record in range(size):
        bit = [planes[plane * per_plane + record // 64] >> (record % 64) & 1 for plane in range(bits + 1)]
        assert f"{int(''.join(map(str, bit[:-1])), 2):016x}" == vector["keys"][record]
        assert bit[-1] == vector["sorted_labels"][record]


@vectors("input_shares_grid")
def test_input_shares_of_grid(vector: dict[str, Any]) -> None:
    check_commitments(vector)
    first, second = (bytes.fromhex(share) for share in vector["shares"])
    assert first == stream(bytes.fromhex(vector["stream_key"]), 32)
    check_table(vector, vector["protocol"], first, second)


@vectors("input_shares_paper")
def test_input_shares_of_paper(vector: dict[str, Any]) -> None:
    size = len(vector["scores"])
    check_sorted(
        vector, [struct.unpack(">Q", struct.pack(">d", score + 0.0))[0] for score in vector["scores"]]
    )
    check_commitments(vector)
    first, second = (bytes.fromhex(share) for share in vector["shares"])
    assert check_sums(vector, [first, second]) == 0
    drawn = bytearray(stream(bytes.fromhex(vector["stream_key"]), len(first)))
    drawn[-1] &= 0xFF >> (-size % 8)
    assert first == drawn
    keys = zip(words(first[: 8 * size]), words(second[: 8 * size]), strict=True)
    assert [f"{(one + other) % WORD:016x}" for one, other in keys] == vector["keys"]
    bits = [one ^ other for one, other in zip(first[8 * size :], second[8 * size :], strict=True)]
    assert [bits[record // 8] >> (record % 8) & 1 for record in range(size)] == vector["sorted_labels"]


@pytest.mark.parametrize("name", ["fast", "grid", "paper"])
def test_results(name: str) -> None:
    for vector in json.loads((ROOT / f"test_vectors/result_{name}.json").read_text())["vectors"]:
        parts = [words(bytes.fromhex(part)) for part in vector["parts"]]
        assert vector["json"] == [
            json.dumps(base64.b64encode(bytes.fromhex(part)).decode()) for part in vector["parts"]
        ]
        assert parts[0] == words(stream(bytes.fromhex(vector["stream_key"]), 8 * len(parts[0])))
        whole = [(one + other) % WORD for one, other in zip(*parts, strict=True)]
        columns = [[whole[place], whole[place + len(whole) // 2]] for place in range(len(whole) // 2)]
        assert columns == vector["columns"]
        assert vector["outcome"] == learnt(json.loads(vector["job"]), columns)


Row = tuple[str, str, bool]  # a metric, one of its numbers, and whether it may be missing by itself


def released_numbers(job: dict[str, Any]) -> list[Row]:
    """All numbers that leave, in their order."""
    terms = job["terms"]
    told = terms["policy"]["counts"] != "hidden"
    withheld = terms["policy"]["minimum_per_cell"] > 1
    found: list[Row] = [("", "positives", False)] if told else []
    for metric in terms["metrics"]:
        name = metric if isinstance(metric, str) else metric["name"]
        numbers = [name]
        if name == "auroc" and terms["protocol"]["name"] == "grid":
            numbers.append("grid_bound")
        if name in WITH_STANDARD_ERRORS and terms["confidence_level"] is not None:
            numbers.append("standard_error")
        if name == "ppv" and told:
            numbers.append("called_positive")
        rows = [()] if isinstance(metric, str) else metric["thresholds"]
        by_itself = not isinstance(metric, str) and withheld
        found += [
            (name, number, by_itself or (name, number) in CONDITIONAL) for _ in rows for number in numbers
        ]
    return found


WITH_STANDARD_ERRORS = ("auroc", "brier", "observed_expected", "calibration_in_the_large", "net_benefit")
CONDITIONAL = (
    ("auroc", "standard_error"),
    ("observed_expected", "observed_expected"),
    ("observed_expected", "standard_error"),
    ("ppv", "ppv"),
    ("ppv", "called_positive"),
)


def read_number(job: dict[str, Any], metric: str, number: str, mantissa: int, exponent: int) -> float:
    policy = job["terms"]["policy"]
    if number in ("positives", "called_positive"):
        return mantissa * (5 if policy["counts"] == "rounded" else 1)
    signed = mantissa - WORD if mantissa >= WORD // 2 else mantissa
    if policy["digits"] != "exact":
        small = metric in ("brier", "calibration_in_the_large", "net_benefit")
        digits = policy["digits"] + small + (number == "standard_error")
        if policy["counts"] == "hidden" and metric in ("ppv", "sensitivity"):
            digits = min(digits, 2)
        rounded = float(Fraction(signed, 10**digits))
        return rounded + 0.5 * 10**-digits if number == "grid_bound" else rounded
    value = math.ldexp(signed, (7 if metric == "observed_expected" else 0) - exponent)
    return math.sqrt(value) if number == "standard_error" else value


def learnt(job: dict[str, Any], columns: list[list[int]]) -> dict[str, Any]:
    numbers = released_numbers(job)
    released, rest = columns[0], columns[1 + len(numbers) :]
    flags = iter(rest)
    values = []
    for (metric, number, conditional), (mantissa, exponent) in zip(numbers, columns[1:], strict=False):
        there = next(flags)[0] if conditional else released[0]
        value = read_number(job, metric, number, mantissa, exponent) if there == 1 else None
        values.append((metric, number, value))
    of_owners = list(flags)
    assert len(of_owners) == (0 if job["terms"]["protocol"]["name"] == "paper" else len(job["sizes"]))
    if [0, 0] in of_owners:
        return {"error": "UnsortedListError"}
    if released == [0, 0]:
        policy = job["terms"]["policy"]
        has_floors = policy["minimum_positives"] or policy["minimum_negatives"]
        return {"suppressed": True} if has_floors else {"error": "UndefinedResultError"}
    return in_words(values)


def in_words(values: list[tuple[str, str, float | None]]) -> dict[str, Any]:
    outcome: dict[str, Any] = {"values": {}}
    for metric, number, value in values:
        if number == "positives":
            outcome["positives"] = value
        elif number == "standard_error":
            if value is not None:
                outcome.setdefault("standard_errors", {})[metric] = value
        elif number == "grid_bound":
            outcome.setdefault("grid_bounds", {})[metric] = value
        elif metric in ("ppv", "sensitivity"):
            rows = outcome["values"].setdefault(metric, [])
            if number == metric:
                rows.append({})
            rows[-1][number] = value
        else:
            outcome["values"][metric] = value
    return outcome


@vectors("run")
def test_runs_give_what_their_parts_say(vector: dict[str, Any]) -> None:
    """Every recipient's."""
    job = json.loads(vector["job"])
    for recipient in zip(*vector["parts"], strict=True):
        parts = [words(bytes.fromhex(part)) for part in recipient]
        whole = [(one + other) % WORD for one, other in zip(*parts, strict=True)]
        columns = [[whole[place], whole[place + len(whole) // 2]] for place in range(len(whole) // 2)]
        assert learnt(job, columns) == vector["outcome"]


@vectors("run")
def test_runs_give_the_metrics_of_the_pooled_samples(vector: dict[str, Any]) -> None:
    """To as many digits as the policy gives; what it suppresses is in tests/messages/test_runs.py."""
    terms = json.loads(vector["job"])["terms"]
    samples = [
        sample for owner in vector["owners"] for sample in zip(owner["scores"], owner["labels"], strict=True)
    ]
    pooled = samples
    if terms["protocol"]["name"] == "grid":
        pooled = [(steps_on_grid(score, terms["protocol"]), label) for score, label in samples]
    exact: dict[str, Fraction | None] = {
        "auroc": exact_auroc(pooled),
        "aupr": exact_aupr(pooled),
        "ap": exact_average_precision(pooled),
    }
    policy = terms["policy"]
    steps = Fraction(1, 2**30) if policy["digits"] == "exact" else Fraction(1, 2 * 10 ** policy["digits"])
    values = vector["outcome"].get("values", {})
    assert values or vector["outcome"] == {"suppressed": True}
    for name in exact.keys() & values.keys():
        assert abs(Fraction(values[name]) - defined(exact[name])) <= steps + Fraction(1, 2**50)
    for name, bound in vector["outcome"].get("grid_bounds", {}).items():
        assert name == "auroc"
        moved = abs(defined(exact_auroc(pooled)) - defined(exact_auroc(samples)))
        assert moved <= bound <= Fraction(1, 2) + steps
