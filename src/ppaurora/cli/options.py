"""Options that several commands have, said once."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Annotated, Any, TypeVar, cast, get_args, get_origin, get_type_hints

import click

from ppaurora.agreement.metric_parameters import missing_parameters
from ppaurora.data import Columns
from ppaurora.data.deriving import ALL
from ppaurora.data.design import MOST_WEIGHT
from ppaurora.data.further import LEFT_OUT_REASONS
from ppaurora.errors import InputError, StudyNotNamedError
from ppaurora.io.models import StrictModel, checked
from ppaurora.metrics import METRICS, Metric, find_metric
from ppaurora.policy.rules import EPSILON, EXACT, KINDS, Policy
from ppaurora.protocols import DEFAULT_PROTOCOL, protocols

F = TypeVar("F", bound=Callable[..., Any])
_WITH_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_.-]*=")

format_option = click.option(
    "--format",
    "output",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="Text for people, or JSON on standard output.",
)
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


def study_option(command: F) -> F:
    """Add `--study`; where a kit has several studies and none is named, the command says so."""

    @functools.wraps(command)
    def told(*arguments: Any, **options: Any) -> Any:
        try:
            return command(*arguments, **options)
        except StudyNotNamedError as error:
            raise InputError(f"{error.kit}: name one of its studies with --study: {error.studies}") from None

    return click.option("--study", help="Which of the kit's studies, if it has several.")(cast("F", told))


def column_options(command: F) -> F:
    """Add options for the columns of a file; the command takes them as one argument, `columns`."""

    @functools.wraps(command)
    def collected(
        *arguments: Any,
        score: tuple[str, ...],
        label: tuple[str, ...],
        group: tuple[str, ...],
        patient: str | None,
        weight: str | None,
        leave_out_missing: bool,
        left_out: tuple[str, ...],
        pos_label: str | None,
        sheet: str | None,
        encoding: str | None,
        percent: bool,
        id_column: str | None = None,
        **rest: Any,
    ) -> Any:
        score_column, scores = _one_or_named("score", score, "a")
        label_column, labels = _one_or_named("label", label, "died")
        columns = Columns(
            score=score_column,
            label=label_column,
            id=id_column,
            pos_label=pos_label,
            scores=scores,
            labels=labels,
            groups=_named("group", group, "sex=COLUMN"),
            patient=patient,
            weight=weight,
            leave_out_missing=leave_out_missing,
            left_out={
                reason: _count(reason, text)
                for reason, text in _named("left-out", left_out, "excluded=12").items()
            },
            sheet=sheet,
            encoding=encoding,
            percent=percent,
        )
        return command(*arguments, columns=columns, **rest)

    return _with_column_options(cast("F", collected))


def one_model_options(command: F) -> F:
    """Add those of the columns that a study of one model and one outcome has; likewise as `columns`."""

    @functools.wraps(command)
    def collected(
        *arguments: Any,
        score: tuple[str, ...],
        label: tuple[str, ...],
        pos_label: str | None,
        leave_out_missing: bool,
        sheet: str | None,
        encoding: str | None,
        percent: bool,
        **rest: Any,
    ) -> Any:
        for option, given in (("score", score), ("label", label)):
            if len(given) > 1 or _WITH_NAME.match(given[0]):
                raise InputError(
                    f"--{option}: give the name of one column; 'ppaurora poc start' rehearses a study of one "
                    "model and one outcome; for several, use 'ppaurora evaluate', or write a plan"
                )
        columns = Columns(
            score=score[0],
            label=label[0],
            pos_label=pos_label,
            leave_out_missing=leave_out_missing,
            sheet=sheet,
            encoding=encoding,
            percent=percent,
        )
        return command(*arguments, columns=columns, **rest)

    wrapped = cast("F", collected)
    for option in (
        *_form_options,
        _leave_out_missing_option,
        _pos_label_option,
        _column_option("label", "Column with the true labels."),
        _column_option("score", "Column with the model's scores."),
    ):
        wrapped = option(wrapped)
    return wrapped


def _column_option(name: str, what: str) -> Callable[[F], F]:
    return click.option(f"--{name}", multiple=True, default=[name], show_default=True, help=what)


_leave_out_missing_option = click.option(
    "--leave-out-missing",
    is_flag=True,
    help="Leave out rows without a score or a label, and count them; else they are refused.",
)
_pos_label_option = click.option(
    "--pos-label", help="The positive label, if labels are not 0/1 or true/false."
)


_form_options = (  # how a file is written
    click.option(
        "--percent",
        is_flag=True,
        help="Read scores with a percent sign as hundredths; else they are refused.",
    ),
    click.option(
        "--encoding", help="Encoding of a text file that is neither UTF-8 nor UTF-16, such as cp1252."
    ),
    click.option("--sheet", help="Sheet of an Excel workbook, if several have values."),
)


def _with_column_options(command: F) -> F:
    for option in (
        *_form_options,
        click.option(
            "--left-out",
            multiple=True,
            metavar="REASON=N",
            help=f"How many rows are not in the data any more: {', '.join(LEFT_OUT_REASONS)}. Repeatable.",
        ),
        _leave_out_missing_option,
        click.option(
            "--weight", help="Column that says how often each row counts, if the study has weights."
        ),
        click.option(
            "--patient", help="Column that tells patients apart, if the study has one; it is not sent."
        ),
        click.option(
            "--group",
            multiple=True,
            metavar="NAME=COLUMN",
            help="Column of one of the study's subgroup variables. Repeatable.",
        ),
        _pos_label_option,
        _column_option("label", "Column with the true labels; of several outcomes, NAME=COLUMN for each."),
        _column_option("score", "Column with the model's scores; of several models, NAME=COLUMN for each."),
    ):
        command = option(command)
    return command


def _one_or_named(option: str, given: tuple[str, ...], example: str) -> tuple[str, dict[str, str]]:
    """Return a column, or columns by name; what stands before '=' is a name only if it can be one."""
    if len(given) == 1 and not _WITH_NAME.match(given[0]):
        return given[0], {}
    return getattr(Columns(), option), _named(option, given, f"{example}=COLUMN")


def _named(option: str, given: tuple[str, ...], example: str) -> dict[str, str]:
    """Return what stands behind '=' by what stands before it."""
    found: dict[str, str] = {}
    for text in given:
        name, is_there, value = text.partition("=")
        name, value = name.strip(), value.strip()
        if not (is_there and name and value):
            raise InputError(f"--{option}: write a name, '=', and what it stands for, as in {example}")
        if name in found:
            raise InputError(f"--{option} {name}: stands more than once")
        found[name] = value
    return found


def _count(reason: str, text: str) -> int:
    if not (text.isascii() and text.isdecimal()):
        raise InputError(f"--left-out {reason}: write a whole number of rows")
    return int(text)


levels_option = click.option(
    "--levels",
    multiple=True,
    metavar="NAME=LEVEL,...",
    help="A variable that makes subgroups, and its levels as the data spells them. Repeatable; of a variable "
    "that is given more than once, each is one level, which may have commas: age='[0,50)'.",
)


def design_options(command: F) -> F:
    """Add what a plan says of models and subgroups; the command takes it as one argument, `design`.

    It holds those fields of a `Design` that were given.
    """

    @functools.wraps(command)
    def collected(
        *arguments: Any,
        compare: tuple[str, ...],
        levels: tuple[str, ...],
        most_weight: int | None,
        sites: bool,
        **rest: Any,
    ) -> Any:
        return command(*arguments, design=_design_fields(compare, levels, most_weight, sites), **rest)

    wrapped = cast("F", collected)
    for option in (
        click.option("--sites", is_flag=True, help="Also compute heterogeneity between owners."),
        click.option(
            "--most-weight", type=int, help="The largest weight that a row may have; 100 by default."
        ),
        levels_option,
        click.option(
            "--compare",
            multiple=True,
            metavar="A,B",
            help="Two models to compare on the same samples, or all. Repeatable.",
        ),
    ):
        wrapped = option(wrapped)
    return wrapped


def _design_fields(
    compare: tuple[str, ...], levels: tuple[str, ...], most_weight: int | None, sites: bool
) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    if compare == (ALL,):
        fields["comparisons"] = ALL
    elif compare:
        fields["comparisons"] = [_pair(text) for text in compare]
    fields |= subgroup_fields(levels)
    if most_weight is not None:
        if not 1 <= most_weight <= MOST_WEIGHT:
            raise InputError(f"--most-weight: write a whole number from 1 to {MOST_WEIGHT:,}")
        fields["weight"] = {"most": most_weight}
    if sites:
        fields["sites"] = True
    return fields


def subgroup_fields(levels: tuple[str, ...]) -> dict[str, Any]:
    """Return the subgroups of a `Design`, if there are any."""
    given: dict[str, list[str]] = {}
    for one in levels:
        ((name, text),) = _named("levels", (one,), "sex=f,m").items()
        given.setdefault(name, []).append(text)
    found = {
        name: texts if len(texts) > 1 else [level.strip() for level in texts[0].split(",")]
        for name, texts in given.items()
    }
    for name, some in found.items():
        if len(some) < 2:
            raise InputError(
                f"--levels {name}: write all its levels, two at least, with commas between, as in sex=f,m"
            )
    return {"subgroups": {name: {"levels": some} for name, some in found.items()}} if found else {}


def _pair(text: str) -> list[str]:
    names = [name.strip() for name in text.split(",")]
    if len(names) != 2 or not all(names):
        raise InputError("--compare: write two models with a comma between, as in a,b, or once the word all")
    return names


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
    for kind in kinds:
        for name, example in missing_parameters(kind, parameters).items():
            numbers = ",".join(f"{number:g}" for number in example) if isinstance(example, tuple) else example
            raise InputError(
                f"{kind.name}: needs {_flag(name)} as well, for instance {_flag(name)} {numbers}"
            )
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
    "rows_per_person": "Most rows that one person has.",
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
