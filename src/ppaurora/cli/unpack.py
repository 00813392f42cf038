"""The command `ppaurora unpack`."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from ppaurora.cli.examples import example
from ppaurora.cli.options import expect_hash_option
from ppaurora.cli.paths import ANY_FILE, FILE, FOLDER
from ppaurora.errors import InputError
from ppaurora.io.files import others_can_read, read_text
from ppaurora.io.system import command_line, quoted
from ppaurora.study.kit import AMENDMENTS, STUDIES, NodeKit
from ppaurora.study.pack import PACKED, Unpacked, unpack

if sys.platform == "win32":
    _PRIVATE = "as long as the folder that holds it is: keep it in your own profile, not on a shared drive"
    _MOVE, _DELETE = "move", "del"
else:
    _PRIVATE = "modes 0700 and 0600"
    _MOVE, _DELETE = "mv", "rm"


@click.command("unpack", epilog=example("ppaurora unpack hospital-a.kit --into kit --delete"))
@click.argument("file", type=ANY_FILE)
@click.option("--into", type=FOLDER, help="New folder for the kit; by default named after FILE.")
@click.option("--key", type=FILE, help="The key of your own certificate; it is moved into the kit.")
@click.option("--passphrase-file", type=FILE, help="File with the pass phrase, instead of asking for it.")
@click.option("--delete", is_flag=True, help="Delete FILE afterwards: it holds the same key.")
@expect_hash_option
def unpack_command(
    file: Path,
    into: Path | None,
    key: Path | None,
    passphrase_file: Path | None,
    delete: bool,
    expect_hash: str | None,
) -> None:
    """Unpack the kit in FILE, which 'provision --pack' wrote, into a folder that only you can read."""
    if not file.exists():
        raise InputError(f"{file}: there is no such file")
    if into is None:
        if not file.name.endswith(PACKED):
            raise InputError(
                f"{file}: is not called NAME{PACKED}; if it is a kit, name a new folder with --into"
            )
        into = Path(file.name.removesuffix(PACKED))

    def passphrase() -> str:
        if passphrase_file is not None:
            return read_text(passphrase_file)
        if not sys.stdin.isatty():
            raise InputError(f"{file}: has a pass phrase; name a file that holds it: --passphrase-file FILE")
        return str(click.prompt(f"Pass phrase of {file}", hide_input=True))

    found = unpack(file, into, passphrase, key=key, expect_hash=expect_hash)
    if key is not None:
        key.unlink()
    if delete:
        file.unlink()
    _say(found, into)
    if not delete and found.has_key and key is None:
        readable = ", and others on this machine can read it" if others_can_read(file) else ""
        click.echo(
            f"warning: {file} holds the same key{readable}; delete it: {command_line([_DELETE, str(file)])}",
            err=True,
        )


def _say(found: Unpacked, into: Path) -> None:
    manifest = found.manifest
    what = f"node {found.kit.title}" if isinstance(found.kit, NodeKit) else f"owner {found.participant}"
    click.echo(f"{into}: the kit of {what}, for study {manifest.study}")
    click.echo(f"hash {manifest.hash}")
    click.echo("compare the hash with the other participants', over another channel than the kit came by")
    click.echo(f"its files are for your eyes only ({_PRIVATE})")
    if not found.has_key:
        move = command_line([_MOVE, "YOUR-KEY.pem", str(found.kit.key)])
        click.echo(f"it has no key, for the certificate is your own; first: {move}")
    kit = quoted(str(into))
    if manifest.amendment:
        file = f" {manifest.study}{AMENDMENTS}" if isinstance(found.kit, NodeKit) else ""
        click.echo(f"the study was amended, the manifest is as amendment {manifest.amendment} has left it")
        click.echo(f"next: ppaurora accept {kit}{file}{', which the coordinator sends' if file else ''}")
    elif isinstance(found.kit, NodeKit):
        manifest_file = into / STUDIES / f"{manifest.study}.json"
        click.echo(f"next: ppaurora accept {kit} {quoted(str(manifest_file))}")
    else:
        click.echo(f"next: ppaurora preflight {kit}")
        click.echo(f"then, in a browser: ppaurora app {kit}")
        click.echo(f"or here: ppaurora check DATA --kit {kit}, and ppaurora submit {kit} DATA")
