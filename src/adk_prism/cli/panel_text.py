"""The panels of a recording as rows for a person: what `adk-prism view` prints on a terminal.

Timeline, state, proof and research plan are those of the console; the others are here. JSON has everything,
so long values are shortened.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from adk_prism.cli import words
from adk_prism.console.panels import grounding, proof, state, timeline
from adk_prism.console.rows import Row, Style, counted, one_line, seconds, short_json, wrapped

_CALL_ENDS: dict[str, Style] = {"failed": "error", "denied": "error", "awaiting approval": "ask"}
_STATES: dict[str, Style] = {"failed": "error", "waiting": "ask", "finished": "good"}


def rows(view: Mapping[str, Any], width: int) -> list[Row]:
    """Return the run in one line, and each panel that the view has, under its title."""
    shown = [*wrapped(_heading(view), width, "strong")]
    for name, panel in _PANELS.items():
        if name in view:
            shown += [Row(""), Row(words.PANEL_TITLES[name], "title"), *panel(view[name], width)]
    return shown


def _heading(view: Mapping[str, Any]) -> str:
    return words.RUN_OF.format(
        run=view.get("run", ""),
        app=view.get("app", ""),
        outcome=view["outcome"] or words.RUNNING,
        at=view["at"],
        last=view["last"],
    )


def _conversation(items: Sequence[Mapping[str, Any]], width: int) -> Iterator[Row]:
    for item in items:
        inside = "  " if "within" in item else ""
        for row in _said(item, width - len(inside)):
            yield Row(inside + row.text, row.style)


def _said(item: Mapping[str, Any], width: int) -> Iterator[Row]:
    kind = item["kind"]
    if kind == "call":
        yield from _call(item, width)
    elif kind in ("user", "text", "reasoning", "transcript"):
        style: Style = "user" if kind == "user" else "dim" if kind == "reasoning" else ""
        name = item["speaker"]
        speaker = words.THINKING.format(speaker=name) if kind == "reasoning" else name
        for index, line in enumerate(item["text"].splitlines() or [""]):
            yield from wrapped(f"{speaker}: {line}" if not index else f"  {line}", width, style)
    elif kind != "end":
        about = {key: value for key, value in item.items() if key not in ("kind", "since", "node")}
        yield from wrapped(f"· {kind}: {short_json(about)}", width, "dim")


def _call(item: Mapping[str, Any], width: int) -> Iterator[Row]:
    yield from wrapped(f"→ {item['name']} {short_json(item.get('input'))}", width, "dim")
    result = item.get("error") or item.get("reason")
    if "output" in item:
        result = short_json(item["output"])
    text = f"← {item['status']}{f': {result}' if result else ''}"
    yield from wrapped(text, width, _CALL_ENDS.get(item["status"], "dim"))


def _state(view: Mapping[str, Any], width: int) -> Iterator[Row]:
    yield from state.rows(view, width)
    if "difference" in view:
        yield Row(words.CHANGES_SINCE.format(cursor=view["from"]), "title")
        for change in view["difference"]:
            both = f"{short_json(change.before)} → {short_json(change.after)}"
            yield from wrapped(f"{change.kind} {change.key}: {both}", width, "changed", 4)
    if "history" in view:
        yield Row(words.WRITES_OF.format(key=view["key"]), "title")
        for write in view["history"]:
            value = words.REMOVED if "removed" in write else short_json(write["value"])
            text = words.WRITE.format(cursor=write["cursor"], writer=write["writer"], value=value)
            yield from wrapped(text, width)


def _graph(view: Mapping[str, Any], width: int) -> Iterator[Row]:
    for node in view["nodes"]:
        text = f"{one_line(node['id'], 60)} ({node['kind']}): {_ran(node)}, {node['status']}"
        yield from wrapped(text, width, "error" if node["failures"] else "")
    for edge in view["edges"]:
        keys = f": {', '.join(edge['keys'])}" if edge["keys"] else ""
        text = f"{edge['from']} → {edge['to']} ({edge['kind']}, {edge['count']}×){keys}"
        yield from wrapped(text, width, "dim", 4)


def _ran(node: Mapping[str, Any]) -> str:
    runs, took = counted(node["runs"], words.RUN), seconds(node["duration"])
    if not node["failures"]:
        return words.NODE_RAN.format(runs=runs, took=took)
    failures = counted(node["failures"], words.FAILURE)
    return words.NODE_FAILED.format(runs=runs, failures=failures, took=took)


def _artifacts(items: Sequence[Mapping[str, Any]], width: int) -> Iterator[Row]:
    if not items:
        yield Row(words.NO_ARTIFACTS, "dim")
    for item in items:
        for saved in item["versions"]:
            text = words.ARTIFACT.format(
                name=item["name"],
                version=saved["version"],
                author=saved["author"],
                cursor=saved["since"],
            )
            yield from wrapped(text, width)


def _nodes(items: Sequence[Mapping[str, Any]], width: int) -> Iterator[Row]:
    for item in items:
        title = f"{item['name']} ({item['kind']}): {item['status']}, {seconds(item['duration'])}"
        yield from wrapped(title, width, _STATES.get(item["status"], "strong"))
        for given in item["received"]:
            value = short_json(given["value"])
            text = words.RECEIVED.format(sender=given["from"], value=value)
            yield from wrapped(f"  {text}", width, "dim", 4)
        for said in item["said"]:
            for row in _said(said, width - 2):
                yield Row(f"  {row.text}", row.style)
        for output in item["outputs"]:
            yield from wrapped(
                f"  {words.PASSED_ON.format(value=short_json(output))}", width, "", 4
            )
        if item["changes"]:
            yield Row(f"  {counted(len(item['changes']), words.STATE_CHANGE)}", "changed")


_PANELS: dict[str, Callable[[Any, int], list[Row] | Iterator[Row]]] = {
    "conversation": _conversation,
    "timeline": timeline.rows,
    "state": _state,
    "graph": _graph,
    "proof": proof.rows,
    "grounding": grounding.rows,
    "artifacts": _artifacts,
    "nodes": _nodes,
}
"""In the order in which a person reads them."""
