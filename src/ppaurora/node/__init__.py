"""A node: one of the three servers, run by an organisation, for many studies."""
