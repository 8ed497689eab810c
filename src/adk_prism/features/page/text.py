"""The panels of a recording as rows for a person.

`adk-prism view` prints them all; the console shows those of a session, and writes calls the same way.
The research plan has a module of its own. JSON has everything, so long values are shortened.
"""

from __future__ import annotations

import argparse
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from adk_prism.cli import RECORDING_FILE, terminal
from adk_prism.errors import SourceError
from adk_prism.facts.run_reader import CaptureEnding
from adk_prism.features.captures.recording_file import read_run
from adk_prism.features.captures.stored_runs import add_prices, given_prices
from adk_prism.features.grounding import text as grounding
from adk_prism.features.page.film import Film
from adk_prism.features.proof.prose.confidence_value import LEVELS

_CALLS: dict[str, tuple[str, terminal.Style]] = {
    "answered": ("← ", "dim"),
    "failed": ("✗ failed: ", "error"),
    "denied": ("✗ denied: ", "error"),
    "abandoned": ("✗ stopped before it returned", "error"),
    "awaiting approval": ("? needs approval ", "ask"),
}
"""What stands below a call, by its status; any other is not over yet."""
_STATES: dict[str, terminal.Style] = {"failed": "error", "waiting": "ask", "finished": "good"}

_TITLES = {
    "conversation": "Conversation",
    "timeline": "Timeline",
    "state": "State",
    "graph": "Graph",
    "proof": "Confidence and sources",
    "grounding": "Research plan",
    "artifacts": "Artifacts",
    "nodes": "Agents and tools",
}


def recording_rows(view: Mapping[str, Any], width: int) -> list[terminal.Row]:
    """Return the run in one line, and each panel that the view has, under its title."""
    shown = [*terminal.wrapped(_heading(view), width, "strong")]
    for name, panel in _PANELS.items():
        if name in view:
            shown += [
                terminal.Row(""),
                terminal.Row(_TITLES[name], "title"),
                *panel(view[name], width),
            ]
    return shown


def _heading(view: Mapping[str, Any]) -> str:
    return (
        f"Run {view.get('run', '')} of {view.get('app', '')}: {view['outcome'] or 'running'},"
        f" event {view['at']} of {view['last']}"
    )


def _conversation(items: Sequence[Mapping[str, Any]], width: int) -> Iterator[terminal.Row]:
    for item in items:
        inside = "  " if "within" in item else ""
        for row in _said(item, width - len(inside)):
            yield terminal.Row(inside + row.text, row.style)


def _said(item: Mapping[str, Any], width: int) -> Iterator[terminal.Row]:
    kind = item["kind"]
    if kind == "call":
        yield from _call(item, width)
    elif kind in ("user", "text", "reasoning", "transcript"):
        style: terminal.Style = "user" if kind == "user" else "dim" if kind == "reasoning" else ""
        name = item["speaker"]
        speaker = f"{name} (thinking)" if kind == "reasoning" else name
        for index, line in enumerate(item["text"].splitlines() or [""]):
            yield from terminal.wrapped(
                f"{speaker}: {line}" if not index else f"  {line}", width, style
            )
    elif kind != "end":
        about = {key: value for key, value in item.items() if key not in ("kind", "since", "node")}
        yield from terminal.wrapped(f"· {kind}: {terminal.short_json(about)}", width, "dim")


def call_rows(name: str, given: str, status: str, result: str) -> Iterator[terminal.Row]:
    """Yield a call with its arguments, and below it how far it is; `given` and `result` are short texts."""
    yield terminal.Row(f"→ {terminal.one_line(name)} {given}".rstrip(), "dim")
    mark, style = _CALLS.get(status, (f"… {status}", "dim"))
    result = terminal.one_line(result)
    yield terminal.Row(f"  {mark}{result}" if result else f"  {mark.rstrip(': ')}", style)


def _call(item: Mapping[str, Any], width: int) -> Iterator[terminal.Row]:
    given = terminal.short_json(item["input"]) if item.get("input") is not None else ""
    result = item.get("error") or item.get("reason") or ""
    if "output" in item:
        result = terminal.short_json(item["output"])
    for row in call_rows(item["name"], given, item["status"], result):
        yield from terminal.wrapped(row.text, width, row.style, 4)


def state_rows(view: Mapping[str, Any] | None, width: int) -> list[terminal.Row]:
    """Return every key; keys that the last run changed have a `Δ` and their previous value."""
    changes = {change.key: change for change in view["sinceStart"]} if view else {}
    if not view or not (changes or any(view["snapshot"].values())):
        return [terminal.Row("The session's state is empty.", "dim")]
    shown: list[terminal.Row] = []
    for scope, values in view["snapshot"].items():
        if values:
            shown.append(terminal.Row(f"{scope} ({len(values)})", "title"))
        for key, value in values.items():
            line = f"{key} = {terminal.short_json(value)}  by {view['writers'].get(key, '?')}"
            shown += _key_rows(line, changes.get(key), width)
    for change in changes.values():
        if change.kind == "removed":
            line = f"{change.key} removed, was {terminal.short_json(change.before)}"
            shown += terminal.wrapped(f"Δ {line}", width, "dim", 4)
    return shown


def _key_rows(line: str, change: Any, width: int) -> Iterator[terminal.Row]:
    if change is None:
        yield from terminal.wrapped(f"- {line}", width, hang=4)
        return
    yield from terminal.wrapped(f"Δ {line}", width, "changed", 4)
    if change.kind == "changed":
        yield from terminal.wrapped(f"was {terminal.short_json(change.before)}", width, "dim", 4)


def _state(view: Mapping[str, Any], width: int) -> Iterator[terminal.Row]:
    yield from state_rows(view, width)
    if "difference" in view:
        yield terminal.Row(f"Changes since event {view['from']}", "title")
        for change in view["difference"]:
            both = f"{terminal.short_json(change.before)} → {terminal.short_json(change.after)}"
            yield from terminal.wrapped(f"{change.kind} {change.key}: {both}", width, "changed", 4)
    if "history" in view:
        yield terminal.Row(f"Writes to {view['key']}", "title")
        for write in view["history"]:
            value = "removed" if "removed" in write else terminal.short_json(write["value"])
            text = f"event {write['cursor']}, {write['writer']}: {value}"
            yield from terminal.wrapped(text, width)


def _graph(view: Mapping[str, Any], width: int) -> Iterator[terminal.Row]:
    for node in view["nodes"]:
        text = (
            f"{terminal.one_line(node['id'], 60)} ({node['kind']}): {_ran(node)}, {node['status']}"
        )
        yield from terminal.wrapped(text, width, "error" if node["failures"] else "")
    for edge in view["edges"]:
        keys = f": {', '.join(edge['keys'])}" if edge["keys"] else ""
        text = f"{edge['from']} → {edge['to']} ({edge['kind']}, {edge['count']}×){keys}"
        yield from terminal.wrapped(text, width, "dim", 4)


def _ran(node: Mapping[str, Any]) -> str:
    runs, took = terminal.counted(node["runs"], "run"), terminal.seconds(node["duration"])
    if not node["failures"]:
        return f"{runs}, {took}"
    failures = terminal.counted(node["failures"], "failure")
    return f"{runs}, {failures}, {took}"


def _artifacts(items: Sequence[Mapping[str, Any]], width: int) -> Iterator[terminal.Row]:
    if not items:
        yield terminal.Row("No artifact was saved.", "dim")
    for item in items:
        for saved in item["versions"]:
            text = (
                f"{item['name']}, version {saved['version']}, saved by {saved['author']} at"
                f" event {saved['since']}"
            )
            yield from terminal.wrapped(text, width)


def _nodes(items: Sequence[Mapping[str, Any]], width: int) -> Iterator[terminal.Row]:
    for item in items:
        title = f"{item['name']} ({item['kind']}): {item['status']}, {terminal.seconds(item['duration'])}"
        yield from terminal.wrapped(title, width, _STATES.get(item["status"], "strong"))
        for given in item["received"]:
            value = terminal.short_json(given["value"])
            text = f"from {given['from']}: {value}"
            yield from terminal.wrapped(f"  {text}", width, "dim", 4)
        for said in item["said"]:
            for row in _said(said, width - 2):
                yield terminal.Row(f"  {row.text}", row.style)
        for output in item["outputs"]:
            yield from terminal.wrapped(f"  output: {terminal.short_json(output)}", width, "", 4)
        if item["changes"]:
            yield terminal.Row(
                f"  {terminal.counted(len(item['changes']), 'state change')}", "changed"
            )


# ---------------------------------------------------------------------------
# When things ran: a strip of one row, and a waterfall with a row for each node, below that of its parent.
#
# A tool that only runs an agent has no row of its own: it is that agent. In the strip a column is a
# slice of the run's time, and its sign is the most important thing in it: `█` a tool, `▬` an agent or
# a step, `?` a wait for a person, `·` idle time, `✗` a failure.

MOST_ROWS = 200
"""Most nodes in the waterfall."""
_STATUS: dict[str, tuple[str, terminal.Style]] = {
    "running": ("…", "strong"),
    "finished": ("✓", ""),
    "failed": ("✗", "error"),
    "cancelled": ("■", "dim"),
    "incomplete": ("■", "dim"),
    "waiting": ("?", "ask"),
}
_RANK = "·▬█?✗"
"""Signs by priority in a column, the strongest last."""


def strip(view: Mapping[str, Any] | None, width: int) -> terminal.Row:
    """Return the run as one row of a width."""
    if not view or not view["nodes"]:
        return terminal.Row("No run yet", "dim")
    total = max(view["now"], 0.001)
    summary = (
        f" {terminal.seconds(view['now'])}, {terminal.counted(len(_tree(view['nodes'])), 'node')}"
    )
    summary += f", {terminal.counted(len(view['waits']), 'wait')}" if view["waits"] else ""
    failures = len(view.get("failures", ()))
    summary += f", {terminal.counted(failures, 'failure')}" if failures else ""
    room = max(width - len(summary), 10)
    return terminal.Row("".join(_columns(view, total, room)) + summary)


def _columns(view: Mapping[str, Any], total: float, room: int) -> list[str]:
    columns = ["·"] * room
    for sign, start, end in _stretches(view, total):
        first = min(int(start / total * room), room - 1)
        last = min(max(int(end / total * room), first + 1), room)
        for index in range(first, last):
            if _RANK.index(sign) > _RANK.index(columns[index]):
                columns[index] = sign
    return columns


def _stretches(view: Mapping[str, Any], total: float) -> Iterator[tuple[str, float, float]]:
    for failure in view.get("failures", ()):
        yield "✗", failure["time"], failure["time"]
    for node in view["nodes"]:
        end = node["start"] + node["duration"]
        yield "█" if node["kind"] == "tool" else "▬", node["start"], end
    for wait in view["waits"]:
        yield "?", wait["start"], total if wait["end"] is None else wait["end"]


def rows(view: Mapping[str, Any] | None, width: int) -> list[terminal.Row]:
    """Return the waterfall: name, bar, duration, status in a word."""
    if not view or not view["nodes"]:
        return [terminal.Row("No run yet. Send a message first.", "dim")]
    nodes = _tree(view["nodes"])
    total = max(view["now"], 0.001)
    labels = [_name(node, depth) for node, depth in nodes[:MOST_ROWS]]
    names = min(max(map(len, labels)), width // 3)
    room = max(width - names - 24, 8)
    shown = [
        _bar(node, label[:names].ljust(names), total, room)
        for (node, _), label in zip(nodes, labels, strict=False)
    ]
    shown += [_wait(wait) for wait in view["waits"]]
    if len(nodes) > MOST_ROWS:
        shown.append(terminal.Row(f"{len(nodes) - MOST_ROWS} more", "dim"))
    if any(node["derived"] for node, _ in nodes):
        shown.append(terminal.Row("~ inferred from the events", "dim"))
    return shown


_Node = Mapping[str, Any]


def _tree(nodes: Sequence[_Node]) -> list[tuple[_Node, int]]:
    """Return the nodes, each with its depth, in the order of a walk through the tree."""
    known = {node["node"] for node in nodes}
    inside: dict[str, list[_Node]] = {}
    for node in nodes:
        inside.setdefault(node["parent"] if node["parent"] in known else "", []).append(node)
    rows: list[tuple[_Node, int]] = []
    waiting = [(node, 0) for node in reversed(inside.pop("", []))]
    while waiting:
        node, depth = waiting.pop()
        children = inside.pop(node["node"], [])
        merged = node["kind"] == "tool" and any(
            child["kind"] != "tool" and child["call"] == node["call"] for child in children
        )
        if not merged:
            rows.append((node, depth))
        waiting += [(child, depth if merged else depth + 1) for child in reversed(children)]
    # What stands inside of itself, as a damaged recording may say, hangs on nothing.
    return rows + [(node, 0) for left in inside.values() for node in left]


def _name(node: _Node, depth: int) -> str:
    mark = "~" if node["derived"] else ""
    return f"{'  ' * depth}{mark}{terminal.one_line(node['name'], 40)}"


def _bar(node: _Node, name: str, total: float, room: int) -> terminal.Row:
    first = min(int(node["start"] / total * room), room - 1)
    length = min(max(round(node["duration"] / total * room), 1), room - first)
    sign = "█" if node["kind"] == "tool" else "▬"
    bar = (" " * first + sign * length).ljust(room)
    mark, style = _STATUS.get(node["status"], ("", ""))
    return terminal.Row(
        f"{name} {bar} {terminal.seconds(node['duration']):>7} {mark} {node['status']}", style
    )


def _wait(wait: Mapping[str, Any]) -> terminal.Row:
    if wait["end"] is None:
        return terminal.Row(
            f"? waits for {wait['kind']} since {terminal.seconds(wait['start'])}", "ask"
        )
    return terminal.Row(
        f"? waited for {wait['kind']} {terminal.seconds(wait['end'] - wait['start'])}", "dim"
    )


# ---------------------------------------------------------------------- text
#
# How sure the answer is and what it rests on: sentences, the weakest section first, what would raise it.
#
# How the numbers came about (tools, rules, steps) follows at the end.


_Proof = Mapping[str, Any]
_MOST_RAISES = 3


def proof_rows(view: Mapping[str, Any] | None, width: int) -> list[terminal.Row]:
    """Return the proofs of the last run."""
    if not view or (view["answer"] is None and not view["specialists"] and not view["sources"]):
        return [terminal.Row("Nothing yet. Confidence and sources appear when a run ends.", "dim")]
    answer = view["answer"]
    sections = sorted(view["specialists"], key=_rank)
    shown: list[terminal.Row] = []
    if answer is not None:
        shown += _whole(answer, sections, width)
    if sections:
        shown.append(terminal.Row("Sections, weakest first", "title"))
    for proof in sections:
        shown += terminal.wrapped(f"  {_subject(proof)} {_sentence(proof)}", width, "", 4)
    for proof in (answer,) if answer is not None else sections:
        shown += _sources(proof, width)
    for source in view["sources"]:
        text = " ".join(f"{source['title']} {source['uri']}".split())
        shown += terminal.wrapped(f"[{source['source']}] {text}", width, "dim", 4)
    proofs = [proof for proof in (answer, *sections) if proof is not None]
    return shown + [row for proof in proofs for row in _worked_out(proof, width)]


def _rank(proof: _Proof) -> tuple[float, int]:
    """Numbers come first, then levels, then what states neither."""
    confidence, level = proof.get("confidence"), proof.get("level")
    if confidence is not None:
        return confidence, 0
    return 2.0, LEVELS.index(level) if level in LEVELS else len(LEVELS)


def _subject(proof: _Proof) -> str:
    name = terminal.one_line(str((proof.get("subject") or {}).get("name") or "section"), 60)
    return name.replace("_", " ").capitalize() if name.islower() else name


def _sure(proof: _Proof) -> str:
    confidence = proof.get("confidence")
    return f"{confidence:.0%}" if confidence is not None else str(proof.get("level") or "")


def _sentence(proof: _Proof) -> str:
    count = len(proof.get("citations") or ())
    rests = f"rests on {terminal.counted(count, 'source')}" if count else "has no recorded source"
    sure = _sure(proof)
    return f"{rests}; {f'confidence {sure}' if sure else 'no confidence stated'}."


def _whole(answer: _Proof, sections: list[_Proof], width: int) -> Iterator[terminal.Row]:
    if answer["origin"] == "absent":
        yield terminal.Row("Whole answer", "title")
        yield terminal.Row("  No confidence or source was stated.", "dim")
        return
    yield terminal.Row(f"Whole answer: {_sure(answer) or 'no confidence stated'}", "title")
    count = len(answer.get("citations") or ())
    yield terminal.Row(f"  {terminal.counted(count, 'source')}")
    weakest = next((proof for proof in (*sections[:1], answer) if list(_raises(proof))), None)
    if weakest is not None:
        name = "it" if weakest is answer else _subject(weakest)
        yield terminal.Row(f"  How to raise confidence in {name}:", "strong")
        for line in _raises(weakest):
            yield from terminal.wrapped(f"  · {line}", width, "", 4)


def _raises(proof: _Proof) -> Iterator[str]:
    """Yield what lowers a confidence most: the lowest factors of the lowest number that was computed."""
    computed = [r for r in proof["readings"] if r["origin"] == "computed" and not r.get("part")]
    numbers = [reading for reading in computed if reading["value"] is not None]
    lowest = min(numbers, key=lambda reading: reading["value"], default={"text": ""})["text"]
    factors = [f for f in proof.get("factors") or () if _lowers(f.get("effect"))]
    own = [factor for factor in factors if factor.get("by") == lowest] or factors
    found = {factor["name"]: factor for factor in own}
    for factor in sorted(found.values(), key=lambda one: one["effect"])[:_MOST_RAISES]:
        why = f": {factor['why']}" if factor.get("why") else ""
        yield f"{factor['name'].replace('_', ' ').capitalize()} ({factor['effect']:.0%}){why}"


def _lowers(effect: Any) -> bool:
    return isinstance(effect, int | float) and not isinstance(effect, bool) and 0 <= effect < 1


def _sources(proof: _Proof, width: int) -> Iterator[terminal.Row]:
    for claim in proof.get("uncited") or ():
        yield from terminal.wrapped(f"  ! no source: {claim['text']}", width, "error", 4)
    for two in proof.get("disagreements") or ():
        yield from terminal.wrapped(
            f"  ! {two['text']}: {two['relation']} than its parts", width, "error"
        )
    for number, citation in enumerate(proof.get("citations") or (), 1):
        yield from terminal.wrapped(f"  {number}. {_cited(citation)}", width, "", 5)


def _worked_out(proof: _Proof, width: int) -> Iterator[terminal.Row]:
    if proof["origin"] == "absent":
        return
    name = (proof.get("subject") or {}).get("name") or "section"
    title = f"How it was worked out: {terminal.one_line(str(name), 60)}"
    yield terminal.Row(title, "title")
    yield from terminal.wrapped(f"  {proof['derivation']} ({proof['origin']})", width, "dim", 2)
    for step in proof.get("reasoning_chain") or ():
        yield from terminal.wrapped(f"  ∴ {step['text']}", width, "dim", 4)


def _cited(citation: Mapping[str, Any]) -> str:
    parts = [citation.get(name) for name in ("source", "reference", "excerpt", "uri")]
    users = ", ".join(citation.get("used_by") or filter(None, [citation.get("by")]))
    by = f" (by {users})" if users else ""
    return terminal.one_line(", ".join(word for word in parts if word) + by)


_PANELS: dict[str, Callable[[Any, int], list[terminal.Row] | Iterator[terminal.Row]]] = {
    "conversation": _conversation,
    "timeline": rows,
    "state": _state,
    "graph": _graph,
    "proof": proof_rows,
    "grounding": grounding.rows,
    "artifacts": _artifacts,
    "nodes": _nodes,
}
"""In the order in which a person reads them."""


# ---------------------------------------------------------------------------
#
# `adk-prism view`: prints the panels of a recording at any cursor.
#
# A person at a terminal reads text; a pipe, and `--json`, get JSON with everything. `--text` prints the text
# anywhere.


PANELS = ("timeline", "state", "graph", "conversation", "proof", "grounding", "artifacts", "nodes")
WIDEST = 120
"""Most columns of text: longer lines are hard to read."""


def register(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("file", metavar="FILE", help=RECORDING_FILE)
    parser.add_argument(
        "--at", type=int, metavar="CURSOR", help="show the panels at this event (default: the last)"
    )
    parser.add_argument(
        "--panel", choices=PANELS, default="", help="show only this panel (default: all)"
    )
    parser.add_argument(
        "--from",
        type=int,
        dest="since",
        metavar="CURSOR",
        help="also show how the state changed since this event",
    )
    parser.add_argument("--key", default="", help="also show every write to this state key")
    form = parser.add_mutually_exclusive_group()
    form.add_argument(
        "--json",
        action="store_true",
        help="print JSON with everything; without a terminal this is the default",
    )
    form.add_argument(
        "--text", action="store_true", help="print readable text; on a terminal this is the default"
    )
    add_prices(parser)


def execute(args: argparse.Namespace) -> int:
    """Print the panels. Raise `BadPosition` for a bad cursor, `SourceError` for an unreadable file.

    The readable part of a damaged file is printed before the error is raised.
    """
    film = Film(given_prices(args))
    with terminal.progress(f"Reading {args.file}…"):
        broken = _feed(film, args.file)
    if broken is None or film.last:
        shown = film.at(args.at, args.panel, since=args.since, key=args.key)
        is_text = args.text or (sys.stdout.isatty() and not args.json)
        if is_text:
            terminal.write_rows(
                recording_rows(shown, min(shutil.get_terminal_size().columns, WIDEST))
            )
        else:
            terminal.write_json(shown)
    if broken is not None:
        raise broken
    return 0


def _feed(film: Film, file: str) -> SourceError | None:
    """Read a file as far as possible; return the error, if any."""
    source = sys.stdin.buffer if file == "-" else file
    try:
        for entry in read_run(source, end=CaptureEnding()):
            film.feed(entry)
    except SourceError as error:
        return error
    return None
