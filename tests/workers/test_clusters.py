"""What is seen of a cluster before anybody speaks Ray with it: a sentence in time, and no hang.

What only a cluster that runs can show is in test_on_ray.py.
"""

from __future__ import annotations

import importlib.metadata
import socket
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from ppaurora.errors import InputError
from ppaurora.testing.ray_clusters import make_credentials
from ppaurora.workers.cluster import Cluster, installed_ray

HERE = "127.0.0.1"


@pytest.fixture(scope="module")
def credentials(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_credentials(tmp_path_factory.mktemp("credentials") / "ray")


def test_a_cluster_that_is_not_there_is_said_at_once(credentials: Path) -> None:
    with socket.socket() as taken:  # and never listens, so that nobody else can meanwhile
        taken.bind((HERE, 0))
        port = taken.getsockname()[1]
        with pytest.raises(
            InputError, match=f"the Ray cluster at 127.0.0.1:{port} cannot be reached: .*refused.* started"
        ):
            Cluster(HERE, port, credentials).reach()


def test_one_without_tls_is_refused(credentials: Path) -> None:
    with socket.create_server((HERE, 0)) as listener:
        port = listener.getsockname()[1]
        with socket.create_connection((HERE, port)):
            connection, _ = listener.accept()
            connection.close()

        def answer() -> None:
            peer, _ = listener.accept()
            peer.recv(100)
            peer.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")
            peer.close()

        threading.Thread(target=answer, daemon=True).start()
        with pytest.raises(InputError, match=r"does not speak TLS as .* start all of it with RAY_USE_TLS=1"):
            Cluster(HERE, port, credentials).reach()


@pytest.mark.parametrize(
    ("spoil", "problem"),
    [
        (lambda folder: (folder / "token").unlink(), "token: cannot be read"),
        (lambda folder: (folder / "token").write_text(""), "token: is empty"),
        (
            lambda folder: (folder / "token").chmod(0o644),
            "others on this machine can read it; run: chmod 600",
        ),
        (lambda folder: (folder / "key.pem").chmod(0o640), "others on this machine can read it"),
        (lambda folder: (folder / "authority.pem").unlink(), r"authority\.pem: cannot be read"),
    ],
)
def test_credentials_are_complete_and_private(
    tmp_path: Path, spoil: Callable[[Path], object], problem: str
) -> None:
    folder = make_credentials(tmp_path / "ray")
    cluster = Cluster(HERE, 6379, folder)
    assert cluster.check_credentials() == str(folder)
    spoil(folder)
    with pytest.raises(InputError, match=problem):
        cluster.check_credentials()


def test_an_old_ray_or_none_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.metadata, "version", lambda name: "2.51.1")
    with pytest.raises(InputError, match=r"Ray 2\.51\.1 is installed here, and cannot ask for a token"):
        installed_ray()

    def missing(name: str) -> str:
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(importlib.metadata, "version", missing)
    with pytest.raises(InputError, match=r"run: pip install 'ppaurora\[ray\]'"):
        installed_ray()
