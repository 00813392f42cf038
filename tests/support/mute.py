"""A server process that hears its order and says nothing."""

import sys
import time

if __name__ == "__main__":
    sys.stdin.buffer.readline()
    time.sleep(600)
