"""Without a kit: an example consortium, from the hospitals' files to the result."""
