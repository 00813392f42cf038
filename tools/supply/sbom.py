"""A bill of materials (CycloneDX 1.6, JSON) of exactly what a lock installs on this platform.

The same lock and the same packages give the same bytes: there is no time and no random number in it.
"""

from __future__ import annotations

import json
import tomllib
import uuid
from importlib.metadata import Distribution
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from ppaurora.errors import InputError
from tools.supply.licences import licence_of
from tools.supply.locks import Pin, installed_by

_PROJECT = Path(__file__).parents[2] / "pyproject.toml"
_WHAT_HASHES_ARE = "of every file that the lock admits, for any platform; one of them is installed"


def bill_of(lock: Path) -> dict[str, Any]:
    found = installed_by(lock)
    project = tomllib.loads(_PROJECT.read_text())["project"]
    root = {
        "type": "application",
        "bom-ref": _purl(project["name"], project["version"]),
        "name": project["name"],
        "version": project["version"],
        "description": project["description"],
        "licenses": [{"expression": project["license"]}],
        "purl": _purl(project["name"], project["version"]),
    }
    bill: dict[str, Any] = {
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {
            "component": root,
            "properties": [
                {"name": "ppaurora:lock", "value": lock.name},
                {"name": "ppaurora:hashes", "value": _WHAT_HASHES_ARE},
            ],
        },
        "components": [_component(pin, package) for pin, package in found],
        "dependencies": _dependencies(root["bom-ref"], found),
    }
    # A number of its own, as the format wants it, that follows from what is in it.
    bill["serialNumber"] = uuid.uuid5(uuid.NAMESPACE_URL, json.dumps(bill, sort_keys=True)).urn
    return bill


def as_text(bill: dict[str, Any]) -> str:
    return json.dumps(bill, indent=2, sort_keys=True, ensure_ascii=False) + "\n"


def _purl(name: str, version: str) -> str:
    return f"pkg:pypi/{canonicalize_name(name)}@{version}"


def _component(pin: Pin, package: Distribution) -> dict[str, Any]:
    licence = licence_of(package)
    return {
        "type": "library",
        "bom-ref": _purl(pin.name, pin.version),
        "name": pin.name,
        "version": pin.version,
        "hashes": [{"alg": "SHA-256", "content": digest} for digest in sorted(pin.hashes)],
        "licenses": [{"expression": licence}] if licence else [{"license": {"name": "not stated"}}],
        "purl": _purl(pin.name, pin.version),
    }


def _dependencies(root: str, found: list[tuple[Pin, Distribution]]) -> list[dict[str, Any]]:
    """What needs what, on this platform. What pyproject.toml asks for, the lock says."""
    purls = {pin.name: _purl(pin.name, pin.version) for pin, _ in found}
    direct = [purls[pin.name] for pin, _ in found if is_direct(pin)]
    edges = [{"ref": root, "dependsOn": direct}]
    for pin, package in found:
        needs = [Requirement(line) for line in package.requires or ()]
        names = {canonicalize_name(need.name) for need in needs if _holds(need)}
        if missing := names - purls.keys():
            raise InputError(
                f"{pin.name} needs {', '.join(sorted(missing))}, which is not locked; run `make lock`"
            )
        edges.append({"ref": purls[pin.name], "dependsOn": [purls[name] for name in sorted(names)]})
    return edges


def is_direct(pin: Pin) -> bool:
    return any(source.startswith("ppaurora (") for source in pin.via)


def _holds(need: Requirement) -> bool:
    return need.marker is None or need.marker.evaluate({"extra": ""})
