"""Whatever goes wrong on an owner's or operator's machine says what, where, and what to do next."""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import socket
from pathlib import Path

import pytest

from ppaurora.data.samples import check_samples
from ppaurora.errors import PpauroraError
from ppaurora.owner import records
from ppaurora.owner.client import NodeClient
from ppaurora.owner.study import Study
from tests.support.deployment import command, free_ports, samples, write_csv
from tests.support.trials import RunCommand, Trials


@pytest.fixture
def web_proxy(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    for name in ("HTTPS_PROXY", "https_proxy", "NO_PROXY", "no_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
    return monkeypatch


def test_a_wrong_web_proxy_is_named(nodes: Trials, run: RunCommand, web_proxy: pytest.MonkeyPatch) -> None:
    """Without its password."""
    (nobody,) = free_ports(1)
    web_proxy.setenv("HTTPS_PROXY", f"http://user:word@127.0.0.1:{nobody}")
    code, said = run("status", nodes.kit("valley"), "--study", "trial")
    assert code == 3
    flat = " ".join(said.replace("│", " ").split())
    assert f"through the web proxy 127.0.0.1:{nobody} (HTTPS_PROXY)" in flat
    assert "word" not in said
    for wrong in ("http://proxy:port", "http://:3128", "//"):
        web_proxy.setenv("HTTPS_PROXY", wrong)
        code, said = run("status", nodes.kit("valley"), "--study", "trial")
        assert (code, "HTTPS_PROXY is not the address of a web proxy; write http://HOST:PORT" in said) == (
            2,
            True,
        )


def test_a_full_disk_of_an_owner(
    nodes: Trials, run: RunCommand, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is sent, and with room again the same command goes on."""
    nodes.study("crammed")
    data = write_csv(tmp_path / "data.csv", *samples(30, 7101))
    arguments = ("submit", nodes.kit("north"), data, "--study", "crammed", "--yes")

    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(records, "replace_file", full)
        code, said = run(*arguments)
    assert code == 2
    assert "cannot be written: No space left on device. Make room" in said
    code, said = run("status", nodes.kit("north"), "--study", "crammed")
    assert (code, "sent from this kit, of north: nothing" in said) == (0, True)
    assert run(*arguments)[0] == 0


def test_ctrl_c_says_how_far_it_came(
    nodes: Trials, run: RunCommand, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    nodes.study("interrupted")
    data = write_csv(tmp_path / "data.csv", *samples(30, 7102))
    arguments = ("submit", nodes.kit("north"), data, "--study", "interrupted", "--yes")
    reached = NodeClient.reached

    def interrupted(self: NodeClient) -> object:
        if self.server.title == "proxy 1":
            raise KeyboardInterrupt
        return reached(self)

    with monkeypatch.context() as patch:
        patch.setattr(NodeClient, "reached", interrupted)
        code, said = run(*arguments)
    assert code == 130
    assert "30 samples are acknowledged by proxy 0; to go on, run 'ppaurora submit" in said
    code, said = run(*arguments)
    assert (code, "north has submitted 30 samples to interrupted" in said) == (0, True)


def test_whose_kit_it_is(nodes: Trials, run: RunCommand) -> None:
    assert run("preflight", nodes.kit("valley"), "--study", "trial")[1].startswith("kit of valley\n")
    assert run("preflight", nodes.kit("proxy-1"))[1].startswith("kit of proxy 1\n")
    assert (
        "sent from this kit, of valley: nothing" in run("status", nodes.kit("valley"), "--study", "trial")[1]
    )


@pytest.mark.parametrize("setting", ["listen_nodes", "listen_owners", "listen_admin"])
def test_a_port_that_is_taken_names_the_setting(node_kit: Path, setting: str) -> None:
    """A node without a study says so, too."""
    path = node_kit / "node.toml"
    with contextlib.closing(socket.create_server(("127.0.0.1", 0))) as taken:
        ports = [taken.getsockname()[1] if name == setting else 0 for name in _SETTINGS]
        lines = [line for line in path.read_text().splitlines() if not line.startswith("listen_")]
        listening = [
            f'{name} = "127.0.0.1:{port or free_ports(1)[0]}"'
            for name, port in zip(_SETTINGS, ports, strict=True)
        ]
        path.write_text("\n".join([*listening, *lines]) + "\n")
        ended = command("serve", node_kit)
        address = f"127.0.0.1:{taken.getsockname()[1]}"
    assert ended.returncode == 2
    assert f"cannot listen at {address}: Address already in use; another program" in ended.stderr
    assert f"{setting} in {path} says where" in ended.stderr
    if setting != "listen_nodes":
        assert "no study was accepted yet" in ended.stderr
        assert f"ppaurora accept {node_kit} MANIFEST" in ended.stderr


_SETTINGS = ("listen_nodes", "listen_owners", "listen_admin")


def test_another_copy_of_a_kit_withdraws_and_replaces(nodes: Trials, tmp_path: Path) -> None:
    """What was submitted from a kit that is lost is known by the nodes."""
    nodes.study("copied")
    copy = tmp_path / "north"
    shutil.copytree(nodes.kit("north"), copy, ignore=shutil.ignore_patterns("outbox", "ledger.json"))
    Study(nodes.kit("north"), "copied").submit(check_samples("north", *samples(30, 7103)))
    lost = Study(copy, "copied")
    with pytest.raises(PpauroraError, match="something else to this study"):
        lost.submit(check_samples("north", *samples(30, 7104)))
    assert lost.withdraw() is not None
    sent = lost.submit(check_samples("north", *samples(30, 7105)))
    assert sent.offer.revision == 3
    assert lost.is_submitted
    again = Study(nodes.kit("north"), "copied")  # whose record is of what was withdrawn since
    with pytest.raises(PpauroraError, match="superseded"):
        again.submit(check_samples("north", *samples(30, 7103)))
    assert again.submit(check_samples("north", *samples(30, 7103)), replace=True).offer.revision == 4
    shutil.rmtree(nodes.kit("north") / "outbox/copied")
    assert again.submit(check_samples("north", *samples(30, 7106)), replace=True).offer.revision == 5
