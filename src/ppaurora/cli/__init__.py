"""The command line. Commands are thin: they parse, call the library, and print."""

from ppaurora.cli.main import main

__all__ = ["main"]
