"""What keeps a node running: the unit for systemd, the file for compose."""

from __future__ import annotations

import configparser
import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from ppaurora.cli.main import cli
from ppaurora.suites.role import Role
from ppaurora.version import __version__
from tests.support.repository import ROOT

NODES = [role.file_name for role in Role]


@pytest.fixture
def units(plan: Path, tmp_path: Path) -> Path:
    arguments = ["provision", str(plan), "--out", str(tmp_path / "kits"), "--systemd", "--compose"]
    assert CliRunner().invoke(cli, arguments).exit_code == 0
    return tmp_path / "kits"


def read_compose(text: str) -> Any:
    """The part of YAML that we write: mappings by indentation, values as in JSON or plain words."""
    whole: dict[str, Any] = {}
    open_at = [(-1, whole)]
    for line in text.splitlines():
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        found = re.fullmatch(r"( *)([a-z_]+):(?: (.+))?", line)
        assert found, line
        depth, name, value = len(found[1]), found[2], found[3]
        while open_at[-1][0] >= depth:
            open_at.pop()
        inside = open_at[-1][1]
        assert name not in inside
        if value is None:
            inside[name] = {}
            open_at.append((depth, inside[name]))
        else:
            is_json = value[0] in '["' or value in ("true", "false")
            inside[name] = json.loads(value) if is_json else value
    return whole


@pytest.mark.parametrize("name", NODES)
def test_a_container_may_do_little(units: Path, name: str) -> None:
    found = read_compose((units / name / "compose.yaml").read_text())
    assert list(found) == ["services"]
    node = found["services"]["node"]
    ports = ["8444:8444"] if name == "helper" else ["8443:8443", "8444:8444"]
    ports.append("127.0.0.1:9464:9464")  # this machine alone: there is no password
    healthcheck = node.pop("healthcheck")
    assert node == {
        "image": f"ppaurora-node:{__version__}",
        "build": {
            "context": "${PPAURORA_SOURCE:?name the folder of an unpacked release}",
            "dockerfile": "Containerfile",
        },
        "userns_mode": "keep-id:uid=10001,gid=10001",
        "read_only": True,
        "cap_drop": ["ALL"],
        "ulimits": {"core": "0"},
        "security_opt": ["no-new-privileges:true"],
        "tmpfs": ["/tmp"],  # noqa: S108 (inside the container)
        "volumes": ["./:/kit:Z"],
        "command": ["serve", "/kit", "--expose-admin", "0.0.0.0:9464"],
        "ports": ports,
        "restart": "always",
        "stop_grace_period": "30s",
    }
    kind, program, option, script = healthcheck["test"]
    assert (kind, program, option) == ("CMD", "python", "-c")
    compile(script, "healthcheck", "exec")
    assert "127.0.0.1:9464/healthz" in script
    assert 'listen_admin = "127.0.0.1:9464"' in (units / name / "node.toml").read_text()
    recipe = (ROOT / "Containerfile").read_text()
    images = re.findall(r"^FROM (\S+)", recipe, flags=re.MULTILINE)
    assert len(images) == 2
    assert len(set(images)) == 1
    assert re.fullmatch(r"\S+/python:3\.11\.\d+-slim-\w+@sha256:[0-9a-f]{64}", images[0])
    assert "--uid 10001" in recipe
    assert 'CMD ["serve", "/kit"]' in recipe


@pytest.mark.parametrize("name", NODES)
def test_a_service_may_do_little(units: Path, name: str) -> None:
    parser = configparser.ConfigParser(interpolation=None)
    parser.optionxform = str  # type: ignore[assignment,method-assign]
    parser.read(units / name / "ppaurora.service")
    service = parser["Service"]
    assert parser["Unit"]["Description"] == f"ppaurora, {name.replace('-', ' ')}"
    assert service["ExecStart"] == "/srv/ppaurora/venv/bin/ppaurora serve kit"
    assert service["User"] == "ppaurora"
    assert (service["UMask"], service["NoNewPrivileges"]) == ("0077", "true")
    assert service["LimitCORE"] == "0"
    assert (service["ProtectSystem"], service["ReadWritePaths"]) == ("strict", "/srv/ppaurora/kit")
    assert service["RestartPreventExitStatus"] == "2"


def test_systemd_knows_every_setting(units: Path, tmp_path: Path) -> None:
    program = shutil.which("systemd-analyze")
    if program is None:
        pytest.skip("there is no systemd-analyze here")
    text = (units / "helper/ppaurora.service").read_text()
    unit = tmp_path / "ppaurora.service"
    # What it starts is not installed here.
    unit.write_text(text.replace("/srv/ppaurora/venv/bin/ppaurora", "/bin/true"))
    complaints = verified(program, unit)
    assert complaints == ""
    unit.write_text(unit.read_text().replace("UMask=", "UMaks="))
    assert "UMaks" in verified(program, unit)  # the positive control


def test_systemd_finds_little_that_a_service_could_harm(units: Path, tmp_path: Path) -> None:
    """Exposure of at most 2 of 10, where less is safer; without our settings it is far above."""
    program = shutil.which("systemd-analyze")
    if (
        program is None
        or "offline" not in subprocess.run([program, "--help"], capture_output=True, text=True).stdout
    ):
        pytest.skip("there is no systemd-analyze here that looks at files")
    unit = tmp_path / "ppaurora.service"
    text = (units / "proxy-0/ppaurora.service").read_text()
    unit.write_text(text.replace("/srv/ppaurora/venv/bin/ppaurora", "/bin/true"))
    judge = [program, "security", "--offline=true", "--threshold=20", str(unit)]
    assert subprocess.run(judge, capture_output=True, check=False).returncode == 0
    unit.write_text(re.sub(r"^(?:Protect|Private|Restrict|System)\w+=.*\n", "", text, flags=re.MULTILINE))
    assert subprocess.run(judge, capture_output=True, check=False).returncode != 0  # the positive control


def verified(program: str, unit: Path) -> str:
    done = subprocess.run(
        [program, "verify", str(unit)], capture_output=True, text=True, timeout=300, check=False
    )
    return "\n".join(line for line in done.stderr.splitlines() if "ppaurora.service" in line)


def test_owners_have_no_units_and_nobody_who_did_not_ask(units: Path, plan: Path, tmp_path: Path) -> None:
    assert CliRunner().invoke(cli, ["provision", str(plan), "--out", str(tmp_path / "plain")]).exit_code == 0
    found = [*units.glob("hospital-*/*"), *(tmp_path / "plain").glob("*/*")]
    assert found
    assert not [path for path in found if path.name in ("compose.yaml", "ppaurora.service")]
