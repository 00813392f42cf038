"""Every message between processes and between machines, as strict types with one codec.

    process     between a server process and the process that started it
    nodes       between nodes: questions and answers
    owners      between an owner and a node, and what nodes sign for receipts
    refusals    the codes with which a node refuses an owner's request
    workers     between the workers of one server

The codec is `ppaurora.io.models`: JSON with the fields in the order of the types, nothing unknown taken.
`test_vectors/` fixes the bytes: a change there is a change of the wire format, and needs another VERSION.
`VERSIONS` are all that are supported: that of a study is its manifest's.
"""

from ppaurora.version import WIRE_VERSION as VERSION
from ppaurora.version import WIRE_VERSIONS as VERSIONS

SUPPORTED = " and ".join(map(str, VERSIONS))  # for people

__all__ = ["SUPPORTED", "VERSION", "VERSIONS"]
