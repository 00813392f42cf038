"""One of the three servers: its role, its context, and the run of a job."""
