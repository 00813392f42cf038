"""For the tests of the benchmarks: the oracles are in `tests.support`."""

from tests.support.oracles import exact_auroc

__all__ = ["exact_auroc"]
