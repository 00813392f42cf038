"""What a private study releases: few integers with noise, and how metrics are read from them."""
