"""What a party holds of a secret, and how it is laid out in memory and on the wire."""

from ppaurora.sharing.shares import (
    BitShare,
    Holder,
    MaskedShare,
    MaskedWideShare,
    RingShare,
    Share,
    WideShare,
    concat,
    stack,
)

__all__ = [
    "BitShare",
    "Holder",
    "MaskedShare",
    "MaskedWideShare",
    "RingShare",
    "Share",
    "WideShare",
    "concat",
    "stack",
]
