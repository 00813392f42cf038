"""The examples in the documentation of public names run, and every public name is documented."""

from __future__ import annotations

import doctest
import importlib
import inspect

import pytest

import ppaurora

MODULES = ("ppaurora", "ppaurora.evaluation", "ppaurora.report", "ppaurora.data.samples")


@pytest.mark.parametrize("module", MODULES)
def test_the_examples_run(module: str) -> None:
    """Those of `ppaurora.owner.study` need nodes: tests/node/test_documented_study.py."""
    found = doctest.testmod(importlib.import_module(module))
    assert found.attempted > 0
    assert found.failed == 0


CLASSES = [value for name in ppaurora.__all__ if inspect.isclass(value := getattr(ppaurora, name))]


@pytest.mark.parametrize("public", [*CLASSES, ppaurora.evaluate], ids=lambda public: public.__name__)
def test_public_names_are_documented(public: type) -> None:
    assert (public.__doc__ or "").strip()
    assert not (public.__doc__ or "").startswith(f"{public.__name__}(")  # what a dataclass makes up
    for name, member in vars(public).items():
        if not name.startswith("_") and (isinstance(member, property) or inspect.isfunction(member)):
            assert (member.__doc__ or "").strip(), f"{public.__name__}.{name}"


@pytest.mark.parametrize("public", [ppaurora.evaluate, ppaurora.Study, ppaurora.Study.evaluate])
def test_every_parameter_is_documented(public: type) -> None:
    documented = (public.__doc__ or "").split("Parameters\n")[1]
    for name, parameter in inspect.signature(public).parameters.items():
        if name != "self":
            stars = "**" if parameter.kind is parameter.VAR_KEYWORD else ""
            assert f"{stars}{name}" in documented, name
