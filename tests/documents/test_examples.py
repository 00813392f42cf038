"""The examples in the documentation of public names run, and every public name is documented and has one."""

from __future__ import annotations

import doctest
import importlib
import inspect

import pytest

import ppaurora
from tests.support.examples import NO_OBJECTS, OF_OTHERS, ON_NODES, run_examples

MODULES = (
    "ppaurora",
    "ppaurora.evaluation.evaluate",
    "ppaurora.evaluation.report",
    "ppaurora.data.samples",
    "ppaurora.plot",
)


@pytest.mark.parametrize("module", MODULES)
def test_the_examples_run(module: str) -> None:
    found = doctest.testmod(importlib.import_module(module))
    assert found.attempted > 0
    assert found.failed == 0


@pytest.mark.parametrize("name", sorted(set(ppaurora.__all__) - {*ON_NODES, *OF_OTHERS, *NO_OBJECTS}))
def test_every_public_name_has_an_example_that_runs(name: str) -> None:
    """Those that need nodes: tests/node/test_documented_study.py."""
    assert run_examples(name) > 0


def test_what_has_no_example_is_known() -> None:
    assert {*ON_NODES, *OF_OTHERS, *NO_OBJECTS} <= set(ppaurora.__all__)
    described = ppaurora.__doc__ or ""
    assert all(name in described for name in NO_OBJECTS)


CLASSES = [value for name in ppaurora.__all__ if inspect.isclass(value := getattr(ppaurora, name))]


@pytest.mark.parametrize("public", [*CLASSES, ppaurora.evaluate], ids=lambda public: public.__name__)
def test_public_names_are_documented(public: type) -> None:
    assert (public.__doc__ or "").strip()
    assert not (public.__doc__ or "").startswith(f"{public.__name__}(")  # what a dataclass makes up
    for name, member in vars(public).items():
        if not name.startswith("_") and (isinstance(member, property) or inspect.isfunction(member)):
            assert (member.__doc__ or "").strip(), f"{public.__name__}.{name}"


@pytest.mark.parametrize(
    "public",
    [ppaurora.evaluate, ppaurora.Study, ppaurora.Study.evaluate, ppaurora.Study.submit],
    ids=lambda public: public.__qualname__,
)
def test_every_parameter_is_documented(public: type) -> None:
    documented = (public.__doc__ or "").split("Parameters\n")[1]
    for name, parameter in inspect.signature(public).parameters.items():
        if name != "self":
            stars = "**" if parameter.kind is parameter.VAR_KEYWORD else ""
            assert f"{stars}{name}" in documented, name
