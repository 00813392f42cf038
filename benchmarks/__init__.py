"""Measurements: what a run costs, beside the same job in plain text in the same run.

A package of the repository, not of the wheel: `python -m benchmarks`, from the root of a checkout. Every
benchmark is a module or a sub-package with its measuring, its tables and its command:

    paper/        the paper's evaluation, run again          scale         samples and owners
    correctness   private against pooled values              study         three nodes beside one call
    primitives/   each primitive; the machine's limits       peers/        the same job by other systems
    documents     tables and figures from benchmarks/results, some of them by way of `growth`

They share `synthetic` data, the `plain` computation, `tables`, `drawing`, `saving`, `options`, `progress`
and `environment`.
"""
