"""The version of ppaurora."""

__version__ = "0.1.0"
