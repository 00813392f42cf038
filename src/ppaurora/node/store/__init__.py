"""The durable state of a node: studies, submissions, attempts, results.

SQLite in WAL mode with synchronous=FULL: what a method has returned from has survived a crash. The
shares themselves are files, written and synced before the row that names them.

    database        the connections, the schema, transactions; whether anything can be written
    trouble         why it cannot
    row_checksums   digests of rows, against disks that flip bits
    audit           the audit log: its file, and its end in the database
    records         what is read of studies, submissions and attempts, and errors
    store           everything that is kept, and how it changes
"""

from ppaurora.node.store.records import (
    AttemptRecord,
    BegunError,
    ClosedError,
    ConflictError,
    ReleasedAttempt,
    ReusedError,
    StudyRecord,
    SubmissionRecord,
    SupersededError,
    TooOftenError,
)
from ppaurora.node.store.store import Store
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
