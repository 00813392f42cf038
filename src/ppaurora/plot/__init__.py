"""Plots of released numbers with Matplotlib, which is an extra."""

from ppaurora.errors import MissingPackageError

try:
    import matplotlib  # noqa: F401
except ImportError:
    raise MissingPackageError("plots need Matplotlib: pip install 'ppaurora[plot]'") from None
