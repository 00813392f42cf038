"""A field of the terms is written once: plan, manifest, job, `evaluate`, pages and JSON have it."""

from __future__ import annotations

import inspect
import json
import subprocess
import sys
import tomllib
from collections.abc import Mapping
from typing import Any

import msgspec
import pytest

import ppaurora
from ppaurora.agreement.terms import Job, Limits, Terms
from ppaurora.data.design import Design, Model, Outcome, SampleWeight, Subgroup
from ppaurora.io.models import canonical_json, checked
from ppaurora.metrics import metrics_named
from ppaurora.policy.rules import Policy
from ppaurora.protocols import Fast, GridProtocol
from ppaurora.study.manifest import Manifest
from ppaurora.study.plan import SAMPLE, Plan
from tests.messages.vectors.manifest import least
from tests.support.plans import uncommented

TERMS = Terms(metrics=metrics_named("auroc"))
# Fields of a design need others beside them: models that can be compared, and scores that are counted.
DESIGNED = Terms(
    metrics=metrics_named("auroc"),
    protocol=GridProtocol(decimals=2),
    models={"a": Model(), "b": Model()},
    policy=Policy(rows_per_person=2),
)
CHANGED: Mapping[str, Any] = {
    "models": {"a": Model(column="risk"), "b": Model()},
    "comparisons": (("a", "b"),),
    "outcomes": {"death": Outcome(column="died")},
    "subgroups": {"sex": Subgroup(levels=("f", "m"))},
    "patient": "mrn",
    "weight": SampleWeight(most=3),
    "sites": True,
    "left_out": True,
    "metrics": metrics_named("ap"),
    "confidence_level": 0.9,
    "protocol": Fast(key_bits=32),
    "limits": Limits(attempts=7),
    "policy": Policy(minimum_positives=17),
}
# Whoever holds all data agrees with nobody on how much servers take on, and how often they try; outcomes are
# named where columns are, by `label`.
NOT_IN_EVALUATE = {"limits", "outcomes"}
SAMPLE_WITH_DESIGN = uncommented(*Design.__struct_fields__)


class LongerTerms(Terms):
    """Terms with a field that nothing else knows of."""

    unheard_of: str = ""


def lacking(field: str, before: Terms, after: Terms) -> set[str]:
    """Return the places where a field of the terms, changed from one to the other, is not to be found."""
    value = json.loads(canonical_json(after))[field]
    found = {
        "sample": field in tomllib.loads(SAMPLE_WITH_DESIGN),
        "plan": field in Plan.__struct_fields__ and getattr(_planned(after), field) == getattr(after, field),
        "manifest": getattr(_agreed(after), field, None) == getattr(after, field),
        "manifest's hash": _hash(before) != _hash(after),
        "job": json.loads(canonical_json(_job(after)))["terms"].get(field) == value,
        "job's hash": _job(before).hash() != _job(after).hash(),
        "pages": before.describe() != after.describe(),
        "evaluate": field in inspect.signature(ppaurora.evaluate).parameters or field in NOT_IN_EVALUATE,
    }
    return {place for place, is_there in found.items() if not is_there}


def _planned(terms: Terms) -> Terms:
    """Return what a plan's terms have, as a person wrote it."""
    return checked(Plan, {**tomllib.loads(SAMPLE), **json.loads(canonical_json(terms))}).terms


def _agreed(terms: Terms) -> Terms | None:
    """Return the terms of a manifest as JSON has it, or nothing if it refuses them."""
    try:
        written = json.loads(canonical_json(terms))
        return Manifest.parse(checked(Manifest, least(**written)).text(), "here").terms
    except ppaurora.InputError:
        return None


def _hash(terms: Terms) -> str:
    return msgspec.structs.replace(checked(Manifest, least()), terms=terms).hash


def _job(terms: Terms) -> Job:
    return Job(terms=terms.under([]), sizes=(100, 100, 100))


def test_every_field_has_a_value_here() -> None:
    """A new field is given another value than its default, and then looked for."""
    assert set(CHANGED) == set(Terms.__struct_fields__)


@pytest.mark.parametrize("field", Terms.__struct_fields__)
def test_a_field_is_everywhere(field: str) -> None:
    before = DESIGNED if field in Design.__struct_fields__ else TERMS
    after = msgspec.structs.replace(before, **{field: CHANGED[field]})
    assert after != before
    assert lacking(field, before, after) == set()


def test_a_field_that_is_left_out_would_be_found() -> None:
    """The control: what takes the terms whole has a new field at once, the others are named."""
    before = LongerTerms(metrics=TERMS.metrics)
    after = msgspec.structs.replace(before, unheard_of="as agreed by telephone")
    assert lacking("unheard_of", before, after) == {"sample", "plan", "manifest", "evaluate"}


ADDED = """
from typing import Annotated

from msgspec import Meta

from ppaurora.agreement import terms


class Terms(terms.Terms):
    remark: Annotated[str, Meta(description="For people.", examples=["as agreed"])] = ""


terms.Terms = Terms

import tomllib
from ppaurora.io.models import checked
from ppaurora.study.manifest import Manifest
from ppaurora.study.plan import SAMPLE, Plan
from tests.messages.vectors.manifest import least

assert "# For people.\\nremark = \\"as agreed\\"\\n" in SAMPLE
plan = checked(Plan, tomllib.loads(SAMPLE))
assert plan.terms.remark == "as agreed"
manifest = Manifest.parse(checked(Manifest, least(remark=plan.remark)).text(), "here")
assert manifest.terms.remark == "as agreed"
assert ("remark", "as agreed") in manifest.describe()
job = terms.Job(terms=manifest.terms.under([]), sizes=(100, 100, 100))
assert job.terms.remark == "as agreed"
"""


def test_a_field_that_is_added_is_everywhere_by_itself() -> None:
    """In a process of its own, as if the class had one more field; only `evaluate` names its keywords."""
    done = subprocess.run([sys.executable, "-c", ADDED], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_a_manifest_tells_where_its_terms_are_now() -> None:
    manifest = checked(Manifest, least(confidence_level=0.9))
    for field in set(Terms.__struct_fields__) - {"protocol"}:
        with pytest.warns(DeprecationWarning, match=rf"manifest\.terms\.{field}"):
            assert getattr(manifest, field) == getattr(manifest.terms, field)
    assert not hasattr(manifest, "colour")
