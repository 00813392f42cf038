"""Cryptographic randomness: AES-CTR streams under pairwise keys, each labelled and used once."""

from ppaurora.randomness.streams import Stream, StreamFamily

__all__ = ["Stream", "StreamFamily"]
