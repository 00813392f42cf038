"""`python -m ppaurora` is `ppaurora`."""

from ppaurora.cli import main

main()
