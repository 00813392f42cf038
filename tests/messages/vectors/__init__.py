"""The files of test vectors, each made and read by a module of its own."""

from tests.messages.vectors import frame, input_shares, job, manifest, result, run, session, study, typed
from tests.messages.vectors.file import VectorFile

FILES: tuple[VectorFile, ...] = (
    manifest.FILE,
    job.FILE,
    session.FILE,
    frame.FILE,
    input_shares.FAST_FILE,
    input_shares.GRID_FILE,
    input_shares.PAPER_FILE,
    result.FAST_FILE,
    result.GRID_FILE,
    result.PAPER_FILE,
    run.FILE,
    study.FILE,
    *typed.FILES,
)

__all__ = ["FILES", "VectorFile"]
