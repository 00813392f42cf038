"""Statistics in the clear: of released numbers, and of data that its owner holds."""
