"""`python -m tests.defects [NAME ...]`: puts deliberate defects into copies of the tree, one at a time.

Prints for each which test has noticed it. First the same tests run without any defect. The exit code is 1 if
one was not noticed, or if a test that should notice it fails anyway.
"""

from __future__ import annotations

import argparse
import signal
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path

from tests.defects.catalogue import CATALOGUE
from tests.defects.defect import Defect
from tests.defects.trial import Trials, Verdict
from tests.support.repository import ROOT

EXIT_NOT_CAUGHT, EXIT_MISUSED, EXIT_INTERRUPTED = 1, 2, 130


def main(arguments: Sequence[str] | None = None) -> int:
    options = _options(arguments)
    chosen = [
        defect
        for defect in CATALOGUE
        if (not options.names or defect.name in options.names)
        and (not options.room or defect.room in options.room)
    ]
    unknown = sorted(set(options.names) - {defect.name for defect in CATALOGUE})
    if unknown or not chosen:
        print(f"there is no such defect: {', '.join(unknown) or 'none in that room'}", file=sys.stderr)
        return EXIT_MISUSED
    if options.list:
        for defect in chosen:
            print(f"{defect.name:<34}  {defect.room:<13}  {defect.what}")
        return 0
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        return try_all(ROOT, chosen, options.jobs)
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return EXIT_INTERRUPTED


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m tests.defects",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help="of defects; by default all of them")
    parser.add_argument("--list", action="store_true", help="say what there is, and try nothing")
    parser.add_argument(
        "--room", action="append", default=[], help="only those of this room; may be repeated"
    )
    parser.add_argument("--jobs", type=int, default=1, help="how many defects are tried at a time")
    return parser.parse_args(arguments)


def try_all(root: Path, defects: Sequence[Defect], jobs: int = 1) -> int:
    """Print a table, and return the exit code."""
    unfit = [f"{defect.name}: {problem}" for defect in defects if (problem := defect.problem_in(root))]
    if unfit:
        print("\n".join(unfit), file=sys.stderr)
        return EXIT_MISUSED
    start = time.monotonic()
    with Trials(root) as trials:
        clean = trials.run_clean(test for defect in defects for test in defect.tests)
        if clean.problem:
            print(f"without any defect: {clean.problem}", file=sys.stderr)
            return EXIT_MISUSED
        seconds = time.monotonic() - start
        print(f"without any defect: {seconds:.0f} s, {len(clean.failed)} tests fail", flush=True)
        for test in clean.failed:
            print(f"  {test}", flush=True)
        width = max(len(defect.name) for defect in defects)
        verdicts = []
        for verdict in _verdicts(trials, defects, jobs):
            verdicts.append(verdict)
            print(f"{verdict.defect.name:<{width}}  {verdict.seconds:>6.1f} s  {verdict.shown}", flush=True)
    caught = sum(bool(verdict.caught_by) for verdict in verdicts)
    print(f"{caught} of {len(verdicts)} defects were caught, in {time.monotonic() - start:.0f} s")
    return 0 if caught == len(verdicts) else EXIT_NOT_CAUGHT


def _verdicts(trials: Trials, defects: Sequence[Defect], jobs: int) -> Iterator[Verdict]:
    """Yield what became of each, as they come."""
    with ThreadPoolExecutor(jobs) as pool:
        under_way = [pool.submit(trials.try_defect, defect) for defect in defects]
        try:
            for done in as_completed(under_way):
                yield done.result()
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            trials.close()
            raise


if __name__ == "__main__":
    sys.exit(main())
