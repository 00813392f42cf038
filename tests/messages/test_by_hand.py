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
from fractions import Fraction
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
    assert sha256(b"ppaurora manifest\0", vector["text"].encode()).hex() == vector["hash"]
    for key, value in vector["content"].items():
        if not isinstance(value, dict | list):
            assert content[key] == value


@vectors("job")
def test_jobs(vector: dict[str, Any]) -> None:
    text = json.dumps(json.loads(vector["text"]), sort_keys=True, separators=(",", ":"))
    assert text == vector["text"]
    study = sha256(bytes.fromhex(vector["study"]))
    assert sha256(b"ppaurora job\0", study, text.encode()).hex() == vector["hash"]


@vectors("study")
def test_studies(vector: dict[str, Any]) -> None:
    content = json.loads(vector["manifest"])
    hash_ = sha256(b"ppaurora manifest\0", vector["manifest"].encode()).hex()
    bound_to = [content["version"], hash_, vector["agreed"]]
    study = json.dumps(bound_to, sort_keys=True, separators=(",", ":"))
    assert study == vector["study"]
    terms = {name: content[name] for name in ("limits", "metrics", "protocol", "release")}
    job = {"sizes": [one["samples"] for one in vector["agreed"]], "terms": terms}
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
            assert rest[:4] == b"PPA2"
            rest = rest[32 + int.from_bytes(rest[28:32], "big") :]
        return
    header = vector["header"]
    numbers = [header[name].to_bytes(4, "big") for name in ("depth", "sequence", "length")]
    packed = b"PPA2" + numbers[0] + bytes.fromhex(header["session"]) + numbers[1] + numbers[2]
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


@vectors("input_shares_fast")
def test_input_shares_of_fast(vector: dict[str, Any]) -> None:
    bits, size = vector["protocol"]["key_bits"], len(vector["scores"])
    check_sorted(vector, [fast_key(score, bits) for score in vector["scores"]])
    check_commitments(vector)
    first, second = (bytes.fromhex(share) for share in vector["shares"])
    assert first == stream(bytes.fromhex(vector["stream_key"]), len(first))
    planes = [one ^ other for one, other in zip(words(first), words(second), strict=True)]
    per_plane = -(-size // 64)
    assert len(planes) == (bits + 1) * per_plane
    for record in range(size):
        bit = [planes[plane * per_plane + record // 64] >> (record % 64) & 1 for plane in range(bits + 1)]
        assert f"{int(''.join(map(str, bit[:-1])), 2):016x}" == vector["keys"][record]
        assert bit[-1] == vector["sorted_labels"][record]


@vectors("input_shares_paper")
def test_input_shares_of_paper(vector: dict[str, Any]) -> None:
    size = len(vector["scores"])
    check_sorted(
        vector, [struct.unpack(">Q", struct.pack(">d", score + 0.0))[0] for score in vector["scores"]]
    )
    check_commitments(vector)
    first, second = (bytes.fromhex(share) for share in vector["shares"])
    drawn = bytearray(stream(bytes.fromhex(vector["stream_key"]), len(first)))
    drawn[-1] &= 0xFF >> (-size % 8)
    assert first == drawn
    keys = zip(words(first[: 8 * size]), words(second[: 8 * size]), strict=True)
    assert [f"{(one + other) % WORD:016x}" for one, other in keys] == vector["keys"]
    bits = [one ^ other for one, other in zip(first[8 * size :], second[8 * size :], strict=True)]
    assert [bits[record // 8] >> (record % 8) & 1 for record in range(size)] == vector["sorted_labels"]


@pytest.mark.parametrize("name", ["fast", "paper"])
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
        values_end = 1 + len(vector["metrics"])
        values = [math.ldexp(mantissa, -exponent) for mantissa, exponent in columns[1:values_end]]
        if [0, 0] in columns[values_end:]:
            expected: dict[str, Any] = {"error": "UnsortedListError"}
        elif columns[0] == [0, 0]:
            expected = {"error": "UndefinedResultError"}
        else:
            expected = {"values": dict(zip(vector["metrics"], values, strict=True))}
        assert vector["outcome"] == expected


@vectors("run")
def test_runs_give_the_metrics_of_the_pooled_samples(vector: dict[str, Any]) -> None:
    pooled = [
        sample for owner in vector["owners"] for sample in zip(owner["scores"], owner["labels"], strict=True)
    ]
    exact: dict[str, Fraction | None] = {
        "auroc": exact_auroc(pooled),
        "aupr": exact_aupr(pooled),
        "ap": exact_average_precision(pooled),
    }
    for name, value in vector["values"].items():
        assert value == pytest.approx(float(defined(exact[name])), abs=2**-30)


@pytest.mark.parametrize("name", ["process", "owners", "nodes"])
def test_messages_are_json_without_blanks(name: str) -> None:
    for vector in json.loads((ROOT / f"test_vectors/{name}.json").read_text(encoding="utf-8"))["vectors"]:
        if "line" in vector:
            content = json.loads(vector["line"])
            assert json.dumps(content, ensure_ascii=False, separators=(",", ":")) == vector["line"]
