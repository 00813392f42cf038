"""A folder that makes the four-server scheme known to whoever has it on its path."""
