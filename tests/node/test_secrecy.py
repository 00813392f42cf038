"""Nothing that nodes and commands say tells a score, a salt, a share or a key."""

from __future__ import annotations

import base64
from pathlib import Path

from ppaurora.credentials.certificates import Authority
from ppaurora.data.samples import check_samples
from ppaurora.owner.study import Study
from tests.support.deployment import samples
from tests.support.trials import HOUR, Trials


def test_nothing_prints_its_secrets(nodes: Trials, tmp_path: Path) -> None:
    """Whatever a log or a debugger may show of what holds secrets."""
    labels, scores = samples(30, 3)
    checked = check_samples("north", labels, scores)
    nodes.study("printing")
    study = Study(nodes.kit("harbour"), "printing")
    submission = study.submit(checked)
    issued = Authority.make("x", HOUR).issue("x", HOUR)
    shown_texts = [repr(thing) for thing in (checked, study, submission, issued, study.kit)]
    secrets = [*issued.key.decode().splitlines()[1:-1], *(repr(score) for score in scores.tolist()[:5])]
    fingerprint = submission.fingerprint
    assert fingerprint is not None
    for raw in (fingerprint.digest, fingerprint.salt):
        secrets += [raw.hex(), base64.b64encode(raw).decode(), repr(raw)[2:-1]]
    for text in shown_texts:
        nodes.spoken.append(text)
        assert not any(secret in text for secret in secrets if len(secret) > 4)


def test_no_log_and_no_answer_tells_a_secret(nodes: Trials) -> None:
    """No score, salt, share or key of this room's tests, in whatever form, neither now nor in the end."""
    nodes.upload(nodes.manifest)  # so that there is something to look for, also if this test runs alone
    assert nodes.told(f"a line with {nodes.secrets[-1]} in it") == [nodes.secrets[-1]]  # the positive control
    nodes.check_secrecy()
