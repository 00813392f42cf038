"""What a node must not forget: studies, submissions, attempts, results.

SQLite in WAL mode with synchronous=FULL: what a method has returned from has survived a crash. The
shares themselves are files, written and synced before the row that names them.

    database      the connections, the schema, transactions; whether anything can be written
    trouble       why it cannot
    seals         digests of rows, against disks that flip bits
    audit         the audit log: its file, and its end in the database
    times         the last time seen
    studies       what was accepted, and its state
    history       what owners did, line by line
    submissions   what owners sent, and the files of their shares
    attempts      attempts, results, and how studies end
    statements    what nodes have signed of a release
"""

from ppaurora.node.store.attempts import AttemptRecord
from ppaurora.node.store.history import TooOftenError
from ppaurora.node.store.statements import ReleasedAttempt, Store
from ppaurora.node.store.studies import StudyRecord
from ppaurora.node.store.submissions import (
    BegunError,
    ClosedError,
    ConflictError,
    ReusedError,
    SubmissionRecord,
    SupersededError,
)
from ppaurora.node.store.trouble import STORAGE_ERRORS, DamagedError, known_trouble, trouble_of

__all__ = [
    "STORAGE_ERRORS",
    "AttemptRecord",
    "BegunError",
    "ClosedError",
    "ConflictError",
    "DamagedError",
    "ReleasedAttempt",
    "ReusedError",
    "Store",
    "StudyRecord",
    "SubmissionRecord",
    "SupersededError",
    "TooOftenError",
    "known_trouble",
    "trouble_of",
]
