"""Receipts: what nodes sign verifies from the file alone, and nothing else does."""

from __future__ import annotations

import copy
import hashlib
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed448, ed25519, rsa, x25519

import ppaurora
from ppaurora.credentials import signatures
from ppaurora.data.samples import check_samples
from ppaurora.errors import InputError, NotVerifiedError, ProtocolError
from ppaurora.messages.owners import HistoryEntry, HistoryEvent, SignedStatement
from ppaurora.node.statements import keep_statements
from ppaurora.node.store import Store
from ppaurora.owner import verifying
from ppaurora.owner.inbox import Inbox
from ppaurora.owner.study import Study
from ppaurora.study import receipt as receipts
from ppaurora.study.manifest import Manifest
from ppaurora.study.receipt import Receipt, sign_statement
from tests.support.deployment import NODES, samples
from tests.support.trials import PAIR, RunCommand, Trials

HEAD = (
    'metrics = ["auroc", "ap", { name = "sensitivity", thresholds = [0.0, 0.5] }]\nconfidence_level = 0.9\n'
)


@pytest.fixture(scope="module")
def study(running: Trials) -> Study:
    """Of north, with its result; what is asked for has numbers, intervals and a table."""
    running.study("receipts", head=HEAD, more='[evaluation]\nmodel = "alert"\nversion = "7"\n')
    studies = {owner: Study(running.kit(owner), "receipts") for owner in PAIR}
    for number, owner in enumerate(PAIR):
        studies[owner].submit(check_samples(owner, *samples(80, number)))
    studies["north"].wait(timeout=300)
    return studies["north"]


@pytest.fixture(scope="module")
def filed(study: Study) -> dict[str, Any]:
    """The receipt alone, and the result with its receipt, as JSON."""
    folder = study.kit.folder / "results"
    return {
        "receipt": json.loads((folder / "receipts.receipt.json").read_text()),
        "result": json.loads((folder / "receipts.json").read_text()),
    }


def tampered(content: Any) -> Iterator[tuple[str, Any]]:
    """The content with one thing changed, in every place: where, and the whole of it."""

    def places(part: Any, path: tuple[Any, ...]) -> Iterator[tuple[tuple[Any, ...], Any]]:
        yield path, part
        inner = part.items() if isinstance(part, dict) else enumerate(part) if isinstance(part, list) else ()
        for key, value in inner:
            yield from places(value, (*path, key))

    for path, part in places(content, ()):
        if not path:
            continue
        for changed in changes(part):
            whole = copy.deepcopy(content)
            at = whole
            for step in path[:-1]:
                at = at[step]
            if changed is MISSING:
                del at[path[-1]]
            else:
                at[path[-1]] = changed
            yield ".".join(map(str, path)), whole


MISSING = object()


def changes(part: Any) -> list[Any]:
    match part:
        case bool():
            return [not part, None, MISSING]
        case int() | float():
            return [part + 1, str(part), None, MISSING]
        case str():
            last = "B" if part.endswith("A") else "A"
            middle = len(part) // 2
            flipped = part[:middle] + ("0" if part[middle : middle + 1] != "0" else "1") + part[middle + 1 :]
            return [flipped, part[:-1] + last, part[:-1], part + "A", part + "\n", "", 7, MISSING]
        case None:
            return [0, "", MISSING]
        case list():
            return [part[:-1], [*part, part[-1]], part[::-1], {}, MISSING] if len(part) > 1 else [{}, MISSING]
        case dict():
            return [{**part, "more": 1}, [], MISSING]
    raise AssertionError(part)


def outcome(content: Any, folder: Path) -> str:
    """Why it is refused; nothing if it verifies."""
    path = folder / "tried.json"
    path.write_text(json.dumps(content))
    try:
        ppaurora.verify_receipt(path)
    except NotVerifiedError as error:
        return str(error).removeprefix(f"{path}: does not verify: ")
    return ""


@pytest.mark.parametrize("kind", ["receipt", "result"])
def test_it_verifies_from_the_file_alone(kind: str, filed: dict[str, Any], tmp_path: Path) -> None:
    assert outcome(filed[kind], tmp_path) == ""


@pytest.mark.parametrize("kind", ["receipt", "result"])
def test_each_field_in_turn_is_refused(kind: str, filed: dict[str, Any], tmp_path: Path) -> None:
    """But that the helper's statement may be missing, which is said; and lists of one order alone."""
    accepted, tried = [], 0
    for place, content in tampered(filed[kind]):
        if content == filed[kind]:
            continue  # a list that reads the same backwards
        tried += 1
        if not outcome(content, tmp_path):
            accepted.append(place)
    assert tried > 1000
    root = "" if kind == "receipt" else "receipt."
    assert accepted == [f"{root}statements", f"{root}statements.2"]
    # These two are the same: without the last statement.


@pytest.mark.parametrize("other", ["NaN", "Infinity", "-Infinity", "1e999", '"\\ud800"'])
def test_what_is_no_number_does_not_pass_for_a_withheld_one(
    other: str, study: Study, filed: dict[str, Any], tmp_path: Path
) -> None:
    text, path = study.results.read_text(), tmp_path / "result.json"
    assert '"positives": null' in text
    path.write_text(text.replace('"positives": null', f'"positives": {other}'))
    with pytest.raises(NotVerifiedError):
        ppaurora.verify_receipt(path)


def test_a_file_that_is_too_large_is_not_read(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(verifying, "_MOST_BYTES", 1 << 20)
    path = tmp_path / "receipt.json"
    path.write_bytes(b" " * (1 << 20))
    with pytest.raises(NotVerifiedError, match="is not a receipt"):
        ppaurora.verify_receipt(path)
    path.write_bytes(b" " * ((1 << 20) + 1))
    with pytest.raises(InputError, match="is larger than 1 MB"):
        ppaurora.verify_receipt(path)


def test_a_verifier_that_skips_signatures_is_noticed(
    filed: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The control: what only the signatures protect would pass."""
    changed = copy.deepcopy(filed["receipt"])
    changed["statements"][1]["statement"]["released_at"] = "2020-01-01T00:00:00Z"
    assert "what it signed was changed" in outcome(changed, tmp_path)
    monkeypatch.setattr(receipts, "problem_with", lambda signature, content: "")
    assert outcome(changed, tmp_path) == ""


def test_without_the_helper_it_verifies_and_says_so(filed: dict[str, Any], tmp_path: Path) -> None:
    content = copy.deepcopy(filed["receipt"])
    assert content["statements"].pop()["statement"]["server"] == "helper"
    (tmp_path / "receipt.json").write_text(json.dumps(content))
    found = ppaurora.verify_receipt(tmp_path / "receipt.json")
    assert (found.signed_by, found.missing) == (("proxy-0", "proxy-1"), ("helper",))
    assert "that helper says the same: its statement is missing" in found.does_not_prove
    content["statements"].pop()
    assert "proxy-1: its statement is missing" in outcome(content, tmp_path)


def resigned(consortium: Trials, filed: dict[str, Any], server: int, **changed: Any) -> Receipt:
    """What a node could sign with its own key, whatever is true."""
    receipt = Receipt.parse(filed["receipt"])
    statements = list(receipt.statements)
    said = msgspec.structs.replace(statements[server].statement, **changed)
    statements[server] = sign_statement(said, consortium.kit(NODES[server]) / "key.pem")
    return msgspec.structs.replace(receipt, statements=tuple(statements))


def as_filed(receipt: Receipt) -> Any:
    return json.loads(receipt.to_json())


CONTRADICTIONS: dict[str, tuple[int, Callable[[Receipt], dict[str, Any]], str]] = {
    "another attempt": (1, lambda _: {"attempt": 7}, "proxy-1 and proxy-0 signed different attempt"),
    "another manifest": (2, lambda _: {"manifest": "0" * 64}, "helper: signed another manifest"),
    "another policy": (0, lambda _: {"policy": ppaurora.Policy()}, "proxy-0: names a policy that is not"),
    "another protocol": (1, lambda _: {"protocol_version": 1}, "proxy-1: computed with another version"),
    "no parts": (0, lambda _: {"parts": {}}, "proxy-0: does not name one part of the result"),
    "parts of the helper's": (
        2,
        lambda receipt: {"parts": receipt.statements[0].statement.parts},
        "helper: does not name one part of the result",
    ),
    "an owner's submission is missing": (
        1,
        lambda receipt: {"submissions": receipt.statements[1].statement.submissions[1:]},
        "proxy-1: does not name one submission of every owner",
    ),
    "other shares": (
        1,
        lambda receipt: {
            "submissions": tuple(
                msgspec.structs.replace(one, commitments=("1" * 64, "2" * 64))
                for one in receipt.statements[1].statement.submissions
            )
        },
        "proxy-1: computed with something else than north had submitted last",
    ),
    "a history without an owner": (
        0,
        lambda receipt: {"history": receipt.statements[0].statement.history[1:]},
        "proxy-0: computed with something else than",
    ),
    "what was withdrawn": (
        0,
        lambda receipt: {"history": with_withdrawal(receipt.statements[0].statement.history)},
        "proxy-0: computed with something else than",
    ),
}


def with_withdrawal(history: tuple[HistoryEntry, ...]) -> tuple[HistoryEntry, ...]:
    """An owner's last word is that it has withdrawn the very shares that were computed with."""
    last = history[-1]
    withdrawn = msgspec.structs.replace(last, event=HistoryEvent.WITHDRAWN, revision=last.revision + 1)
    return (*history, withdrawn)


@pytest.mark.parametrize("name", CONTRADICTIONS)
def test_statements_that_contradict_each_other_or_the_manifest_are_refused(
    name: str, running: Trials, filed: dict[str, Any], tmp_path: Path
) -> None:
    server, change, says = CONTRADICTIONS[name]
    changed = change(Receipt.parse(filed["receipt"]))
    assert says in outcome(as_filed(resigned(running, filed, server, **changed)), tmp_path)


def test_what_a_node_signs_anew_verifies(running: Trials, filed: dict[str, Any], tmp_path: Path) -> None:
    """The control of the test above: its own signature is not what is refused."""
    assert outcome(as_filed(resigned(running, filed, 1, ppaurora="0.1.1")), tmp_path) == ""


def test_another_key_is_refused(running: Trials, filed: dict[str, Any], tmp_path: Path) -> None:
    receipt = Receipt.parse(filed["receipt"])
    signed = sign_statement(receipt.statements[0].statement, running.kit("proxy-1") / "key.pem")
    changed = msgspec.structs.replace(receipt, statements=(signed, *receipt.statements[1:]))
    assert "proxy-0: signed with another key than the manifest names" in outcome(as_filed(changed), tmp_path)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "is not a receipt"),
        ("[]", "it is not a receipt"),
        ('{"format": "ppaurora receipt"}', "another version of the protocol"),
        ('{"a": 1, "a": 2}', "it is not a receipt (not JSON, or a name is in it twice)"),
        ("[" * 100_000, "is not a receipt"),
    ],
)
def test_what_is_no_receipt(text: str, says: str, tmp_path: Path) -> None:
    path = tmp_path / "receipt.json"
    path.write_text(text)
    with pytest.raises(NotVerifiedError) as caught:
        ppaurora.verify_receipt(path)
    assert says in str(caught.value)


def test_the_command_says_what_it_proves(study: Study, run: RunCommand, tmp_path: Path) -> None:
    manifest, path = study.manifest, study.results.with_suffix(".receipt.json")
    code, said = run("verify", path)
    assert code == 0
    assert said.startswith(f"verified: receipts, manifest {manifest.hash}\nit proves:\n")
    assert "it does not prove:\n  - which values were released: a receipt holds no result\n" in said
    code, said = run("verify", study.results)
    assert (code, "the values in this file are what the parts give" in said) == (0, True)
    assert run("verify", path, "--manifest-hash", manifest.hash[:12])[0] == 0
    code, said = run("verify", path, "--manifest-hash", "0" * 64)
    assert (code, "which is not the one that was given" in said) == (7, True)
    assert run("verify", path, "--manifest-hash", "0")[0] == 2
    assert run("verify", tmp_path / "none.json")[0] == 2
    printed = json.loads(run("verify", path, "--format", "json")[1])
    assert (printed["verified"], printed["signed_by"]) == (True, list(NODES))
    (tmp_path / "bad.json").write_text(path.read_text().replace('"attempt": 1', '"attempt": 2'))
    code, said = run("verify", tmp_path / "bad.json", "--format", "json")
    assert (code, json.loads(said[: said.rindex("}") + 1])["verified"]) == (7, False)


def test_the_manifests_hash_is_what_sha256sum_prints(running: Trials, study: Study, tmp_path: Path) -> None:
    for path in (study.kit.folder / "studies/receipts.json", running.folder / "receipts/receipts.json"):
        assert hashlib.sha256(path.read_bytes()).hexdigest() == study.manifest.hash
        assert Manifest.read(path).hash == study.manifest.hash
    spoilt = tmp_path / "receipts.json"
    spoilt.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    with pytest.raises(InputError, match="not in canonical form"):
        Manifest.read(spoilt)


def test_times_have_one_form(study: Study) -> None:
    times = [
        value
        for one in as_filed(study.result().receipt)["statements"]
        for name, value in one["statement"].items()
        if name.endswith("_at")
    ]
    assert len(times) == 4 * len(NODES)
    assert {(len(time), time[10], time[-1]) for time in times} == {(20, "T", "Z")}


def test_statements_that_do_not_verify_give_no_result(
    running: Trials, study: Study, filed: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """As if proxy 1 had signed something else than it says, or nothing."""
    collected = Inbox(study.kit, study.manifest).find()
    assert collected is not None
    first, second = collected.answers
    (own,) = [one for one in second.statements if one.statement.server == "proxy-1"]

    def query(statements: tuple[SignedStatement, ...]) -> str:
        answers = (first, msgspec.structs.replace(second, statements=statements))
        changed = msgspec.structs.replace(collected, answers=answers)
        monkeypatch.setattr(Inbox, "find", lambda _: changed)
        with pytest.raises(ProtocolError) as caught:
            study.result()
        return str(caught.value)

    assert query(()) == "what the nodes signed does not verify: proxy 1 has signed nothing"
    forged = msgspec.structs.replace(own, statement=msgspec.structs.replace(own.statement, ppaurora="9"))
    assert "what it signed was changed" in query((forged,))
    key = running.kit("proxy-1") / "key.pem"
    parts = dict.fromkeys(own.statement.parts, "0" * 64)
    other = sign_statement(msgspec.structs.replace(own.statement, parts=parts), key)
    assert "has signed for another part of the result of north" in query((other,))


KEYS: dict[str, Callable[[], Any]] = {
    "ECDSA with SHA-256": lambda: ec.generate_private_key(ec.SECP384R1()),
    "Ed25519": ed25519.Ed25519PrivateKey.generate,
    "Ed448": ed448.Ed448PrivateKey.generate,
    "RSA-PSS with SHA-256": lambda: rsa.generate_private_key(65537, 2048),
}


def test_a_node_keeps_statements_that_verify_and_no_others(study: Study, tmp_path: Path) -> None:
    """One that does not would only spoil the receipts of all owners."""
    first, second, *_ = study.result().receipt.statements
    forged = msgspec.structs.replace(first, signature=second.signature)
    with Store(tmp_path / "data") as store:
        store.accept(study.manifest)
        (record,) = store.studies()
        keep_statements(store, record, [forged, second])
        assert store.statements(record.hash) == {second.statement.server: second}


@pytest.mark.parametrize("algorithm", KEYS)
def test_any_key_of_tls_signs(algorithm: str, tmp_path: Path) -> None:
    key = KEYS[algorithm]()
    path = tmp_path / "key.pem"
    path.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
    )
    signature = signatures.sign(path, b"content")
    assert signature.algorithm == algorithm
    assert signatures.problem_with(signature, b"content") == ""
    assert signatures.problem_with(signature, b"contents") == "the signature does not fit"
    for other in set(KEYS) - {algorithm}:
        changed = signatures.Signature(signature.key, other, signature.signature)
        assert "the kind" in signatures.problem_with(changed, b"content")


def test_a_key_that_cannot_sign_has_signed_nothing() -> None:
    key = x25519.X25519PrivateKey.generate().public_key()
    der = key.public_bytes(serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo)
    assert "cannot sign" in signatures.problem_with(signatures.Signature(der, "none", b""), b"content")
