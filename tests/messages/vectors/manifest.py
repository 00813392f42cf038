"""manifest.json: whole manifests, their canonical texts and their hashes."""

from __future__ import annotations

import json

from ppaurora.algorithms.curve import MOST_SAMPLES
from ppaurora.certificates import pin_of_pem
from ppaurora.errors import InputError
from ppaurora.messages import VERSION
from ppaurora.models import checked
from ppaurora.study.manifest import Manifest
from tests.messages.vectors.file import Bad, Entry, VectorFile
from tests.messages.vectors.seeds import AUTHORITY, seed
from tests.messages.vectors.spoiling import MISSING, Fault, at, spoilt, with_value

WHAT = """
Manifests. `content` is what the participants agree on, with what has its default left out; `text` its
canonical form, in which every field is written out, sorted and indented; `hash` the SHA-256, in
hexadecimal, of "ppaurora manifest", a zero byte and the text in UTF-8; `pins` the SHA-256 of the public
key (DER, SubjectPublicKeyInfo) of every certificate in `authorities`, as participants are pinned.
Refused are texts that a person would be given as a manifest.
"""


def _content(protocol: Entry, **more: object) -> Entry:
    """As few fields as a manifest can have."""
    return {
        "study": "sepsis-2026",
        "metrics": ["auroc", "aupr"],
        "protocol": protocol,
        "nodes": {
            name: {
                "nodes_address": f"{name}.example.org:8443",
                "pin": seed(f"pin of {name}").hex(),
                **({} if name == "helper" else {"owners_address": f"{name}.example.org:8444"}),
            }
            for name in ("proxy-0", "proxy-1", "helper")
        },
        "owners": [
            {"name": name, "pin": seed(f"pin of {name}").hex()} for name in ("hospital-a", "hospital-b")
        ],
        "authorities": AUTHORITY,
        **more,
    }


def least(**more: object) -> Entry:
    return _content({"name": "fast"}, **more)


def _full() -> Entry:
    """No field has its default."""
    full = _content(
        {"name": "paper", "delta": 3},
        metrics=["ap", "auroc"],
        version=VERSION,
        limits={"samples_per_owner": 5000, "attempts": 3},
        release={"minimum_samples": 100, "minimum_samples_per_owner": 20, "retention_days": 7},
    )
    full["owners"][0]["organisation"] = 'Hôpital "Zürich" <Ünal> 病院'
    full["nodes"]["helper"]["owners_address"] = "[2001:db8::1]:8444"
    full["nodes"]["proxy-0"]["organisation"] = "University of Example"
    return full


def make() -> list[Entry]:
    entries = []
    for name, content in {"every default": least(), "no default": _full()}.items():
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
    good = json.loads(text)
    return _bad_texts(text) + [
        Bad(why, InputError, says, {"text": _canonical(content)})
        for why, says, content in spoilt(good, _bad_contents(good))
    ]


def _bad_texts(text: str) -> list[Bad]:
    texts = {
        "on one line": json.dumps(json.loads(text), sort_keys=True, ensure_ascii=False) + "\n",
        "without the line break at its end": text[:-1],
        "with a blank line at its end": text + "\n",
        "with the line breaks of Windows": text.replace("\n", "\r\n"),
        "with a letter escaped that need not be": text.replace("ü", "\\u00fc"),
        "with its fields in another order": text.replace(
            '{\n  "authorities"', '{\n  "study": "sepsis-2026",\n  "authorities"', 1
        ).replace('  "study": "sepsis-2026",\n  "version"', '  "version"', 1),
        "with a field twice": text.replace('  "version"', '  "version": 1,\n  "version"'),
        "with a default left out": _canonical(
            with_value(json.loads(text), at("owners.1.organisation"), MISSING)
        ),
    }
    refused = [
        Bad(f"not canonical: {how}", InputError, "canonical", {"text": spoilt})
        for how, spoilt in texts.items()
    ]
    return [*refused, Bad("no JSON", InputError, "no JSON", {"text": text[:-2]})]


def _bad_contents(good: Entry) -> list[Fault]:
    """Each is canonical, as the good one is."""
    pin, node = good["owners"][0]["pin"], good["nodes"]["helper"]
    taken = good["nodes"]["proxy-0"]["nodes_address"]
    return [
        ("an unknown field", "no such setting", "colour", "blue"),
        ("an unknown field of a node", "no such setting", "nodes.helper.colour", "blue"),
        ("an unknown field of the limits", "no such setting", "limits.colour", "blue"),
        ("a field is missing", "missing", "authorities", MISSING),
        ("an owner without a key", "missing", "owners.0.pin", MISSING),
        ("a number that is a text", "expected int", "limits.attempts", "3"),
        ("a number that is a truth value", "expected int", "limits.attempts", True),
        ("a whole number with a decimal point", "expected int", "limits.attempts", 3.0),
        ("owners that are no list", "expected array", "owners", {}),
        ("a later version", "version", "version", VERSION + 1),
        ("an earlier version", "version", "version", VERSION - 1),
        ("an unknown protocol", "unknown protocol", "protocol", {"name": "slow"}),
        ("a protocol without a name", "unknown protocol", "protocol.name", MISSING),
        ("a protocol that is a text", "table", "protocol", "paper"),
        ("a parameter of another protocol", "key_bits", "protocol.key_bits", 64),
        ("an even delta", "odd", "protocol.delta", 2),
        ("keys of 48 bits", "32 or 64", "protocol", {"name": "fast", "key_bits": 48}),
        ("an unknown metric", "unknown metric", "metrics", ["f1"]),
        ("a metric twice", "more than once", "metrics", ["ap", "ap"]),
        ("no metric", "no metric", "metrics", []),
        ("one owner only", "two owners", "owners", good["owners"][:1]),
        ("two owners of one name", "same name", "owners.1.name", "hospital-a"),
        ("two participants of one key", "same key", "nodes.helper.pin", pin),
        ("a name with a line break", "regex", "study", "sepsis-2026\n"),
        ("a name with a slash", "regex", "study", "sepsis/2026"),
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
        ("no attempt", ">= 1", "limits.attempts", 0),
        ("more samples than can be computed with", "the most", "limits.samples_per_owner", MOST_SAMPLES),
    ]


FILE = VectorFile("manifest", WHAT, make, spoil, check, take)
