"""Cryptographic randomness: AES-CTR streams under pairwise keys, each labelled and used once."""

from ppaurora.randomness.keys import PairKeys, SessionSecrets
from ppaurora.randomness.streams import Stream, StreamFamily

__all__ = ["PairKeys", "SessionSecrets", "Stream", "StreamFamily"]
