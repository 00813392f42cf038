"""What a party holds of a secret, and how it is laid out in memory and on the wire."""

from ppaurora.sharing.shares import (
    BitShare,
    Holder,
    RingShare,
    SeveralComponents,
    Share,
    WideShare,
    concat,
    stack,
)

__all__ = [
    "BitShare",
    "Holder",
    "RingShare",
    "SeveralComponents",
    "Share",
    "WideShare",
    "concat",
    "stack",
]
