"""When things ran: a strip of one row, and a waterfall with a row for each node.

In the strip a column is a slice of the run's time, and its sign is the most important thing in it: `█` a
tool, `▬` an agent or a step, `?` a wait for a person, `·` idle time, `✗` a failure.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

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
        return Row("No run yet", "dim")
    total = max(view["now"], 0.001)
    summary = f" {seconds(view['now'])}, {counted(len(view['nodes']), 'node')}"
    summary += f", {counted(len(view['waits']), 'wait')}" if view["waits"] else ""
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
    for node in view["nodes"]:
        end = node["start"] + node["duration"]
        yield "█" if node["kind"] == "tool" else "▬", node["start"], end
        if node["status"] == "failed":
            yield "✗", end, end
    for wait in view["waits"]:
        yield "?", wait["start"], total if wait["end"] is None else wait["end"]


def rows(view: Mapping[str, Any] | None, width: int) -> list[Row]:
    """Return the waterfall: name, bar, duration, status in a word."""
    if not view or not view["nodes"]:
        return [Row("No run yet. Send a message first.", "dim")]
    nodes = view["nodes"]
    total = max(view["now"], 0.001)
    widest = max(len(_name(node)) for node in nodes[:MOST_ROWS])
    names = min(widest, width // 3)
    room = max(width - names - 24, 8)
    shown = [_bar(node, total, names, room) for node in nodes[:MOST_ROWS]]
    shown += [_wait(wait) for wait in view["waits"]]
    if len(nodes) > MOST_ROWS:
        shown.append(Row(f"{len(nodes) - MOST_ROWS} more", "dim"))
    derived = any(node["derived"] for node in nodes)
    if derived:
        shown.append(Row("~ inferred from the events", "dim"))
    return shown


def _name(node: Mapping[str, Any]) -> str:
    mark = "~" if node["derived"] else ""
    return f"{'  ' * node['depth']}{mark}{one_line(node['name'], 40)}"


def _bar(node: Mapping[str, Any], total: float, names: int, room: int) -> Row:
    first = min(int(node["start"] / total * room), room - 1)
    length = min(max(round(node["duration"] / total * room), 1), room - first)
    sign = "█" if node["kind"] == "tool" else "▬"
    bar = (" " * first + sign * length).ljust(room)
    mark, style = _STATUS.get(node["status"], ("", ""))
    name = _name(node)[:names].ljust(names)
    return Row(f"{name} {bar} {seconds(node['duration']):>7} {mark} {node['status']}", style)


def _wait(wait: Mapping[str, Any]) -> Row:
    if wait["end"] is None:
        return Row(f"? waits for {wait['kind']} since {seconds(wait['start'])}", "ask")
    return Row(f"? waited for {wait['kind']} {seconds(wait['end'] - wait['start'])}", "dim")
