"""Each time a node ran: what it got, what it said and called, what it passed on, and how the state changed.

Decides what belongs to one run of a node. What it got is the call that runs it, and the outputs or last words
of the nodes that led to it; where there are none, and it is in no other node, the user's words. What it said
and called is marked with the node in the conversation. How the state changed is the difference between its
start and its end: other nodes may have written meanwhile, so each change names its writer.
"""

from __future__ import annotations

from typing import Any

from adk_prism.facts.json_value import read_value
from adk_prism.view.conversation import ConversationFilm
from adk_prism.view.graph import passages
from adk_prism.view.state import StateFilm
from adk_prism.view.timeline import NodeSpan, TimelineFilm

USER = "user"
MOST_CHANGES = 1000
"""Changes of the state that one run of a node shows; `moreChanges` counts the others. A node that a thousand
others run in has all of theirs."""
_Said = list[dict[str, Any]]


def node_runs_at(
    timeline: TimelineFilm, state: StateFilm, said: ConversationFilm, cursor: int
) -> list[dict[str, Any]]:
    """Return the runs of all nodes that had started at a cursor, as they were then."""
    spans = timeline.spans(cursor)
    spoken = said.at(cursor)
    by_node: dict[str, _Said] = {}
    for item in spoken:
        by_node.setdefault(item.get("node", ""), []).append(item)
    before = _before(spans, cursor)
    calls = timeline.calls_by_node(cursor)
    users = [item for item in spoken if item["kind"] == USER]
    return [
        {
            **row,
            "asked": said.call_at(span.call, span.since, cursor) if span.call else None,
            "received": [
                {"from": each.name, "value": value}
                for each in before.get(span.node, ())
                for value in _given(each, span.since, by_node.get(each.node, []))
            ]
            or _spoken_to(span, users),
            "said": by_node.get(span.node, []),
            "outputs": _outputs(span, cursor),
            **_changes(state, span.since, row["until"] or cursor),
            "modelCalls": calls.get(span.node, []),
        }
        for span, row in zip(spans, timeline.nodes_at(cursor), strict=True)
    ]


def _changes(state: StateFilm, since: int, until: int) -> dict[str, Any]:
    found = state.difference(since, until)
    more = {"moreChanges": len(found) - MOST_CHANGES} if len(found) > MOST_CHANGES else {}
    return {"changes": found[:MOST_CHANGES]} | more


def _before(spans: list[NodeSpan], cursor: int) -> dict[str, list[NodeSpan]]:
    """Return for each node the ones that led to it, one after the other."""
    known = {span.node: span for span in spans}
    found: dict[str, list[NodeSpan]] = {}
    for edge in passages(spans, cursor):
        if edge.kind == "sequence" and edge.source in known:
            found.setdefault(edge.target, []).append(known[edge.source])
    return found


def _given(span: NodeSpan, cursor: int, said: _Said) -> list[Any]:
    """Return what a node had passed on: its outputs, or its last words."""
    texts = [item["text"] for item in said if item["kind"] == "text" and item["since"] <= cursor]
    return _outputs(span, cursor) or texts[-1:]


def _spoken_to(span: NodeSpan, users: _Said) -> _Said:
    asked = [] if span.parent else [item for item in users if item["since"] <= span.since]
    return [{"from": USER, "value": item["text"]} for item in asked[-1:]]


def _outputs(span: NodeSpan, cursor: int) -> list[Any]:
    return [read_value(value) for at, value in span.outputs if at <= cursor]
