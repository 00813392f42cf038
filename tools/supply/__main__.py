"""`python -m tools.supply`: what is installed besides ppaurora, listed and checked."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from ppaurora.cli.main import run
from tools.supply.licences import ALLOWED, is_allowed, licence_of
from tools.supply.locks import all_versions, check_nothing_else, installed_by
from tools.supply.osv import PUBLIC, Database
from tools.supply.sbom import as_text, bill_of

FOUND = 1
LOCK = click.Path(dir_okay=False, path_type=Path)


@click.group("supply", context_settings={"help_option_names": ["-h", "--help"]})
def cli() -> None:
    """List and check what a lock file installs.

    Exit codes: 0 done and nothing found, 1 something was found, 2 a lock or an environment that cannot be
    used, 3 the database could not be asked and nothing is known, 70 a bug, 130 interrupted.
    """


@cli.command("sbom")
@click.argument("lock", type=LOCK)
@click.option("--out", type=click.Path(dir_okay=False, path_type=Path), help="A file; printed if not given.")
@click.option(
    "--beside", type=LOCK, multiple=True, help="Another lock that is installed here as well. Repeatable."
)
def sbom_command(lock: Path, out: Path | None, beside: tuple[Path, ...]) -> None:
    """A bill of materials: CycloneDX, JSON.

    Run it in an environment in which LOCK is installed, and nothing else but the locks beside it: licences
    come from there, and what is installed and not listed would be a bill that is not true.
    """
    check_nothing_else(lock, beside)
    text = as_text(bill_of(lock))
    if out is None:
        click.echo(text, nl=False)
    else:
        out.write_text(text)


@cli.command("licences")
@click.argument("locks", type=LOCK, nargs=-1, required=True)
def licences_command(locks: tuple[Path, ...]) -> int:
    """Is the licence of every package allowed? tools/supply/licences.toml says which are, and why.

    Run it in an environment in which LOCKS are installed: licences come from there.
    """
    packages = {pin.name: licence_of(package) for lock in locks for pin, package in installed_by(lock)}
    bad = {name: licence for name, licence in packages.items() if not (licence and is_allowed(licence))}
    for name, licence in sorted(bad.items()):
        click.echo(f"{name}: {licence or 'names no licence that is understood'}: not allowed")
    click.echo(
        f"{len(packages)} packages, {len(bad)} with a licence that is not allowed; "
        f"allowed are {', '.join(sorted(ALLOWED))}"
    )
    return FOUND if bad else 0


@cli.command("audit")
@click.argument("locks", type=LOCK, nargs=-1, required=True)
@click.option("--database", default=PUBLIC, show_default=True, help="OSV, or a mirror of its API.")
@click.option("--timeout", default=30.0, show_default=True, help="Seconds to wait for an answer.")
def audit_command(locks: tuple[Path, ...], database: str, timeout: float) -> int:
    """Known vulnerabilities of every version in LOCKS, for any platform.

    Names and versions are sent to the database, and nothing else.
    """
    versions = all_versions(locks)
    findings = Database(database, timeout).findings(versions)
    for finding in findings:
        names = ", ".join((finding.advisory, *finding.aliases))
        fixed = f"; fixed in {', '.join(finding.fixed_in)}" if finding.fixed_in else ""
        click.echo(f"{finding.name} {finding.version}: {finding.summary} ({names}){fixed}")
    packages = len({(finding.name, finding.version) for finding in findings})
    click.echo(f"{len(versions)} versions asked for at {database}, {packages} with known vulnerabilities")
    return FOUND if findings else 0


def main(arguments: Sequence[str] | None = None) -> None:
    run(cli, "python -m tools.supply", arguments)


if __name__ == "__main__":
    main()
