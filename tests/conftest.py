"""Failed assertions of shared helpers show their values, as those of tests do."""

import pytest

pytest.register_assert_rewrite("tests.support", "tests.node.crash_campaign")
