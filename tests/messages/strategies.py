"""Any value of any type that messages are made of, as JSON holds it."""

from __future__ import annotations

import base64
from typing import Any

from hypothesis import strategies as st
from msgspec import inspect

from ppaurora.models import StrictModel, from_builtins
from ppaurora.protocols import Protocol
from ppaurora.sharing.stages import ResultShare
from ppaurora.terms import Job
from tests.messages.vectors.examples import PATTERNS

Values = st.SearchStrategy[Any]

# JSON in UTF-8 has no surrogates.
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
BASE64 = st.binary(max_size=40).map(lambda raw: base64.b64encode(raw).decode())
PARTS = st.integers(1, 6).flatmap(lambda columns: st.binary(min_size=16 * columns, max_size=16 * columns))

PROTOCOLS = st.one_of(
    st.fixed_dictionaries({"name": st.just("fast"), "key_bits": st.sampled_from([32, 64])}),
    st.fixed_dictionaries({"name": st.just("paper"), "delta": st.integers(0, 50).map(lambda k: 2 * k + 1)}),
)
METRICS = st.lists(st.sampled_from(["auroc", "aupr", "ap", "auroc_no_ties"]), min_size=1, unique=True)
JOBS = st.fixed_dictionaries(
    {
        "terms": st.fixed_dictionaries(
            {"metrics": METRICS, "protocol": PROTOCOLS},
            optional={"limits": st.just({"attempts": 7}), "release": st.just({"retention_days": 1})},
        ),
        "sizes": st.lists(st.integers(1, 1000), min_size=2, max_size=6),
    }
)
WHOLE: dict[type, Values] = {
    Job: JOBS,
    Protocol: PROTOCOLS,
    ResultShare: PARTS.map(lambda raw: base64.b64encode(raw).decode()),
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
