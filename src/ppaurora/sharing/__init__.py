"""What a party holds of a secret, and how it is laid out in memory and on the wire."""

from ppaurora.sharing.shares import BitShare, Holder, RingShare

__all__ = ["BitShare", "Holder", "RingShare"]
