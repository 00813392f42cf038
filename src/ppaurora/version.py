"""The version of ppaurora, and that of what its processes and machines say to each other."""

__version__ = "0.1.0"

WIRE_VERSION = 8  # of frames, messages and manifests alike; below 10, as a frame has one digit for it
