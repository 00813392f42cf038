"""How often intervals cover what they say, by simulated studies of which the truth is known."""
