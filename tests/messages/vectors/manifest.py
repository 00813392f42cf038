"""manifest.json: whole manifests, their canonical texts and their hashes."""

from __future__ import annotations

import json

from ppaurora.algorithms.curve import MOST_SAMPLES
from ppaurora.credentials.certificates import pin_of_pem
from ppaurora.errors import InputError
from ppaurora.io.models import checked
from ppaurora.messages import VERSION
from ppaurora.study.manifest import Manifest
from tests.messages.vectors.file import Bad, Entry, VectorFile
from tests.messages.vectors.seeds import AUTHORITY, seed
from tests.messages.vectors.spoiling import MISSING, Fault, at, spoilt, with_value

WHAT = """
Manifests. `content` is what the participants agree on, with what has its default left out; `text` its
canonical form, in which every field is written out, sorted and indented, but for `coordinator`,
`agreed_changes` and `amends`, which are there only if `content` has them; `hash` the SHA-256, in hexadecimal,
of the text in UTF-8, as `sha256sum` prints it of the file; `pins` the SHA-256 of the public key (DER,
SubjectPublicKeyInfo) of every certificate in `authorities`, as participants are pinned.
Refused are texts that a person would be given as a manifest.
"""


FULL_EVALUATION: Entry = {
    "description": "Does the alert hold elsewhere? “Ja”, 病院",
    "model": "sepsis-alert",
    "version": "2.1.0",
    "outcome": "sepsis within 48 hours",
    "positive_class": "sepsis",
    "score_direction": "higher",
    "score_scale": "probability",
    "submissions_until": "2026-12-31T18:00:00+01:00",
}


def _content(protocol: Entry, terms: Entry | None = None, **more: object) -> Entry:
    """As few fields as a manifest can have."""
    return {
        "study": "sepsis-2026",
        "terms": {"metrics": ["auroc", "aupr"], "protocol": protocol, **(terms or {})},
        "nodes": {
            name: {
                "nodes_address": f"{name}.example.org:8443",
                "pin": seed(f"pin of {name}").hex(),
                **({} if name == "helper" else {"owners_address": f"{name}.example.org:8444"}),
            }
            for name in ("proxy-0", "proxy-1", "helper")
        },
        "owners": [
            {"name": name, "pin": seed(f"pin of {name}").hex()}
            for name in ("hospital-a", "hospital-b", "hospital-c")
        ],
        "authorities": AUTHORITY,
        **more,
    }


def least(**terms: object) -> Entry:
    """Return a manifest's least content, with these terms."""
    return _content({"name": "fast"}, terms)


FULL_POLICY: Entry = {
    "kind": "exact",
    "minimum_owners": 2,
    "largest_owner_fraction": 0.75,
    "minimum_samples": 100,
    "minimum_samples_per_owner": 20,
    "minimum_positives": 25,
    "minimum_negatives": 15,
    "minimum_per_cell": 5,
    "digits": 3,
    "counts": "rounded",
}


def _full() -> Entry:
    """No field has its default."""
    full = _content(
        {"name": "fast", "key_bits": 32},
        {
            "metrics": [
                "auroc",
                {"name": "sensitivity", "thresholds": [0.2, 0.5]},
                {"name": "histogram", "bins": [0.0, 0.2, 0.5, 1.0]},
                "brier",
            ],
            "confidence_level": 0.9,
            "limits": {"samples_per_owner": 5000, "attempts": 3, "retention_days": 7},
            "policy": FULL_POLICY,
        },
        version=VERSION,
        evaluation=FULL_EVALUATION,
        coordinator=seed("pin of the coordinator").hex(),
        agreed_changes={"minimum_owners": 2, "deadline_days": 30},
        amends={"study": seed("the first").hex(), "number": 2, "previous": seed("the one before").hex()},
    )
    full["owners"][0]["organisation"] = 'Hôpital "Zürich" <Ünal> 病院'
    full["nodes"]["helper"]["owners_address"] = "[2001:db8::1]:8444"
    full["nodes"]["proxy-0"]["organisation"] = "University of Example"
    return full


def _paper() -> Entry:
    """As few rules as this protocol takes."""
    return _content({"name": "paper", "delta": 3}, {"metrics": ["ap", "auroc"], "policy": {"kind": "exact"}})


def _grid() -> Entry:
    """Scores from 0 to 40 points, of which the lower ones are the more positive."""
    lower = {**FULL_EVALUATION, "score_direction": "lower", "score_scale": "any"}
    return _content({"name": "grid", "high": 40.0, "decimals": 1}, evaluation=lower)


CONTENTS = {
    "every default": least(),
    "no default": _full(),
    "grid, lower scores": _grid(),
    "a table beside the lists": _content({"name": "fast", "grid": {"decimals": 3}}),
    "paper": _paper(),
    "the version before": _content({"name": "fast"}, version=VERSION - 1),
}


def make() -> list[Entry]:
    entries = []
    for name, content in CONTENTS.items():
        manifest = checked(Manifest, content)
        entries.append(
            {
                "name": name,
                "content": content,
                "text": manifest.text(),
                "hash": manifest.hash,
                "pins": [pin_of_pem(AUTHORITY.encode())],
            }
        )
    return entries


def check(vector: Entry) -> None:
    manifest = Manifest.parse(vector["text"], "vector")
    assert manifest == checked(Manifest, vector["content"])
    assert manifest.text() == vector["text"]
    assert manifest.hash == vector["hash"]
    assert [pin_of_pem(manifest.authorities.encode())] == vector["pins"]


def take(bad: Entry) -> object:
    return Manifest.parse(bad["text"], "vector")


def _canonical(content: Entry) -> str:
    return json.dumps(content, indent=2, sort_keys=True, ensure_ascii=False) + "\n"


def spoil() -> list[Bad]:
    text = checked(Manifest, _full()).text()
    good, paper = json.loads(text), json.loads(checked(Manifest, _paper()).text())
    return _bad_texts(text) + [
        Bad(why, InputError, says, {"text": _canonical(content)})
        for one, faults in ((good, _bad_contents(good)), (paper, _bad_contents_of_paper(paper)))
        for why, says, content in spoilt(one, faults)
    ]


def _bad_texts(text: str) -> list[Bad]:
    texts = {
        "on one line": json.dumps(json.loads(text), sort_keys=True, ensure_ascii=False) + "\n",
        "without the line break at its end": text[:-1],
        "with a blank line at its end": text + "\n",
        "with the line breaks of Windows": text.replace("\n", "\r\n"),
        "with a letter escaped that need not be": text.replace("ü", "\\u00fc"),
        "with its fields in another order": text.replace(
            '{\n  "agreed_changes"', '{\n  "study": "sepsis-2026",\n  "agreed_changes"', 1
        ).replace('  "study": "sepsis-2026",\n  "version"', '  "version"', 1),
        "with a field twice": text.replace('  "version"', '  "version": 1,\n  "version"'),
        "with a default left out": _canonical(
            with_value(json.loads(text), at("owners.1.organisation"), MISSING)
        ),
        "with a rule's default left out": text.replace('      "epsilon": null,\n', ""),
        "with a metric as a table that has no parameters": _canonical(
            with_value(json.loads(text), at("terms.metrics.0"), {"name": "auroc"})
        ),
        "with a whole number where a number with decimals is written": text.replace("0.75", "1"),
    }
    refused = [
        Bad(f"not canonical: {how}", InputError, "canonical", {"text": spoilt})
        for how, spoilt in texts.items()
    ]
    return [*refused, Bad("no JSON", InputError, "not JSON", {"text": text[:-2]})]


def _bad_contents(good: Entry) -> list[Fault]:
    """Each is canonical, as the good one is."""
    pin, node = good["owners"][0]["pin"], good["nodes"]["helper"]
    taken = good["nodes"]["proxy-0"]["nodes_address"]
    return [
        ("an unknown field", "no such setting", "colour", "blue"),
        ("an unknown field of a node", "no such setting", "nodes.helper.colour", "blue"),
        ("an unknown field of the limits", "no such setting", "terms.limits.colour", "blue"),
        ("a field is missing", "missing", "authorities", MISSING),
        ("an owner without a key", "missing", "owners.0.pin", MISSING),
        ("a number that is a text", "expected int", "terms.limits.attempts", "3"),
        ("a number that is a truth value", "expected int", "terms.limits.attempts", True),
        ("a whole number with a decimal point", "expected int", "terms.limits.attempts", 3.0),
        ("owners that are no list", "expected array", "owners", {}),
        ("a later version", "version", "version", VERSION + 1),
        ("a version before the last one", "version", "version", VERSION - 2),
        ("amended in the version before", "cannot be amended", "version", VERSION - 1),
        ("amended without a coordinator", "no coordinator", "coordinator", MISSING),
        ("a coordinator who is nobody", "expected", "coordinator", None),
        ("the amendment before the first", ">= 1", "amends.number", 0),
        ("one owner may remain", ">= 2", "agreed_changes.minimum_owners", 1),
        ("a deadline that moves back", ">= 0", "agreed_changes.deadline_days", -1),
        ("an unknown protocol", "unknown protocol", "terms.protocol", {"name": "slow"}),
        ("a protocol without a name", "unknown protocol", "terms.protocol.name", MISSING),
        ("a protocol that is a text", "table", "terms.protocol", "fast"),
        ("keys of 48 bits", "32 or 64", "terms.protocol", {"name": "fast", "key_bits": 48}),
        ("an unknown metric", "unknown metric", "terms.metrics", ["f2"]),
        ("a metric twice", "more than once", "terms.metrics", ["ap", "ap"]),
        ("no metric", "no metric", "terms.metrics", []),
        ("one owner only", "two owners", "owners", good["owners"][:1]),
        ("two owners of one name", "same name", "owners.1.name", "hospital-a"),
        ("two participants of one key", "same key", "nodes.helper.pin", pin),
        ("a name with a line break", "expected a name", "study", "sepsis-2026\n"),
        ("a name with a slash", "expected a name", "study", "sepsis/2026"),
        ("a key that is too short", "regex", "owners.0.pin", pin[:-2]),
        ("a key in capitals", "regex", "owners.0.pin", pin.upper()),
        ("a key with a line break", "length", "owners.0.pin", pin + "\n"),
        ("a node is missing", "missing", "nodes.helper", MISSING),
        ("a node of no server", "no server", "nodes.proxy-2", node),
        ("no address for owners", "owners_address", "nodes.proxy-1.owners_address", None),
        ("an address without a port", "and a port", "nodes.helper.nodes_address", "helper.example.org"),
        ("an address twice", "same", "nodes.helper.nodes_address", taken),
        ("control of the terminal", "printable", "owners.0.organisation", "\x1b[2J"),
        ("no certificates", "no certificates", "authorities", ""),
        ("a certificate cut off", "no certificates", "authorities", AUTHORITY[:-60]),
        ("no attempt", ">= 1", "terms.limits.attempts", 0),
        ("an unknown field of the evaluation", "no such setting", "evaluation.colour", "blue"),
        ("a description in two lines", "one line", "evaluation.description", "one\ntwo"),
        ("a description that is too long", "at most 500", "evaluation.description", "x" * 501),
        ("a model whose name is too long", "at most 200", "evaluation.model", "x" * 201),
        ("a probability that falls", "higher means", "evaluation.score_direction", "lower"),
        ("an unknown direction", '"higher" or "lower"', "evaluation.score_direction", "up"),
        ("an unknown scale", '"any" or "probability"', "evaluation.score_scale", "logit"),
        ("a date that is none", "a date", "evaluation.submissions_until", "2026-02-30"),
        ("a time without an offset", "a date", "evaluation.submissions_until", "2026-12-31T18:00:00"),
        ("a date followed by a line break", "a date", "evaluation.submissions_until", "2026-12-31\n"),
        ("a date in other digits", "a date", "evaluation.submissions_until", "２０２６-12-31"),
        ("the last day that there is", "a date", "evaluation.submissions_until", "9999-12-31"),
        (
            "more samples than can be computed with",
            "the most",
            "terms.limits.samples_per_owner",
            MOST_SAMPLES,
        ),
        ("an unknown rule", "no such setting", "terms.policy.colour", "blue"),
        ("terms of a release, as there were once", "no such setting", "release", {"minimum_samples": 100}),
        ("more owners asked for than there are", "at least 4 owners", "terms.policy.minimum_owners", 4),
        ("a study of one owner", ">= 2", "terms.policy.minimum_owners", 1),
        ("a fraction above one", "<= 1", "terms.policy.largest_owner_fraction", 1.5),
        ("a minimum that is a text", "expected int", "terms.policy.minimum_positives", "25"),
        ("no decimals", "a whole number from 1", "terms.policy.digits", 0),
        ("decimals in a word that there is not", "a whole number from 1", "terms.policy.digits", "many"),
        ("counts in a word that there is not", '"hidden"', "terms.policy.counts", "told"),
        ("a level in percent", "0.9 for 90 %", "terms.confidence_level", 90),
        ("nothing kept", ">= 1", "terms.limits.retention_days", 0),
        ("a metric without its parameters", "is missing", "terms.metrics.1", "sensitivity"),
        ("a parameter of another metric", "no such setting", "terms.metrics.1.bins", [0.0, 1.0]),
        ("thresholds that fall", "increasing order", "terms.metrics.1.thresholds", [0.5, 0.2]),
        (
            "a metric of probabilities, with scores that may be any number",
            "takes probabilities",
            "evaluation.score_scale",
            "any",
        ),
        ("a metric that tells counts, which are hidden", "policy hides", "terms.policy.counts", "hidden"),
    ]


def _bad_contents_of_paper(good: Entry) -> list[Fault]:
    return [
        ("a parameter of another protocol", "key_bits", "terms.protocol.key_bits", 64),
        ("an even delta", "odd", "terms.protocol.delta", 2),
        ("a protocol that cannot round", "cannot round", "terms.policy.digits", 3),
        ("a protocol that cannot round counts", "cannot round", "terms.policy.counts", "rounded"),
        (
            "intervals of a protocol that has none",
            "does not compute intervals",
            "terms.confidence_level",
            0.95,
        ),
        (
            "lower scores, which the protocol does not take negated",
            "takes scores from 0 to 1 of which",
            "evaluation",
            {**good["evaluation"], "score_direction": "lower", "score_scale": "any"},
        ),
    ]


FILE = VectorFile("manifest", WHAT, make, spoil, check, take)
