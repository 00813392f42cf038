"""A server that has several workers: where they run, how they are found, what they do."""

PROCESS = "ppaurora.workers"  # the module that a server process with several workers runs
