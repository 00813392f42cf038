"""The durable state of a node: studies, submissions, attempts, results.

SQLite in WAL mode with synchronous=FULL: what a method has returned from has survived a crash. The
shares themselves are files, written and synced before the row that names them.

    database        the connections, the schema, transactions; whether anything can be written
    trouble         why it cannot
    row_checksums   digests of rows and their sum, against disks that flip bits or forget pages
    schema_checksum whether the schema is as it was written
    holding         one process at a time
    migration       from what an earlier ppaurora wrote
    mark            how far the database was, outside of it
    rollback        whether it is older than that, or than the audit log
    descriptions    what owners said of shares, beside their files
    audit           the audit log: its file, and its end in the database
    records         what is read of studies, submissions and attempts, and errors
    store           everything that is kept, and how it changes
    recovery        how a node goes on whose database was rolled back or damaged
"""

from ppaurora.node.store.descriptions import delete_share
from ppaurora.node.store.holding import hold
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
from ppaurora.node.store.recovery import recover_folder
from ppaurora.node.store.rollback import (
    TO_GO_ON,
    DamagedDatabaseError,
    NeedsRecoveryError,
    Rollback,
    RolledBackError,
)
from ppaurora.node.store.store import Store
from ppaurora.node.store.trouble import STORAGE_ERRORS, DamagedError, known_trouble, trouble_of

__all__ = [
    "STORAGE_ERRORS",
    "TO_GO_ON",
    "AttemptRecord",
    "BegunError",
    "ClosedError",
    "ConflictError",
    "DamagedDatabaseError",
    "DamagedError",
    "NeedsRecoveryError",
    "ReleasedAttempt",
    "ReusedError",
    "Rollback",
    "RolledBackError",
    "Store",
    "StudyRecord",
    "SubmissionRecord",
    "SupersededError",
    "TooOftenError",
    "delete_share",
    "hold",
    "known_trouble",
    "recover_folder",
    "trouble_of",
]
