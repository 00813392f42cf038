"""The same job by other systems, on the same data and machine, in one run.

Peers have an environment of their own (`make peers`), because what they need does not go with what
ppaurora needs. Each has a worker, a single file that imports only the peer and numpy; how it is asked is
in `worker`.
"""
