"""Health and metrics: for this machine alone, unless whoever starts the node says otherwise."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from ppaurora.errors import InputError
from ppaurora.node.admin_client import ask_locally, find_running
from ppaurora.poc.machine import free_ports, program
from ppaurora.study.kit import NodeKit
from ppaurora.study.names import split_address
from tests.support.deployment import command
from tests.support.trials import PAIR, Trials, becomes

OTHER = "127.0.0.2"  # stands for an address at which other machines connect
Serve = Callable[..., NodeKit]


@pytest.fixture
def kit(tmp_path: Path) -> Path:
    return Trials(tmp_path, PAIR).kit("helper")


@pytest.fixture
def serve(kit: Path, tmp_path: Path) -> Iterator[Serve]:
    """Starts the node with these options, and waits until it answers this machine."""
    processes = []

    def start(*options: str) -> NodeKit:
        with (tmp_path / "log").open("wb") as log:
            processes.append(subprocess.Popen(program("serve", str(kit), *options), stderr=log))
        node = NodeKit.read(kit)
        assert becomes(lambda: find_running(node) is not None or processes[-1].poll() is not None)
        assert processes[-1].poll() is None, (tmp_path / "log").read_text()
        return node

    yield start
    for process in processes:
        process.terminate()
        assert process.wait(timeout=180) == 0


def answers(host: str, port: int) -> bool:
    try:
        return "ppaurora_studies" in ask_locally(host, port, "/metrics")
    except OSError:
        return False


def warnings(log: Path) -> list[dict[str, str]]:
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    return [line for line in lines if line["event"].startswith("health and metrics are open")]


def test_nobody_else_is_answered(serve: Serve, tmp_path: Path) -> None:
    _, port = split_address(serve().settings.listen_admin)
    assert answers("127.0.0.1", port)
    assert not answers(OTHER, port)
    assert warnings(tmp_path / "log") == []


@pytest.mark.parametrize("host", ["0.0.0.0", "[::]"])  # noqa: S104 (its own machine)
def test_all_addresses_at_the_same_port_as_in_a_container(
    kit: Path, serve: Serve, tmp_path: Path, host: str
) -> None:
    _, port = split_address(NodeKit.read(kit).settings.listen_admin)
    serve("--expose-admin", f"{host}:{port}")
    assert answers("127.0.0.1", port)
    assert answers(OTHER, port)
    assert [line["level"] for line in warnings(tmp_path / "log")] == ["warning"]


def test_another_address_is_answered_beside_this_machine(serve: Serve) -> None:
    (exposed,) = free_ports(1)
    _, port = split_address(serve("--expose-admin", f"{OTHER}:{exposed}").settings.listen_admin)
    assert answers("127.0.0.1", port)
    assert answers(OTHER, exposed)
    assert not answers(OTHER, port)


@pytest.mark.parametrize("address", ["0.0.0.0:9464", "[::]:9464", "10.0.0.5:9464", "monitoring:9464"])
def test_settings_cannot_open_it_by_mistake(kit: Path, address: str) -> None:
    """As in the lines beside it, which have to say 0.0.0.0."""
    settings = kit / "node.toml"
    before = str(NodeKit.read(kit).settings.listen_admin)
    settings.write_text(settings.read_text().replace(before, address))
    with pytest.raises(InputError, match=r"listen_admin: there is no password.* --expose-admin ADDRESS"):
        NodeKit.read(kit)
    settings.write_text(settings.read_text().replace(address, "localhost:9464"))
    assert NodeKit.read(kit).settings.listen_admin == "localhost:9464"


def test_an_address_that_is_none_or_not_this_machines(kit: Path) -> None:
    assert "a host and a port" in command("serve", kit, "--expose-admin", "9464").stderr
    (port,) = free_ports(1)
    done = command("serve", kit, "--expose-admin", f"192.0.2.1:{port}")
    assert done.returncode == 2
    assert f"--expose-admin: cannot listen at 192.0.2.1:{port}: Cannot assign" in done.stderr
