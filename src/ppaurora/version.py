"""The version of ppaurora, and those of what its processes and machines say to each other."""

__version__ = "0.1.0"

# Versions of manifests, messages and what servers compute with each other. All participants of a study use
# the version of its manifest, so they can upgrade on different days.
WIRE_VERSION = 10
WIRE_VERSIONS = (WIRE_VERSION - 1, WIRE_VERSION)
