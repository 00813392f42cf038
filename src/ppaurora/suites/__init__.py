"""Realisations of the functionalities that the algorithms are written on."""
