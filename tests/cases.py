"""For the tests of the benchmarks: owners' lists and runs on them are in `tests.support`."""

from tests.support.cases import on_planes

__all__ = ["on_planes"]
