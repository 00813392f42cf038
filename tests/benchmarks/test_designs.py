"""The benchmark of studies with several models, levels and patients, in short."""

from __future__ import annotations

from pathlib import Path

from benchmarks import designs


def test_its_short_form_measures_every_study_beside_one_model() -> None:
    found = designs.measure("grid", designs.COMPARED, 40, lambda *_: None)
    alone = designs.measure("grid", designs.ONE, 40, lambda *_: None)
    assert found.bytes > 2 * alone.bytes
    assert (found.samples, found.protocol) == (40 * designs.OWNERS, "grid")
    table = designs.saved_table([vars(alone), vars(found)]).markdown()
    assert f"{found.bytes / alone.bytes:.2f}" in table


def test_all_studies_are_in_the_documents() -> None:
    text = (Path(designs.__file__).parents[1] / "docs" / "performance.md").read_text()
    for protocol, study in designs.settings():
        assert f"| `{protocol}` | {study} |" in text
