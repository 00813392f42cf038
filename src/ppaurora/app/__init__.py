"""`ppaurora app`: pages on this machine, for an owner, for a node's operator, or to see an example.

`server` listens on 127.0.0.1 alone and prints the link; `application` has all addresses, loaded behind that.
`security` lets in whoever has the printed link and nobody else's page, and a `Mode` (`modes`) has the pages,
by whose kit it was given.
"""

from pathlib import Path

TEMPLATES = Path(__file__).parent / "templates"
