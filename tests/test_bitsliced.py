"""For the tests of the benchmarks: the algorithm of `fast` is in `tests.support`."""

from tests.support.cases import fast

__all__ = ["fast"]
