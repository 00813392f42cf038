"""One of the servers: its run of a job, and the process that it runs in."""
