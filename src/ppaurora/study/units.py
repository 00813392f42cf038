"""How a node's machine keeps the node running: a unit for systemd, a file for compose."""

from __future__ import annotations

from ppaurora.study.manifest import NodeEntry
from ppaurora.study.names import split_address
from ppaurora.version import __version__

UNITS = SYSTEMD, COMPOSE = "ppaurora.service", "compose.yaml"

_SERVICE = """\
# To be copied to /etc/systemd/system, where only root can change it: docs/operators.md.
[Unit]
Description=ppaurora, {title}
Wants=network-online.target
After=network-online.target

[Service]
User=ppaurora
WorkingDirectory=/srv/ppaurora
ExecStart=/srv/ppaurora/venv/bin/ppaurora serve kit
Restart=on-failure
RestartSec=5
# Wrong settings do not get better by themselves.
RestartPreventExitStatus=2
# If memory runs out, the kernel ends a computation; the node lives on and tries again.
OOMPolicy=continue
UMask=0077
LimitCORE=0
NoNewPrivileges=true
CapabilityBoundingSet=
LockPersonality=true
MemoryDenyWriteExecute=true
PrivateDevices=true
PrivateTmp=true
PrivateUsers=true
ProtectClock=true
ProtectControlGroups=true
ProtectHome=true
ProtectHostname=true
ProtectKernelLogs=true
ProtectKernelModules=true
ProtectKernelTunables=true
ProtectProc=invisible
ProtectSystem=strict
RestrictAddressFamilies=AF_INET AF_INET6 AF_NETLINK AF_UNIX
RestrictNamespaces=true
RestrictRealtime=true
RestrictSUIDSGID=true
SystemCallArchitectures=native
SystemCallFilter=@system-service
SystemCallErrorNumber=EPERM
ReadWritePaths=/srv/ppaurora/kit

[Install]
WantedBy=multi-user.target
"""

# The ids are those of the user in Containerfile. YAML, by hand: it has a comment per decision.
_SERVICES = """\
# {title} in a container without root: in this folder, podman compose up --detach
# PPAURORA_SOURCE is a checkout or an unpacked release, with its Containerfile and lock files.
services:
  node:
    image: ppaurora-node:{version}
    build:
      context: ${{PPAURORA_SOURCE:?name the folder of an unpacked release}}
      dockerfile: Containerfile
    # With rootless podman, the user who starts it is the user inside, and so can read its kit.
    # With docker, write instead of this line: user: "YOUR-UID:YOUR-GID"
    userns_mode: "keep-id:uid=10001,gid=10001"
    read_only: true
    cap_drop: ["ALL"]
    ulimits:
      core: 0
    security_opt: ["no-new-privileges:true"]
    tmpfs: ["/tmp"]
    # The kit, with its data folder, is all that it can write to.
    volumes: ["./:/kit:Z"]
    # Health and metrics have no password: they are for other containers of this network, such as Prometheus,
    # which finds them at node:9464, and for this machine.
    command: ["serve", "/kit", "--expose-admin", "0.0.0.0:9464"]
    ports: [{ports}, "127.0.0.1:9464:9464"]
    # Also after a reboot; rootless podman needs for that, once:
    # loginctl enable-linger && systemctl --user enable podman-restart
    restart: "always"
    stop_grace_period: 30s
    healthcheck:
      test: ["CMD", "python", "-c", "{healthcheck}"]
      interval: 30s
      start_period: 30s
"""
_HEALTHCHECK = "import urllib.request as u; u.urlopen('http://127.0.0.1:9464/healthz', timeout=5)"


def unit_file(unit: str, name: str, node: NodeEntry) -> bytes:
    """Return one of `UNITS`, for the node of this name."""
    return (systemd_unit(name) if unit == SYSTEMD else compose_file(name, node)).encode()


def systemd_unit(name: str) -> str:
    return _SERVICE.format(title=name.replace("-", " "))


def compose_file(name: str, node: NodeEntry) -> str:
    """Return a compose file with the plan's ports; health and metrics stay on this machine."""
    addresses = [node.nodes_address, *([] if node.owners_address is None else [node.owners_address])]
    ports = sorted(split_address(address)[1] for address in addresses)
    return _SERVICES.format(
        title=name.replace("-", " "),
        version=__version__,
        ports=", ".join(f'"{port}:{port}"' for port in ports),
        healthcheck=_HEALTHCHECK,
    )
