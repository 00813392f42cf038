"""`python -m ppaurora.party TITLE`: one server in a process of its own; people see the title in lists."""

import sys

from ppaurora.party.process import main

if __name__ == "__main__":
    sys.exit(main())
