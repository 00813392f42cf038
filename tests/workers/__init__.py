"""Tests of a party with several workers."""
