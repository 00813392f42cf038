"""Help: every command belongs to one role, and has an example that parses; shells complete what there is."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

import click
import pytest

from ppaurora.cli.main import COMMANDS, ROLES, cli
from tests.support.command_line import CommandLine
from tests.support.guide import GUIDE

SHELLS = ("bash", "zsh", "fish")
# As on the command line: a command remembers the help options of the first context that asks for its help.
PROGRAM = click.Context(cli, info_name="ppaurora", **cli.context_settings)


def all_commands(group: click.Group = cli, path: tuple[str, ...] = ()) -> Iterator[tuple[str, click.Command]]:
    """By what is typed behind `ppaurora`; groups' own commands, too."""
    context = PROGRAM if group is cli else click.Context(group, parent=PROGRAM)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        yield " ".join((*path, name)), command
        if isinstance(command, click.Group):
            yield from all_commands(command, (*path, name))


ALL = dict(all_commands())


def examples_of(command: click.Command) -> list[list[str]]:
    """The words of every example, without what the shell takes."""
    lines = [line.strip() for line in (command.epilog or "").splitlines()]
    return [shlex.split(line.split(" > ")[0]) for line in lines if line.startswith("ppaurora ")]


def parse(words: list[str]) -> str:
    """As the command line does it, without doing anything. The command that it is for."""
    assert words[0] == "ppaurora"
    command: click.Command = cli
    context, path, rest = PROGRAM, [], words[1:]
    while isinstance(command, click.Group):
        name, *rest = rest
        found = command.get_command(context, name)
        assert found is not None, f"there is no command {name}"
        path.append(name)
        command = found
    with command.make_context(path[-1], list(rest), parent=context):
        return " ".join(path)


def test_every_command_has_exactly_one_role() -> None:
    named = list(chain.from_iterable(ROLES.values()))
    assert sorted(named) == sorted(set(named)) == sorted(COMMANDS)
    assert sorted(named) == sorted(cli.list_commands(PROGRAM))
    assert {name for name in ALL if " " not in name} == set(named)


def test_the_help_shows_the_commands_by_role(command: CommandLine) -> None:
    said = command("--help").out
    places = [said.index(f"\n{role}:\n") for role in ROLES]
    assert places == sorted(places)
    for role, start, end in zip(ROLES, places, [*places[1:], said.rindex("Example")], strict=True):
        shown = [
            line.split()[0] for line in said[start:end].splitlines() if line[:3].strip() and line[:1] == " "
        ]
        assert shown == list(ROLES[role])
    assert "..." not in said.split("\n\n", 1)[1]  # no sentence is cut


def test_the_help_of_a_proof_of_concept_has_its_commands_in_order_and_uncut(command: CommandLine) -> None:
    said = command("poc", "--help").out.split("\nCommands:\n")[1].split("\n\n")[0]
    shown = [line.split()[0] for line in said.splitlines() if line[:3].strip()]
    assert shown == ["start", "status", "stop", "clean"]
    assert "..." not in said


@pytest.mark.parametrize("name", ALL)
def test_every_command_has_an_example_that_parses(name: str) -> None:
    examples = examples_of(ALL[name])
    assert examples
    for words in examples:
        parsed = parse(words)
        assert parsed == name or parsed.startswith(f"{name} ")


def test_the_program_itself_has_examples() -> None:
    assert [words[1] for words in examples_of(cli)] == ["evaluate", "submit"]


@pytest.mark.parametrize("name", ALL)
def test_the_example_is_in_the_help_as_it_is_typed(name: str) -> None:
    context = click.Context(ALL[name], parent=PROGRAM, info_name=name, terminal_width=80)
    lines = [line.strip() for line in ALL[name].get_help(context).splitlines()]
    for words in examples_of(ALL[name]):
        assert any(line.split(" > ")[0] == shlex.join(words) for line in lines)


@pytest.mark.parametrize(
    ("line", "error"),
    [
        ("ppaurora serve kit --loud", click.NoSuchOption),
        ("ppaurora serve", click.MissingParameter),
        ("ppaurora submit kit scores.csv more", click.UsageError),
        ("ppaurora status kit --format yaml", click.BadParameter),
    ],
)
def test_an_example_that_does_not_parse_is_found(line: str, error: type[click.UsageError]) -> None:
    """The positive control."""
    with pytest.raises(error):
        parse(shlex.split(line))


class Completing:
    """What the program answers a shell that asks by environment variables, as in a process of its own."""

    def __init__(self, command: CommandLine, patch: pytest.MonkeyPatch) -> None:
        self.command = command
        self.patch = patch

    def __call__(self, instruction: str, **more: str) -> str:
        for name, value in {"_PPAURORA_COMPLETE": instruction, **more}.items():
            self.patch.setenv(name, value)
        done = self.command()
        assert (done.code, done.err) == (0, "")
        return done.out

    def completed(self, *words: str) -> list[str]:
        """Return what the program offers bash for the last of these words."""
        line, place = " ".join(("ppaurora", *words)), str(len(words))
        return self("bash_complete", COMP_WORDS=line, COMP_CWORD=place).splitlines()


@pytest.fixture
def completing(command: CommandLine, monkeypatch: pytest.MonkeyPatch) -> Completing:
    return Completing(command, monkeypatch)


@pytest.mark.parametrize("shell", SHELLS)
def test_a_script_for_every_shell(shell: str, completing: Completing) -> None:
    said = completing(f"{shell}_source")
    assert f"_PPAURORA_COMPLETE={shell}_complete" in said
    if shutil.which(shell):
        done = subprocess.run([shell, "-n"], input=said, text=True, capture_output=True, check=False)
        assert (done.returncode, done.stderr) == (0, "")


def test_commands_and_options_are_completed(completing: Completing) -> None:
    completed = completing.completed
    assert completed("sub") == ["plain,submit"]
    assert completed("st") == ["plain,status", "plain,studies", "plain,stop"]
    assert completed("poc", "sta") == ["plain,start", "plain,status"]
    assert completed("submit", "--re") == ["plain,--replace"]
    assert completed("evaluate", "--protocol", "") == ["plain,fast", "plain,grid", "plain,paper"]
    assert completed("submit", "k") == ["dir,k"]
    assert completed("check", "d") == ["file,d"]


def test_the_documented_lines_make_shells_complete(tmp_path: Path) -> None:
    lines = re.findall(r"`_PPAURORA_COMPLETE=(\w+)_source ppaurora >>? ~/([^\s`]+)`", GUIDE)
    assert [shell for shell, _ in lines] == list(SHELLS)
    program = tmp_path / "bin" / "ppaurora"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m ppaurora "$@"\n')
    program.chmod(0o755)
    environment = os.environ | {"HOME": str(tmp_path), "PATH": f"{program.parent}:{os.environ['PATH']}"}
    (tmp_path / ".config/fish/completions").mkdir(parents=True)
    for line in re.findall(r"`(_PPAURORA_COMPLETE=[^`]*)`", GUIDE):
        subprocess.run(["/bin/sh", "-eu", "-c", line], env=environment, check=True, timeout=300)
    assert all((tmp_path / file).stat().st_size > 100 for _, file in lines)
    pressed = "COMP_WORDS=(ppaurora with); COMP_CWORD=1; _ppaurora_completion ppaurora; echo ${COMPREPLY[@]}"
    script = f"source ~/.bashrc; complete -p ppaurora; {pressed}"
    bash = shutil.which("bash") or "/bin/bash"
    done = subprocess.run(
        [bash, "--norc", "-c", script], env=environment, capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines() == ["complete -o nosort -F _ppaurora_completion ppaurora", "withdraw"]
