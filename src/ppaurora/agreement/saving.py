"""What the protocol `grid` would save where its numbers are the same, from costs that are declared."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from ppaurora.agreement.terms import Terms
from ppaurora.channel.meter import Cost
from ppaurora.data.grid import Grid
from ppaurora.io.models import to_builtins
from ppaurora.protocols import GridProtocol


def saving_on(grid: Grid, terms: Terms, sizes: Sequence[int]) -> str:
    """Return in words how much less these terms cost on a grid that changes no score.

    Nothing, if they do not, or if something of them cannot be computed there.
    """
    now, other = terms.protocol, GridProtocol(**to_builtins(grid))
    if now.grid is not None or other.problem_with(terms.metrics, terms.policy, terms.confidence_level):
        return ""
    there = msgspec.structs.replace(terms, protocol=other)
    costs = [sum(one.protocol.declared(one.query(sizes)).values(), Cost()) for one in (there, terms)]
    if costs[0].bytes >= costs[1].bytes:
        return ""
    taken = f"low {grid.low:g}, high {grid.high:g}, decimals {grid.decimals}"
    cheaper, dearer = (f"about {cost.bytes / 1e6:,.1f} MB in {cost.rounds} rounds" for cost in costs)
    return (
        f"the protocol 'grid' ({taken}) would give the same numbers for {cheaper}, where '{now.name}' takes "
        f"{dearer}"
    )
