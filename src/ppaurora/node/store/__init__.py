"""What a node must not forget: studies, submissions, attempts, results.

SQLite in WAL mode with synchronous=FULL: what a method has returned from has survived a crash. The
shares themselves are files, written and synced before the row that names them.

    database      the connections, the schema, transactions; whether anything can be written
    trouble       why it cannot
    seals         digests of rows, against disks that flip bits
    times         the last time seen
    studies       what was accepted, and its state
    submissions   what owners sent, and the files of their shares
    attempts      attempts, results, and how studies end
"""

from ppaurora.node.store.attempts import Store
from ppaurora.node.store.studies import StudyRecord
from ppaurora.node.store.submissions import ClosedError, ConflictError, ReusedError, SubmissionRecord
from ppaurora.node.store.trouble import STORAGE_ERRORS, DamagedError, known_trouble, trouble_of

__all__ = [
    "STORAGE_ERRORS",
    "ClosedError",
    "ConflictError",
    "DamagedError",
    "ReusedError",
    "Store",
    "StudyRecord",
    "SubmissionRecord",
    "known_trouble",
    "trouble_of",
]
