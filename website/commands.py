"""The reference of the command line: every command and option, as its parser has them."""

from __future__ import annotations

from argparse import Action, ArgumentParser, BooleanOptionalAction
from importlib import import_module

from adk_prism.extension import KERNEL_COMMANDS, Command, installed
from website.markdown import code, plain, table


def commands() -> str:
    """Return a section for each command."""
    found = KERNEL_COMMANDS | dict(sorted(installed().commands().items()))
    return "\n\n".join(_section(command) for command in found.values())


def _section(command: Command) -> str:
    name, text = command.name, command.summary
    parser = ArgumentParser(prog=f"adk-prism {name}", add_help=False)
    import_module(command.module).register(parser)
    given = [action for action in parser._actions if action.help != "==SUPPRESS=="]
    given.sort(key=lambda action: bool(action.option_strings))
    words = [_positional(action) for action in given if not action.option_strings]
    usage = " ".join([parser.prog, *words, *(["[options]"] if len(words) < len(given) else [])])
    parts = [f"## {name}", f"{text[0].upper()}{text[1:]}.", f"    {usage}"]
    if given:
        rows = [[code(_spelling(action)), _help(parser, action)] for action in given]
        parts.append(table(["argument", "what it is"], rows))
    return "\n\n".join(parts)


def _positional(action: Action) -> str:
    word = str(action.metavar or action.dest.upper())
    shapes = {"?": f"[{word}]", "*": f"[{word} …]", "+": f"{word} […]"}
    return shapes.get(str(action.nargs), word)


def _spelling(action: Action) -> str:
    if not action.option_strings:
        return str(action.metavar or action.dest.upper())
    spellings = [each for each in action.option_strings if not each.startswith("--no-")]
    if isinstance(action, BooleanOptionalAction):
        return f"{', '.join(spellings)}, --no-{spellings[0][2:]}"
    value = action.metavar or ("|".join(map(str, action.choices)) if action.choices else "")
    takes = action.nargs != 0
    return ", ".join(spellings) + (f" {value or action.dest.upper()}" if takes else "")


def _help(parser: ArgumentParser, action: Action) -> str:
    # argparse writes values such as %(default)s into a text; %% is a plain sign.
    values = vars(action) | {"prog": parser.prog}
    return plain((action.help or "") % values)
