"""The checks that documents name are those that CI runs."""

from __future__ import annotations

import re

import pytest

from tests.conftest import PLACES
from tests.support.repository import ROOT

RULES = dict(re.findall(r"^([a-z-]+):.*\n\t(\$\(PYTEST\).*)$", (ROOT / "Makefile").read_text(), re.MULTILINE))


def test_every_test_is_in_one_of_the_two() -> None:
    assert RULES == {
        "test": '$(PYTEST) -m "not long" $(PYTEST_ARGS)',
        "test-long": "$(PYTEST) -m long $(PYTEST_ARGS)",
    }


@pytest.mark.parametrize("place", ["README.md", "CONTRIBUTING.md", "docs/assurance.md", "docs/engineers.md"])
def test_documents_name_what_ci_runs(place: str) -> None:
    run = re.findall(r"^make (test\S*)$", (ROOT / ".ci/run").read_text(), re.MULTILINE)
    assert run == list(RULES)
    assert set(run) == set(re.findall(r"make (test\S*?)[`\s]", (ROOT / place).read_text()))


def test_files_that_are_to_begin_first_are_there() -> None:
    assert [path.name for path in PLACES if not path.exists()] == []
