"""A node: one of a protocol's servers, run by an organisation, for many studies."""
