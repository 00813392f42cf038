"""A consortium on this machine: real kits and real nodes, for proofs of concept and for tests."""
