"""The scripts of examples/ end well, and their printed results are those of pooled samples."""

from __future__ import annotations

import functools
import re
import subprocess
import sys

import pytest

from tests.support.deployment import cleaned_environment
from tests.support.repository import ROOT

EXAMPLES = ROOT / "examples"
# With tests of their own: the demo in tests/supply, the files that it writes in tests/documents.
ELSEWHERE = {"demo.py", "make_hospitals.py"}
PAIR = re.compile(r"(0\.\d{6,})\d*, (?:scikit-learn )?on the pooled samples (0\.\d{6,})")
PAIRS = {"sklearn_pipeline.py": 3, "neural_network.py": 1, "federated.py": 1}


@functools.cache
def run(name: str) -> str:
    command = [sys.executable, "-W", "error", str(EXAMPLES / name)]
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=900, env=cleaned_environment(), check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


@pytest.mark.parametrize("name", PAIRS)
def test_the_printed_result_is_that_of_the_pooled_samples(name: str) -> None:
    pairs = PAIR.findall(run(name))
    assert len(pairs) == PAIRS[name]
    assert all(found == pooled for found, pooled in pairs)


def test_every_script_is_run() -> None:
    assert {path.name for path in EXAMPLES.glob("*.py")} == {*PAIRS, *ELSEWHERE}


def test_shorter_keys_send_fewer_bytes() -> None:
    narrow, wide = re.findall(r"([\d,]+) (?:bytes )?with", run("neural_network.py"))
    assert int(narrow.replace(",", "")) < int(wide.replace(",", ""))


def test_the_average_of_the_sites_is_far_off() -> None:
    off = re.search(r"off by (0\.\d+)", run("federated.py"))
    assert off is not None
    assert float(off[1]) > 0.05
