"""What a result says of the policy under which it was released."""

from __future__ import annotations

from ppaurora.policy.rules import COUNT_STEP, HIDDEN, PRIVATE, PUBLICATION, ROUNDED, Policy, guesses

WHY_NO_LEVELS = (
    "a level has too few people, or differs by too few from one of another variable, and would follow from "
    "the others; which one is not disclosed"
)
"""The reason for which no level of a variable is released, although all samples together are."""


def privacy_of(policy: Policy) -> str:
    """Return what a release under this policy protects, and how, in a sentence or two."""
    if policy.kind == PRIVATE:
        rows = _rows(policy)
        return (
            f"Private, with epsilon {policy.epsilon:g} for every person{rows}: "
            f"{guesses(policy.spent)}. The noise that ensures this is inside the intervals."
        )
    held_back = "; ".join(_held_back(policy)) or "nothing was held back"
    if policy.kind == PUBLICATION:
        return (
            f"For publication: {held_back}. Intervals allow for rounding. This does not bound what "
            "someone who knows much else can learn."
        )
    return f"Exact: {held_back}. Nothing is promised about what the numbers disclose."


def shown_count(count: int, policy: Policy, what: str = "") -> str:
    """Return a released number of samples, what they are, and how near it is to the true one."""
    shown = f"{count:,} {what}".rstrip()
    near = nearness(policy)
    return f"about {shown}, {near}" if near else shown


def nearness(policy: Policy) -> str:
    """Return how near released counts are to the true ones; nothing if they are the true ones."""
    if policy.kind == PRIVATE:
        return "with noise"
    return f"to the nearest {policy.count_step}" if policy.count_step > 1 else ""


def _rows(policy: Policy) -> str:
    return "" if policy.rows_per_person == 1 else f", with at most {policy.rows_per_person:,} rows each"


def _held_back(policy: Policy) -> list[str]:
    said = []
    if policy.decimals is not None:
        unit = "decimal" if policy.decimals == 1 else "decimals"
        said.append(f"rounded to {policy.decimals} {unit}, one more of small numbers")
    if policy.counts == ROUNDED:
        said.append(f"counts to the nearest {COUNT_STEP}")
    elif policy.counts == HIDDEN:
        said.append("counts hidden")
    if policy.has_floors:
        said.append(
            f"nothing below {policy.minimum_positives:,} positives and {policy.minimum_negatives:,} negatives"
        )
    if policy.withholds_cells:
        said.append(f"no number about fewer than {policy.minimum_per_cell:,} samples")
    return said
