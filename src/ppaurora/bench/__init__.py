"""Measurements: what a run costs, beside the same job in plain text in the same run."""
