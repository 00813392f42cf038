"""The pages of a node's operator."""
