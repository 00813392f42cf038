"""What a release tells: attacks on the published numbers, with and without the release policy.

One module per attack. An attack draws studies with a secret, hands the attacker what it knows and what was
published, and counts how often the attacker's guess is the secret. Studies are made up, and results are those
of the plain model in `policy`: the exact pooled value, then the rules. Only `tampering` runs the protocol.
"""
