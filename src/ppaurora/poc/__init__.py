"""A consortium on this machine: real kits and real nodes, for proofs of concept and for tests."""

from ppaurora.poc.consortium import Columns, ProofOfConcept, find_poc, make_poc, owners_of

__all__ = ["Columns", "ProofOfConcept", "find_poc", "make_poc", "owners_of"]
