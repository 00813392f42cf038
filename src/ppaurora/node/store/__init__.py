"""What a node must not forget: studies, submissions, attempts, results.

SQLite in WAL mode with synchronous=FULL: what a method has returned from has survived a crash. The
shares themselves are files, written and synced before the row that names them.

    database      the connection, the schema, transactions
    studies       what was accepted, and its state
    submissions   what owners sent, and the files of their shares
    attempts      attempts, results, and how studies end
"""

from ppaurora.node.store.attempts import Store
from ppaurora.node.store.studies import StudyRecord
from ppaurora.node.store.submissions import ClosedError, ConflictError, ReusedError, SubmissionRecord

__all__ = ["ClosedError", "ConflictError", "ReusedError", "Store", "StudyRecord", "SubmissionRecord"]
