"""Files that people write, checked: every problem with its place and what to do."""

from __future__ import annotations

import difflib
import json
from collections.abc import Mapping
from typing import Any, TypeVar, get_args

from pydantic import BaseModel, ConfigDict, ValidationError

from ppaurora.errors import InputError

M = TypeVar("M", bound=BaseModel)


class StrictModel(BaseModel):
    """What it does not know it refuses; nothing is converted."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


def checked(model: type[M], content: Any, source: str) -> M:
    """The content as a model, or an error that names the first problem and how many more there are."""
    try:
        return model.model_validate_json(json.dumps(content, default=str))
    except ValidationError as error:
        problems = error.errors(include_url=False, include_input=False)
        # A misspelt setting is often missing under its right name too: the spelling says more.
        first = min(problems, key=lambda problem: problem["type"] != "extra_forbidden")
        more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
        place = ".".join(str(part) for part in first["loc"])
        if first["type"] == "extra_forbidden":
            known = _known_keys(model, first["loc"][:-1])
            hint = _nearest(str(first["loc"][-1]), known)
            raise InputError(f"{source}: {place}: there is no such setting; {hint}{more}") from None
        message = first["msg"].removeprefix("Value error, ")
        message = message[:1].lower() + message[1:]
        raise InputError(f"{source}: {f'{place}: ' if place else ''}{message}{more}") from None


def _nearest(key: str, known: list[str]) -> str:
    close = difflib.get_close_matches(key, known, n=1, cutoff=0.5)
    return f"did you mean '{close[0]}'?" if close else f"there are: {', '.join(known)}"


def _known_keys(model: type[BaseModel], location: tuple[int | str, ...]) -> list[str]:
    """The settings of the part of the model that a location leads to."""
    annotation: Any = model
    for part in location:
        fields: Mapping[str, Any] = getattr(annotation, "model_fields", {})
        inner = fields[str(part)].annotation if str(part) in fields else _last_model(annotation)
        annotation = inner if _is_model(inner) else _last_model(inner) or inner
    return list(getattr(annotation, "model_fields", {}))


def _is_model(annotation: Any) -> bool:
    return isinstance(annotation, type) and issubclass(annotation, BaseModel)


def _last_model(annotation: Any) -> Any:
    """The model inside a dict, tuple or optional."""
    if _is_model(annotation):
        return annotation
    found = [_last_model(part) for part in get_args(annotation)]
    return next((part for part in found if part is not None), None)
