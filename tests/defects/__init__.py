"""Deliberate defects, to see whether the tests would notice: `python -m tests.defects`.

    defect      what a defect is: a text of one file in place of another, and tests that must fail with it
    catalogue   all of them, by room of the package
    trial       a copy of the tree, a defect put into it, its tests run there

A defect is what somebody could write by mistake and a reader might miss. One that no test notices is a test
that is missing.
"""
