"""`adk-prism setup CLIENT`: names the MCP server in the configuration of a coding agent's client.

It shows what it would write, and asks. Only our own entry is written or, with `--undo`, removed; what else is
in the file stays as it is. A file that cannot be read safely (comments, damaged) is left alone: then the text
to put there is printed.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple

from adk_prism.cli import fail
from adk_prism.cli.terminal import write_text
from adk_prism.errors import UsageError

NAME = "adk-prism"
_TABLE = f"[mcp_servers.{NAME}]"

Json = dict[str, Any]


class Client(NamedTuple):
    """Where a client has its servers, in the folder of a project."""

    path: str
    key: str
    """Of the object that has them; empty: the file is TOML."""
    skill: str = ""
    """Where it looks for skills."""


CLIENTS = {
    "claude": Client(".mcp.json", "mcpServers", ".claude/skills/adk-prism/SKILL.md"),
    "codex": Client(".codex/config.toml", ""),
    "cursor": Client(".cursor/mcp.json", "mcpServers"),
    "gemini": Client(".gemini/settings.json", "mcpServers"),
    "vscode": Client(".vscode/mcp.json", "servers"),
}


def register(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("client", choices=CLIENTS, help="whose configuration is written")
    parser.add_argument(
        "--dir", default=".", metavar="FOLDER", help="folder of the project (default: this one)"
    )
    parser.add_argument("--url", default="", help="the adk-prism server (default: on this machine)")
    parser.add_argument(
        "--allow-run", action="store_true", help="let the client run agents, not only read"
    )
    parser.add_argument("--undo", action="store_true", help="remove what this command wrote")
    parser.add_argument("--yes", action="store_true", help="write without asking")


def execute(args: argparse.Namespace) -> int:
    """Write the configuration. Return 1 if nobody agreed; raise `UsageError` for a file left alone."""
    client, folder = CLIENTS[args.client], Path(args.dir)
    if not folder.is_dir():
        raise UsageError(f"--dir {args.dir!r} is not a folder.")
    words = ["mcp", *(["--url", args.url] if args.url else [])]
    words += ["--allow-run"] if args.allow_run else []
    changes = _changes(client, folder, words, undo=args.undo)
    if not changes:
        write_text("Nothing to change.\n")
        return 0
    for path, text in changes.items():
        shown = "is removed" if text is None else f"becomes:\n{text.rstrip()}"
        write_text(f"{path} {shown}\n\n")
    if not args.yes and not _agrees():
        return fail("nothing was changed", 1)
    for path, text in changes.items():
        if text is None:
            path.unlink()
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
    return 0


def _agrees() -> bool:
    if not sys.stdin.isatty():
        raise UsageError("Nobody can be asked here; add --yes to write it.")
    return input("Write this? [y/N] ").strip().lower() in ("y", "yes")


def _changes(
    client: Client, folder: Path, words: list[str], *, undo: bool
) -> dict[Path, str | None]:
    """Return the files that change, and what is in them then; None: the file goes."""
    changed: dict[Path, str | None] = {}
    path = folder / client.path
    before = _read(path)
    edit: Callable[..., str] = _edit_json if client.key else _edit_toml
    after = edit(before, client, None if undo else words)
    if after != before:
        changed[path] = after if after.strip() not in ("", "{}") else None
    if client.skill:
        skill = folder / client.skill
        wanted = "" if undo else skill_text()
        if _read(skill) != wanted:
            changed[skill] = wanted or None
    return changed


def skill_text() -> str:
    """Return the skill: how to find, explain and mend a failing run."""
    return files("adk_prism.features.mcp").joinpath("skill.md").read_text(encoding="utf-8")


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return ""
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path} cannot be read: {type(error).__name__}.") from None


def _entry(words: list[str], client: Client) -> Json:
    entry: Json = {"command": NAME, "args": words}
    return {"type": "stdio", **entry} if client.key == "servers" else entry


def _edit_json(before: str, client: Client, words: list[str] | None) -> str:
    """Return the file with our entry, or without it."""
    try:
        data = json.loads(before) if before.strip() else {}
        servers = data.get(client.key, {})
        known = servers.get(NAME)
    except (ValueError, AttributeError):
        entry = json.dumps({client.key: {NAME: _entry(words or ["mcp"], client)}}, indent=2)
        raise UsageError(
            f"{client.path} is not plain JSON, and was left alone. Add or remove this yourself:\n{entry}"
        ) from None
    if known == (None if words is None else _entry(words, client)):
        return before
    text = before
    if known is not None:
        del servers[NAME]
        if not servers:
            del data[client.key]
        text = _first_that_says(data, _without_entry(text, client))
    if words is not None:
        has_others = bool(data), bool(data.get(client.key))
        data.setdefault(client.key, {})[NAME] = own = _entry(words, client)
        text = _first_that_says(data, _with_entry(text, client, own, has_others))
    return text


def _with_entry(text: str, client: Client, entry: Json, has_others: tuple[bool, bool]) -> list[str]:
    """Return the file with our entry as the first one, in the places where that may be."""
    found = re.search(r'\n([ \t]+)"', text)
    one = found[1] if found is not None else "  "
    own = f'\n{one * 2}"{NAME}": {json.dumps(entry)}'
    ends = "," if has_others[1] else f"\n{one}"
    places = [m.end() for m in re.finditer(rf'"{client.key}"\s*:\s*\{{', text)]
    found_there = [text[:at] + own + ends + text[at:] for at in places]
    ends = "," if has_others[0] else "\n"
    return [*found_there, text.replace("{", f'{{\n{one}"{client.key}": {{{own}\n{one}}}{ends}', 1)]


def _without_entry(text: str, client: Client) -> list[str]:
    """Return the file without our entry, in the ways in which it may stand there."""
    entry = rf'"{NAME}"\s*:\s*\{{[^{{}}]*\}}'
    forms = [rf'"{client.key}"\s*:\s*\{{\s*{entry}\s*\}}', entry]
    around = [(r"\s*", r"\s*,"), (r",\s*", ""), (r"\s*", r"\s*")]
    return [re.sub(a + form + b, "", text, count=1) for form in forms for a, b in around]


def _first_that_says(data: Json, texts: Sequence[str]) -> str:
    """Return the first text with these data; none: they are written anew."""
    for text in texts:
        with suppress(ValueError):
            if json.loads(text) == data:
                return text
    return json.dumps(data, indent=2, ensure_ascii=False) + "\n"


def _edit_toml(before: str, client: Client, words: list[str] | None) -> str:
    """Return the file with our table at its end, or without it. All other lines stay as they are."""
    del client
    kept: list[str] = []
    is_ours = False
    for line in before.splitlines():
        if line.strip().startswith("["):
            is_ours = line.strip() == _TABLE
        if not is_ours:
            kept.append(line)
    rest = "\n".join(kept).rstrip()
    if words is None:
        return f"{rest}\n" if rest and _TABLE in before else ("" if _TABLE in before else before)
    table = f"{_TABLE}\ncommand = {json.dumps(NAME)}\nargs = {json.dumps(words)}\n"
    return f"{rest}\n\n{table}" if rest else table
