"""When things ran: a strip of one row, and a waterfall with a row for each node, below that of its parent.

A tool that only runs an agent has no row of its own: it is that agent. In the strip a column is a slice of
the run's time, and its sign is the most important thing in it: `█` a tool, `▬` an agent or a step, `?` a wait
for a person, `·` idle time, `✗` a failure.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from adk_prism.console import words
from adk_prism.console.rows import Row, Style, counted, one_line, seconds

MOST_ROWS = 200
"""Most nodes in the waterfall."""
_STATUS: dict[str, tuple[str, Style]] = {
    "running": ("…", "strong"),
    "finished": ("✓", ""),
    "failed": ("✗", "error"),
    "cancelled": ("■", "dim"),
    "incomplete": ("■", "dim"),
    "waiting": ("?", "ask"),
}
_RANK = "·▬█?✗"
"""Signs by priority in a column, the strongest last."""


def strip(view: Mapping[str, Any] | None, width: int) -> Row:
    """Return the run as one row of a width."""
    if not view or not view["nodes"]:
        return Row(words.NO_RUN, "dim")
    total = max(view["now"], 0.001)
    summary = f" {seconds(view['now'])}, {counted(len(_tree(view['nodes'])), 'node')}"
    summary += f", {counted(len(view['waits']), 'wait')}" if view["waits"] else ""
    failures = len(view.get("failures", ()))
    summary += f", {counted(failures, 'failure')}" if failures else ""
    room = max(width - len(summary), 10)
    return Row("".join(_columns(view, total, room)) + summary)


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


def rows(view: Mapping[str, Any] | None, width: int) -> list[Row]:
    """Return the waterfall: name, bar, duration, status in a word."""
    if not view or not view["nodes"]:
        return [Row(words.NO_RUN_YET, "dim")]
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
        shown.append(Row(words.MORE.format(count=len(nodes) - MOST_ROWS), "dim"))
    if any(node["derived"] for node, _ in nodes):
        shown.append(Row(words.INFERRED, "dim"))
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
    return f"{'  ' * depth}{mark}{one_line(node['name'], 40)}"


def _bar(node: _Node, name: str, total: float, room: int) -> Row:
    first = min(int(node["start"] / total * room), room - 1)
    length = min(max(round(node["duration"] / total * room), 1), room - first)
    sign = "█" if node["kind"] == "tool" else "▬"
    bar = (" " * first + sign * length).ljust(room)
    mark, style = _STATUS.get(node["status"], ("", ""))
    return Row(f"{name} {bar} {seconds(node['duration']):>7} {mark} {node['status']}", style)


def _wait(wait: Mapping[str, Any]) -> Row:
    if wait["end"] is None:
        return Row(words.WAITS.format(kind=wait["kind"], time=seconds(wait["start"])), "ask")
    return Row(
        words.WAITED.format(kind=wait["kind"], time=seconds(wait["end"] - wait["start"])), "dim"
    )
