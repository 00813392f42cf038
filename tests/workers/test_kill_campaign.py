"""The campaign's own means: would it notice masks that are used twice?"""

from __future__ import annotations

from tests.support.recorded_part import recorded_streams
from tests.workers.kill_campaign import attempt


def test_an_attempt_with_keys_of_an_earlier_one_would_be_noticed() -> None:
    """Three attempts at the same job: with keys of some kind, with fresh ones, with the first's again."""
    with recorded_streams() as streams:
        keys = []
        for part in ("compute_with_old_keys", "compute_recorded", "compute_with_old_keys"):
            assert not streams.repeated()
            streams.do(part)
            attempt(workers=2, samples=64)
            keys.append(streams.keys())
        assert keys[1] == 2 * keys[0]
        assert keys[2] == keys[1]
        assert len(streams.repeated()) == len(streams.opened()) / 2
