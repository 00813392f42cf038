"""Tables of the reproduction: the printed figures, and what was measured beside them."""

from __future__ import annotations

from collections.abc import Iterable

from benchmarks.paper.experiments import NETWORKS, PROTOCOLS, Experiment, Measured, has_delta
from benchmarks.paper.printed import METRICS, OWNERS, PRINTED, SETTINGS, Setting
from benchmarks.tables import Table

MEGABYTE = 1e6
LARGEST = OWNERS[-1]


class Measurements:
    """What was measured, by experiment; the latest of several."""

    def __init__(self, measured: Iterable[Measured]) -> None:
        self._found = {one.experiment: one for one in measured}

    def __contains__(self, experiment: Experiment) -> bool:
        return experiment in self._found

    def get(self, setting: Setting, metric: str, network: str, protocol: str) -> Measured | None:
        query = setting if has_delta(protocol) else Setting(setting.sizes)
        return self._found.get(Experiment(query, metric, network, protocol))

    def any_network(self, setting: Setting, metric: str, protocol: str) -> Measured | None:
        """Traffic and rounds are the same on every network."""
        found = (self.get(setting, metric, network, protocol) for network in NETWORKS)
        return next((one for one in found if one is not None), None)


def cost_table(measurements: Measurements, metric: str) -> Table:
    """Traffic in all, rounds and seconds, for every setting of the paper."""
    headings = ["owners x samples", "delta", "printed MB", "printed s"]
    for protocol in PROTOCOLS:
        headings += [f"{protocol} MB", "rounds", *(f"{network} s" for network in NETWORKS)]
    headings += ["printed / fast MB", "printed / fast s (WAN)"]
    rows = []
    for setting in SETTINGS:
        printed = PRINTED[metric, setting]
        cells = [setting.owners, str(setting.delta), f"{printed.total:,.2f}", f"{printed.seconds:,.2f}"]
        for protocol in PROTOCOLS:
            found = measurements.any_network(setting, metric, protocol)
            cells += ["", ""] if found is None else [f"{found.bytes / MEGABYTE:,.2f}", f"{found.rounds:,}"]
            for network in NETWORKS:
                on = measurements.get(setting, metric, network, protocol)
                cells.append("" if on is None else f"{on.seconds:,.2f}")
        fast = measurements.any_network(setting, metric, "fast")
        slow = measurements.get(setting, metric, "WAN", "fast")
        cells.append("" if fast is None else f"{printed.total * MEGABYTE / fast.bytes:,.0f}")
        cells.append("" if slow is None else f"{printed.seconds / slow.seconds:,.0f}")
        rows.append(cells)
    return Table(headings, rows, words=headings[:1])


def party_table(measurements: Measurements, metric: str) -> Table:
    """Megabytes that each party sends."""
    parties = ("proxy 0", "proxy 1", "helper")
    headings = ["owners x samples", "delta"]
    headings += [f"{source} {party}" for source in ("printed", *PROTOCOLS) for party in parties]
    rows = []
    for setting in SETTINGS:
        printed = PRINTED[metric, setting]
        cells = [setting.owners, str(setting.delta)]
        cells += [f"{part:,.2f}" for part in (printed.proxy_0, printed.proxy_1, printed.helper)]
        for protocol in PROTOCOLS:
            found = measurements.any_network(setting, metric, protocol)
            cells += (
                [""] * 3 if found is None else [f"{part / MEGABYTE:,.2f}" for part in found.bytes_by_party]
            )
        rows.append(cells)
    return Table(headings, rows, words=headings[:1])


def headline_table(measurements: Measurements) -> Table:
    """The largest setting without openings: 8 x 1,000 samples, delta 1."""
    headings = [
        "8 x 1,000 samples",
        "MB: printed",
        "`paper`",
        "`fast`",
        "WAN s: printed",
        "`paper`",
        "`fast`",
    ]
    headings += ["LAN s: `paper`", "`fast`", "printed / `fast`: MB", "s"]
    rows = []
    for metric, title in METRICS.items():
        printed = PRINTED[metric, LARGEST]
        sent = [measurements.any_network(LARGEST, metric, protocol) for protocol in PROTOCOLS]
        wan = [measurements.get(LARGEST, metric, "WAN", protocol) for protocol in PROTOCOLS]
        lan = [measurements.get(LARGEST, metric, "LAN", protocol) for protocol in PROTOCOLS]
        fast = wan[-1]
        cells = [title, f"{printed.total:,.0f}"]
        cells += ["" if one is None else f"{one.bytes / MEGABYTE:,.1f}" for one in sent]
        cells += [f"{printed.seconds:,.0f}"]
        cells += ["" if one is None else f"{one.seconds:,.2f}" for one in (*wan, *lan)]
        if fast is None:
            cells += ["", ""]
        else:
            cells.append(f"{printed.total * MEGABYTE / fast.bytes:,.0f}")
            cells.append(f"{printed.seconds / fast.seconds:,.0f}")
        rows.append(cells)
    return Table(headings, rows, words=headings[:1])


def report(measurements: Measurements) -> str:
    """All tables, as `python -m benchmarks paper` writes them."""
    lines = [
        "# The paper's evaluation, run again",
        "",
        "LAN is 0.18 ms round trip, WAN 10 ms. MB are millions of bytes that all parties send together; the",
        "printed figures are the paper's, whose times fit its WAN.",
        "",
        headline_table(measurements).markdown(),
    ]
    for metric, title in METRICS.items():
        lines += ["", f"## {title}", "", cost_table(measurements, metric).markdown()]
        lines += ["", "MB sent by each party:", "", party_table(measurements, metric).markdown()]
    return "\n".join(lines) + "\n"
