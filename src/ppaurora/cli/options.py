"""Options that several commands have, said once."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Annotated, Any, TypeVar, cast, get_args, get_origin, get_type_hints

import click

from ppaurora.data import Columns
from ppaurora.errors import InputError
from ppaurora.io.models import StrictModel, checked
from ppaurora.metrics import METRICS, Metric, find_metric
from ppaurora.policy.rules import EPSILON, EXACT, KINDS, Policy
from ppaurora.protocols import DEFAULT_PROTOCOL, protocols

F = TypeVar("F", bound=Callable[..., Any])

format_option = click.option(
    "--format",
    "output",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="Text for people, or JSON on standard output.",
)
study_option = click.option("--study", help="Which of the kit's studies, if it has several.")
force_option = click.option(
    "--force",
    is_flag=True,
    help="Proceed even if two servers belong to one organisation, which then sees everything.",
)
expect_hash_option = click.option(
    "--expect-hash", help="Refuse any manifest without this hash; give at least its first 12 digits."
)
id_option = click.option(
    "--id", "id_column", help="Column that identifies samples, to find duplicates; it is not sent."
)
yes_option = click.option("--yes", is_flag=True, help="Do not ask for confirmation.")


def column_options(command: F) -> F:
    """Add options for the columns of a file; the command takes them as one argument, `columns`."""

    @functools.wraps(command)
    def collected(
        *arguments: Any,
        score: str,
        label: str,
        pos_label: str | None,
        id_column: str | None = None,
        **rest: Any,
    ) -> Any:
        columns = Columns(score=score, label=label, id=id_column, pos_label=pos_label)
        return command(*arguments, columns=columns, **rest)

    return _with_column_options(cast("F", collected))


def _with_column_options(command: F) -> F:
    for option in (
        click.option("--pos-label", help="The positive label, if labels are not 0/1 or true/false."),
        click.option("--label", default="label", show_default=True, help="Column with the true labels."),
        click.option("--score", default="score", show_default=True, help="Column with the model's scores."),
    ):
        command = option(command)
    return command


def protocol_options(command: F) -> F:
    """`--protocol`, and the options of `parameter_options`."""
    known = protocols()
    summaries = "; ".join(f"'{name}': {protocol.summary}" for name, protocol in known.items())
    choice = click.Choice(list(known))
    option = click.option(
        "--protocol", type=choice, default=DEFAULT_PROTOCOL, show_default=True, help=f"{summaries}."
    )
    return option(parameter_options(command))


def parameter_options(command: F) -> F:
    """Add an option for every parameter of every protocol; of one that is a model, for each of its fields.

    The command takes those that were given as one argument, `parameters`.
    """
    options = {
        name: [one for parameter in _described(kind.Parameters) for one in _options_for(*parameter)]
        for name, kind in protocols().items()
    }

    @functools.wraps(command)
    def collected(*arguments: Any, **given: Any) -> Any:
        parameters: dict[str, Any] = {}
        for path in (one.path for some in options.values() for one in some):
            value = given.pop("_".join(path))
            if value is not None:
                inside = functools.reduce(
                    lambda table, name: table.setdefault(name, {}), path[:-1], parameters
                )
                inside[path[-1]] = value
        return command(*arguments, parameters=parameters, **given)

    wrapped = cast("F", collected)
    for name, some in reversed(options.items()):
        for one in reversed(some):
            flag = "_".join(one.path)
            help_text = f"For '{name}': {one.description}"
            wrapped = click.option(_flag(flag), flag, type=one.type, help=help_text)(wrapped)
    return wrapped


@dataclass(frozen=True)
class _Option:
    """An option for a parameter, or for a field of one that is a model."""

    path: tuple[str, ...]
    type: type[int | float]
    description: str


def _options_for(parameter: str, hint: Any, description: str) -> list[_Option]:
    kinds = get_args(hint) or (hint,)
    models = [kind for kind in kinds if isinstance(kind, type) and issubclass(kind, StrictModel)]
    if not models:
        return [_Option((parameter,), kinds[0], description)]
    return [
        _Option((parameter, field), kind, f"{of_field.rstrip('.')}; {description}")
        for field, kind, of_field in _described(models[0])
    ]


def _flag(parameter: str) -> str:
    return f"--{parameter.replace('_', '-')}"


def _described(parameters: type[StrictModel]) -> Iterator[tuple[str, Any, str]]:
    """Return names, types, and what they are."""
    for parameter, hint in get_type_hints(parameters, include_extras=True).items():
        kind, *meta = get_args(hint) if get_origin(hint) is Annotated else (hint,)
        yield parameter, kind, meta[0].description if meta else ""


def metric_options(command: F) -> F:
    """Add an option for every parameter of every metric, and for intervals."""
    for parameter, (description, owners) in reversed(metric_parameters().items()):
        of = ", ".join(owners) if len(owners) < 4 else f"{owners[0]} and others"
        command = click.option(_flag(parameter), parameter, help=f"For {of}: {description}")(command)
    return click.option(
        "--confidence-level",
        type=float,
        help="Confidence level of intervals, for instance 0.95; none by default.",
    )(command)


def metric_parameters() -> dict[str, tuple[str, list[str]]]:
    """Return, by name, what a parameter is and which metrics have it."""
    found: dict[str, tuple[str, list[str]]] = {}
    for metric in METRICS.values():
        for parameter, _, description in _described(metric.Parameters):
            found.setdefault(parameter, (description, []))[1].append(metric.name)
    return found


def chosen_metrics(names: str, given: dict[str, str | None]) -> list[Metric]:
    """Metrics by name, with commas; each gets those of the given parameters that it has."""
    parameters = {name: _numbers(name, value) for name, value in given.items() if value is not None}
    kinds = [find_metric(name.strip()) for name in names.split(",") if name.strip()]
    for name in parameters:
        if not any(name in kind.Parameters.__struct_fields__ for kind in kinds):
            whose = ", ".join(metric_parameters()[name][1])
            raise InputError(f"{_flag(name)}: is a parameter of {whose}; none was asked for")
    return [
        kind(**{name: parameters[name] for name in kind.Parameters.__struct_fields__ if name in parameters})
        for kind in kinds
    ]


def _numbers(name: str, text: str) -> list[float] | float:
    """Numbers with commas between; a parameter that is one number is that."""
    try:
        numbers = [float(part) for part in text.split(",")]
    except ValueError:
        raise InputError(f"{_flag(name)}: write numbers separated by commas") from None
    hints = [get_type_hints(metric.Parameters) for metric in METRICS.values()]
    is_list = any(get_origin(hint[name]) is tuple for hint in hints if name in hint)
    return numbers if is_list or len(numbers) != 1 else numbers[0]


_RULES = {
    "minimum_owners": "Minimum number of owners.",
    "minimum_samples": "Minimum number of samples in total.",
    "minimum_samples_per_owner": "Minimum number of samples of each owner.",
    "minimum_positives": "Minimum number of positives, in total and without any one owner.",
    "minimum_negatives": "Minimum number of negatives, likewise.",
    "minimum_per_cell": "Minimum number of samples behind each number of a table, likewise.",
    "rows_per_person": "Most rows that one person has, in a private evaluation.",
}


def policy_options(command: F) -> F:
    """Add options for what may be released: a policy by name, and individual rules of it."""
    for name, what in reversed(_RULES.items()):
        command = click.option(_flag(name), name, type=int, help=what)(command)
    for option in (
        click.option(
            "--counts",
            type=click.Choice(["hidden", "rounded", "exact"]),
            help="How numbers of positives and negatives are released.",
        ),
        click.option(
            "--largest-owner-fraction",
            type=float,
            help="Largest fraction of all samples that one owner may have.",
        ),
        click.option("--digits", help="Decimals of each released number: exact, or a number."),
        click.option(
            "--whole-tables",
            is_flag=True,
            default=None,
            help="Withhold a table as a whole if anything in it would be.",
        ),
        click.option(
            "--epsilon",
            type=float,
            help=f"Privacy budget of a private evaluation; {EPSILON:g} by default, smaller protects more.",
        ),
        click.option(
            "--policy",
            "kind",
            type=click.Choice(KINDS),
            default=EXACT,
            show_default=True,
            help="What may be released: what studies release by default, numbers with noise that protects "
            "every person, or everything. The following options make individual rules stricter.",
        ),
    ):
        command = option(command)
    return command


def chosen_policy(given: dict[str, Any]) -> Policy:
    """Return a policy of a kind, with single rules made stricter."""
    changed = {rule: value for rule, value in given.items() if value is not None}
    digits = changed.get("digits")
    if isinstance(digits, str) and digits.isdecimal():
        changed["digits"] = int(digits)
    return checked(Policy, changed, "policy")
