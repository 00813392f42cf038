"""Steps to a moment in a study at which something can be wrong."""

from __future__ import annotations

import contextlib
import shlex
import shutil
from types import SimpleNamespace

from ppaurora.cli import main
from ppaurora.data import read_data
from ppaurora.owner.study import Study
from tests.cli.bad_inputs.row import OTHER, Place, Step, data, file, kit, study
from tests.support.deployment import free_ports
from tests.support.sending import send
from tests.support.trials import becomes

other = file("other.csv", OTHER)


def submitted(name: str, path: str = "data.csv") -> Step:
    """From the kit that is here."""
    return lambda place: send(Study(place.folder / "kit", name), read_data(place.folder / path))


def done(place: Place) -> None:
    """The study of that name has its result; the kit and its files are as they are then."""
    kept = place.nodes.folder / "done by north"
    if not kept.exists():
        for step in (study("done"), kit("north", "done"), data, other, submitted("done")):
            step(place)
        harbour = Study(place.nodes.kit("harbour"), "done")
        send(harbour, read_data(place.folder / "other.csv"))
        harbour.wait(timeout=300)
        assert becomes(lambda: not any(map(shares_of_done, (place,) * 2, ("proxy-0", "proxy-1"))))
        shutil.copytree(place.folder, kept)
    shutil.copytree(kept, place.folder, dirs_exist_ok=True)


def shares_of_done(place: Place, node: str) -> bool:
    """Whether a proxy has not deleted them yet."""
    with place.nodes.store(node) as store:
        (found,) = [one for one in store.studies() if one.manifest.study == "done"]
        return any(one.file is not None for one in store.latest_revisions(found))


def without_record(place: Place) -> None:
    """As a copy of the kit from before."""
    shutil.rmtree(place.folder / "kit/outbox")
    (place.folder / "kit/ledger.json").unlink()


def fetched(place: Place) -> None:
    Study(place.folder / "kit", "done").result()


def does(line: str) -> Step:
    """A command that is in order; NODE is a node's kit."""

    def run(place: Place) -> None:
        for node in ("proxy-0", "proxy-1"):
            words = shlex.split(line.replace("NODE", str(place.nodes.kit(node))))
            with contextlib.suppress(SystemExit):
                main(words)

    return run


def elsewhere(name: str, *proxies: str) -> Step:
    """A study whose manifest has addresses of these at which nobody is."""

    def make(place: Place) -> None:
        ports = {str(place.nodes.addresses[proxy][0]): free_ports(1)[0] for proxy in proxies}
        place.nodes.study(name, ports=ports)

    return make


def begun(name: str) -> Step:
    """An attempt was made, and cut off."""

    def begin(place: Place) -> None:
        manifest = place.nodes.owner("north").manifest(name)
        with place.nodes.store("proxy-0") as store:
            store.begin_attempt(manifest.hash, 1)
            store.fail_attempt(manifest.hash, 1, "cut off", counts=False)

    return begin


def web_proxy(value: str) -> Step:
    def set_it(place: Place) -> None:
        place.patch.setenv("HTTPS_PROXY", value.replace("PORT", str(free_ports(1)[0])))
        place.patch.delenv("no_proxy", raising=False)
        place.patch.delenv("NO_PROXY", raising=False)

    return set_it


def at_work(name: str) -> Step:
    """Another process that submits from the same kit."""
    return lambda place: place.until_the_end.enter_context(Study(place.folder / "kit", name)._outbox.alone())


def expired(name: str) -> Step:
    """The nodes have kept it as long as the manifest says."""

    def end(place: Place) -> None:
        manifest = place.nodes.owner("north").manifest(name)
        for node in ("proxy-0", "proxy-1"):
            with place.nodes.store(node) as store:
                store.expire(manifest.hash)

    return end


def in_a_century(place: Place) -> None:
    """By this machine's clock."""
    place.patch.setattr("ppaurora.owner.outbox.time", SimpleNamespace(time=lambda: 7e9))
