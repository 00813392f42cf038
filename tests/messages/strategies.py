"""Any value of any type that messages are made of, as JSON holds it."""

from __future__ import annotations

import base64
from datetime import date
from typing import Any

from hypothesis import strategies as st
from msgspec import inspect

from ppaurora.agreement.evaluation_spec import EvaluationSpec
from ppaurora.agreement.terms import Job
from ppaurora.io.models import StrictModel, from_builtins
from ppaurora.io.times import Time, as_time
from ppaurora.policy.rules import MOST_DEMANDED, MOST_DIGITS, MOST_EPSILON, Floors, Policy
from ppaurora.protocols import Protocol
from ppaurora.sharing.commitment import Salt
from ppaurora.sharing.stages import ResultShare
from tests.messages.vectors.examples import PATTERNS

Values = st.SearchStrategy[Any]

# JSON in UTF-8 has no surrogates.
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
BASE64 = st.binary(max_size=40).map(lambda raw: base64.b64encode(raw).decode())
PARTS = st.integers(1, 6).flatmap(lambda columns: st.binary(min_size=16 * columns, max_size=16 * columns))

PROTOCOLS: dict[str, Values] = {
    "fast": st.fixed_dictionaries({"name": st.just("fast"), "key_bits": st.sampled_from([32, 64])}),
    "paper": st.fixed_dictionaries(
        {"name": st.just("paper"), "delta": st.integers(0, 50).map(lambda k: 2 * k + 1)}
    ),
}
AREAS = st.lists(st.sampled_from(["auroc", "aupr", "ap", "auroc_no_ties"]), min_size=1, unique=True)
FRACTIONS = st.floats(0, 1, exclude_min=True)
GROWING = st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=4, unique=True).map(sorted)
OTHERS = st.lists(
    st.one_of(
        st.sampled_from(["brier", "youden_j", "reliability"]),
        st.builds(lambda at: {"name": "sensitivity", "thresholds": at}, GROWING),
        st.builds(lambda at: {"name": "reliability", "bins": [0.0, at, 1.0]}, st.floats(0.1, 0.9)),
        st.builds(lambda rate: {"name": "partial_auroc", "max_fpr": rate / 1000}, st.integers(1, 999)),
    ),
    max_size=3,
    unique_by=lambda metric: metric if isinstance(metric, str) else metric["name"],
)
DIGITS = st.integers(1, MOST_DIGITS) | st.just("exact")
COUNTS = st.sampled_from(["hidden", "rounded", "exact"])
LEAST = st.integers(0, MOST_DEMANDED)
EPSILONS = st.floats(0, MOST_EPSILON, exclude_min=True)
FLOORS = st.fixed_dictionaries(
    {},
    optional={
        **{name: LEAST for name in Floors.__struct_fields__ if name.startswith("minimum")},
        "largest_owner_fraction": FRACTIONS,
        "digits": DIGITS,
        "counts": COUNTS,
        "epsilon": EPSILONS,
    },
)
POLICIES = st.fixed_dictionaries(
    {"kind": st.just("exact")},
    optional={
        **{
            name: st.integers(2, MOST_DEMANDED)
            for name in Policy.__struct_fields__
            if name.startswith("minimum")
        },
        "largest_owner_fraction": FRACTIONS,
        "digits": DIGITS,
        "counts": COUNTS,
        "whole_tables": st.booleans(),
    },
) | st.fixed_dictionaries(
    {"kind": st.just("private")},
    optional={"epsilon": EPSILONS, "rows_per_person": st.integers(1, 1000)},
)
FAST_TERMS = st.fixed_dictionaries(
    {
        "metrics": st.tuples(AREAS, OTHERS).map(lambda both: [*both[0], *both[1]]),
        "protocol": PROTOCOLS["fast"],
        "policy": st.fixed_dictionaries(
            {"kind": st.just("exact")},
            optional={"digits": DIGITS, "counts": COUNTS, "minimum_positives": LEAST},
        ),
    },
    optional={
        "limits": st.just({"attempts": 7, "retention_days": 1}),
        "confidence_level": st.none() | st.floats(0, 1, exclude_min=True, exclude_max=True),
    },
)
PAPER_TERMS = st.fixed_dictionaries(
    {
        "metrics": AREAS,
        "protocol": PROTOCOLS["paper"],
        "policy": st.just({"kind": "exact"}),
    },
    optional={"limits": st.just({"attempts": 7, "retention_days": 1})},
)
JOBS = st.fixed_dictionaries(
    {
        "terms": FAST_TERMS | PAPER_TERMS,
        "sizes": st.lists(st.integers(50, 1000), min_size=2, max_size=6),
    }
)
LINES = st.text(st.characters(exclude_categories=["Cs"]).filter(str.isprintable), max_size=20)
EVALUATED = st.fixed_dictionaries(
    {},
    optional={
        **dict.fromkeys(("description", "model", "version", "outcome", "positive_class"), LINES),
        "score_direction": st.just("higher"),
        "score_scale": st.sampled_from(["any", "probability"]),
        "submissions_until": st.none() | st.dates(max_value=date(9999, 12, 30)).map(date.isoformat),
    },
)
WHOLE: dict[type, Values] = {
    EvaluationSpec: EVALUATED,
    Floors: FLOORS,
    Job: JOBS,
    Policy: POLICIES,
    Protocol: st.one_of(*PROTOCOLS.values()),
    ResultShare: PARTS.map(lambda raw: base64.b64encode(raw).decode()),
    Salt: st.binary(min_size=32, max_size=32).map(bytes.hex),
    Time: st.floats(-1e12, 1e12).map(as_time).map(str),
}


def messages(kind: type[StrictModel]) -> st.SearchStrategy[StrictModel]:
    return _any(inspect.type_info(kind)).map(lambda content: from_builtins(kind, content))


def _any(info: inspect.Type) -> Values:
    whole = WHOLE.get(getattr(info, "cls", type(None)))
    if whole is not None:
        return whole
    match info:
        case inspect.StructType() | inspect.DataclassType():
            fields = {field.encode_name: _any(field.type) for field in info.fields}
            optional = [field.encode_name for field in info.fields if not field.required]
            tag = info.tag_field if isinstance(info, inspect.StructType) else None
            return st.fixed_dictionaries(
                {name: fields[name] for name in fields if name not in optional}
                | ({tag: st.just(getattr(info, "tag", None))} if tag else {}),
                optional={name: fields[name] for name in optional},
            )
        case inspect.VarTupleType():
            return st.lists(_any(info.item_type), max_size=3)
        case inspect.TupleType():
            return st.tuples(*map(_any, info.item_types)).map(list)
        case inspect.DictType():
            return st.dictionaries(_any(info.key_type), _any(info.value_type), max_size=3)
        case inspect.UnionType():
            return st.one_of(*map(_any, info.types))
    return _scalar(info)


def _scalar(info: inspect.Type) -> Values:
    match info:
        case inspect.NoneType():
            return st.none()
        case inspect.StrType() if info.pattern is not None:
            count = PATTERNS[info.pattern]
            return st.binary(min_size=count, max_size=count).map(bytes.hex)
        case inspect.StrType() if info.min_length:
            return TEXTS.filter(bool)
        case inspect.StrType():
            return TEXTS
        case inspect.BytesType():
            return BASE64
        case inspect.IntType():
            least = -(2**63) if info.ge is None else info.ge
            return st.integers(least, 2**63 - 1 if info.le is None else info.le)
        case inspect.FloatType():
            return st.floats(allow_nan=False, allow_infinity=False)
        case inspect.BoolType():
            return st.booleans()
        case inspect.EnumType():
            return st.sampled_from([member.value for member in info.cls])
    raise NotImplementedError(f"say what {info} may be")
