"""CECILIA's primitives: additive shares modulo 2^64, an interactive helper, private compare.

`suite` has the functionalities, `compare` and `ties` the two parts that deserve a page of their
own, `costs` what each primitive declares to cost.
"""

from ppaurora.suites.cecilia.suite import CeciliaSuite

__all__ = ["CeciliaSuite"]
