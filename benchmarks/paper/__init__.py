"""The paper's evaluation, run again: its settings, its printed figures, both protocols beside them."""
