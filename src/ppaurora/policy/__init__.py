"""The release policy: what may leave a computation, and what owners demand of it."""
