"""`python -m ppaurora.workers TITLE`: a server with several workers; people see the title in lists."""

import sys

from ppaurora.workers.crew import main

if __name__ == "__main__":
    sys.exit(main())
