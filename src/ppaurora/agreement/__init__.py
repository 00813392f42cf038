"""What participants agree on: the terms of a study, what it evaluates, what a release discloses."""
