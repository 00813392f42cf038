"""Organisations upgrade on different days: who asks anything of a node or a kit is told its versions."""

from __future__ import annotations

import json
import platform
import sqlite3

from ppaurora.version import WIRE_VERSION, WIRE_VERSIONS, Versions, __version__
from tests.support.deployment import command
from tests.support.trials import RunCommand, Trials

TOLD = {
    "version": __version__,
    "wire_versions": list(WIRE_VERSIONS),
    "schema_version": Versions().schema_version,
    "python": platform.python_version(),
}


def test_by_a_command_that_needs_nothing() -> None:
    wire = " and ".join(map(str, WIRE_VERSIONS))
    assert command("--version").stdout == (
        f"ppaurora {__version__}, wire versions {wire}, database schema {TOLD['schema_version']}, "
        f"Python {TOLD['python']}\n"
    )


def test_the_schema_is_that_of_a_nodes_database(nodes: Trials) -> None:
    with sqlite3.connect(nodes.database("helper")) as database:
        assert database.execute("PRAGMA user_version").fetchone() == (TOLD["schema_version"],)


def test_by_a_running_node(nodes: Trials) -> None:
    said = json.loads(nodes.get("proxy-1", "/healthz"))
    assert {name: said[name] for name in TOLD} == TOLD


def test_to_an_owner(nodes: Trials, run: RunCommand) -> None:
    kit = nodes.kit("valley")
    code, said = run("status", kit, "--study", "trial", "--format", "json")
    assert (code, json.loads(said)["versions"]) == (0, {"study": WIRE_VERSION, **TOLD})
    last = run("status", kit, "--study", "trial")[1].splitlines()[-1]
    here = f"the study has wire version {WIRE_VERSION}; here {Versions()}"
    assert last == f"{here}; ppaurora {__version__} at the nodes"


def test_to_an_operator(nodes: Trials, run: RunCommand) -> None:
    kit = nodes.kit("proxy-0")
    content = json.loads(run("studies", kit, "--format", "json")[1])
    assert content["versions"] == TOLD
    assert {study["protocol_version"] for study in content["studies"]} == {WIRE_VERSION}
    lines = run("studies", kit)[1].splitlines()
    assert lines[-1] == str(Versions())
    assert lines[0].endswith(f"; attempts: 0; wire version {WIRE_VERSION}")
