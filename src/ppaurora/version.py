"""The version of ppaurora, and those of what its processes and machines say to each other and keep."""

import platform
from dataclasses import dataclass

__version__ = "0.1.0"

# Versions of manifests, messages and what servers compute with each other. All participants of a study use
# the version of its manifest, so they can upgrade on different days.
WIRE_VERSION = 10
WIRE_VERSIONS = (WIRE_VERSION - 1, WIRE_VERSION)

# The version of a node's database.
SCHEMA_VERSION = 9


@dataclass(frozen=True)
class Versions:
    """The versions of this installation, as every command tells them."""

    version: str = __version__
    wire_versions: tuple[int, ...] = WIRE_VERSIONS
    schema_version: int = SCHEMA_VERSION
    python: str = platform.python_version()

    def __str__(self) -> str:
        wire = " and ".join(map(str, self.wire_versions))
        return (
            f"ppaurora {self.version}, wire versions {wire}, database schema {self.schema_version}, "
            f"Python {self.python}"
        )
