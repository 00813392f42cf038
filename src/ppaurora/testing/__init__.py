"""Three parties in one process, for tests and experiments."""

from ppaurora.testing.world import World, WorldRun

__all__ = ["World", "WorldRun"]
