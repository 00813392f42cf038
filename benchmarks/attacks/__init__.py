"""What a release tells: attacks on the published numbers, under every kind of release policy.

An attack draws studies with a secret, hands the attacker what it knows and what was published, and counts how
often the attacker's guess is the secret. Studies are made up, and results are those of the plain model in
`policy`: the exact pooled value, then the rules. Only `tampering` runs the protocol. Exact numbers are the
control: if they do not give the secret away, the attack is at fault.
"""
