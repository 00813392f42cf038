"""All deliberate defects, by room of the package."""

from __future__ import annotations

from tests.defects.catalogue import basis, computing, designs, nodes, numbers, owners, people, suites, tables
from tests.defects.defect import Defect

CATALOGUE: tuple[Defect, ...] = (
    *basis.DEFECTS,
    *computing.DEFECTS,
    *suites.DEFECTS,
    *numbers.DEFECTS,
    *tables.DEFECTS,
    *designs.DEFECTS,
    *owners.DEFECTS,
    *nodes.DEFECTS,
    *people.DEFECTS,
)
