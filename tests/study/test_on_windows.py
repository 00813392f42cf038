"""A coordinator's and an owner's kits without anything of POSIX: made, packed, unpacked, added to."""

from __future__ import annotations

from pathlib import Path

import pytest

from ppaurora.errors import InputError
from ppaurora.study.kit import read_kit
from ppaurora.study.plan import SAMPLE, read_plan
from ppaurora.study.provision import provision
from tests.support.on_windows import needs_linux, on_windows


@needs_linux
def test_kits_are_packed_and_unpacked(tmp_path: Path) -> None:
    sample = on_windows("provision", "--sample")
    assert sample.stdout.replace("\r\n", "\n").strip() == SAMPLE.strip()
    plan = tmp_path / "study.toml"
    plan.write_bytes(b"\xef\xbb\xbf" + SAMPLE.replace("\n", "\r\n").encode())  # as Notepad may save it
    assert on_windows("disclosure", plan).returncode == 0
    out = tmp_path / "kits"
    made = on_windows("provision", plan, "--out", out, "--pack", "--encrypt")
    assert made.returncode == 0, made.stderr
    phrases = dict(line.split() for line in (out / "passphrases.txt").read_text().splitlines())
    phrase = tmp_path / "phrase.txt"
    phrase.write_bytes(phrases["hospital-a"].encode() + b"\r\n")
    kit = tmp_path / "my kit"
    done = on_windows("unpack", out / "hospital-a.kit", "--into", kit, "--passphrase-file", phrase)
    assert done.returncode == 0, done.stderr
    assert f'next: ppaurora preflight "{kit}"' in done.stdout
    assert "keep it in your own profile" in done.stdout
    assert f"delete it: del {out / 'hospital-a.kit'}" in done.stderr
    (manifest,) = read_kit(kit).manifests()
    assert (kit / f"studies/{manifest.study}.json").read_bytes() == manifest.text().encode()
    again = on_windows("accept", kit, out / f"{manifest.study}.json", "--yes")
    assert again.returncode == 0, again.stderr
    for words in (
        ["accept", out / "proxy-0", out / f"{manifest.study}.json", "--yes"],
        ["studies", out / "helper"],
    ):
        refused = on_windows(*words)
        assert refused.returncode == 2
        assert "a node needs Linux or macOS" in refused.stderr


def test_a_name_that_no_file_on_windows_can_have_is_refused(tmp_path: Path) -> None:
    plan = tmp_path / "study.toml"
    for old, new in (("[owners.hospital-b]", "[owners.nul]"), ('name = "sepsis-2026"', 'name = "com1"')):
        assert old in SAMPLE
        plan.write_text(SAMPLE.replace(old, new))
        with pytest.raises(InputError, match="Windows can have no file of this name"):
            provision(plan, tmp_path / "kits")
    assert not (tmp_path / "kits").exists()


def test_a_mark_before_a_plan_is_skipped(tmp_path: Path) -> None:
    plan = tmp_path / "study.toml"
    plan.write_text("\ufeff" + SAMPLE, encoding="utf-8")
    assert read_plan(plan).name == "sepsis-2026"
