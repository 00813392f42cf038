"""Masked sharing on bit planes, 64 records to a machine word; the helper only deals.

`gates` has AND and the product, `trees` comparison and equality, `conversions` signs and bits as numbers,
`division` the secret quotient, `public_division` that by public numbers, `wide` integers modulo 2^256 and
rounding to a grid, `records` the lists and the wires of the merge network, `costs` what each primitive
declares to cost.
Source: ASTRA (Chaudhari, Choudhury, Patra, Suresh 2019), with the helper as its dealer.
"""

from ppaurora.suites.bitsliced.suite import BitslicedSuite

__all__ = ["BitslicedSuite"]
