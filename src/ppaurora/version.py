"""The version of ppaurora, and those of what its processes and machines say to each other."""

__version__ = "0.1.0"

# Of manifests, messages, and what servers compute with each other. A study is spoken about in the version of
# its manifest, by all who take part; so they can change to the next one on different days.
WIRE_VERSION = 9
WIRE_VERSIONS = (WIRE_VERSION - 1, WIRE_VERSION)
