"""Where ADK calls the app: before the agent, to hear the researcher; around tools, to keep the gate.

The hearing runs before any model does, on the message as the person wrote it. A denied confirmation may
come with words; they are heard in the same way, and without any the plan is cancelled.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from google.adk.agents.callback_context import CallbackContext
from google.adk.tools import ToolContext
from google.adk.tools.base_tool import BaseTool
from google.genai import types

from adk_prism.grounding import PANEL_KEYS, value_of

from .desk import Desk, write
from .directive import HEARD, heard_value, shown_value, was_heard
from .gate import is_planned
from .hearing.hearing import Heard, Hearing, cancelled
from .planning.arguments import called_query
from .searching import Clock
from .steps import settled
from .toolbox import Toolbox

_GO_ON = ("search", "propose")


class Listening:
    """The callbacks of the agent."""

    def __init__(
        self, toolbox: Toolbox, names: Mapping[str, str], tools: Callable[[str], bool], clock: Clock
    ) -> None:
        """`names` are what people call databases; `tools` tells which tools search."""
        self._toolbox = toolbox
        self._names = names
        self._searches = tools
        self._clock = clock

    def before_agent(self, callback_context: CallbackContext) -> None:
        """Hear the message, once: when a question of ADK's is answered the agent starts anew with it."""
        state, invocation = callback_context.state.to_dict(), callback_context.invocation_id
        known = was_heard(state, invocation) or _has_spoken(callback_context)
        if known or _only_answers(callback_context.user_content):
            return
        desk = self._desk(callback_context)
        heard = self._hear(_words(callback_context.user_content), desk)
        write(callback_context.state, heard.writes)
        callback_context.state[HEARD] = heard_value(heard, invocation)

    def _desk(self, context: CallbackContext) -> Desk:
        """Return the desk, after putting right what a panel has written and nobody can act on."""
        desk = Desk(context.state.to_dict())
        plan = desk.box.pending_search_plan
        mended = self._toolbox.mended(plan) if plan is not None else None
        for key in desk.unreadable:
            if key in PANEL_KEYS:
                context.state[key] = None
        if mended != plan:
            write(context.state, {"pending_search_plan": value_of(mended) if mended else None})
        return Desk(context.state.to_dict())

    def before_tool(
        self, tool: BaseTool, args: dict[str, Any], tool_context: ToolContext
    ) -> dict[str, Any] | None:
        """Refuse a search out of reach; show in the box what a search is about to ask."""
        return self._toolbox.mirror(tool, args, tool_context)

    def after_tool(
        self, tool: BaseTool, args: dict[str, Any], tool_context: ToolContext, tool_response: Any
    ) -> None:
        """Leave what is left to do: to show the answer, or, after a denial, what its reason says."""
        del tool_response  # which ADK gives by name
        confirmation = tool_context.tool_confirmation
        if confirmation is None or confirmation.confirmed or not self._searches(tool.name):
            if not tool_context.actions.requested_tool_confirmations:
                tool_context.state[HEARD] = shown_value(tool_context.invocation_id)
            return
        desk = Desk(tool_context.state.to_dict())
        if is_planned(desk, tool.name, called_query(args)):
            heard = self._after_denial(desk, confirmation.payload)
        else:
            # A late denial is none of the plan that waits by now.
            heard = Heard(
                "nothing_pending", writes={"next_action": value_of(settled(desk.situation))}
            )
        write(tool_context.state, heard.writes)
        tool_context.state[HEARD] = heard_value(heard, tool_context.invocation_id)

    def _after_denial(self, desk: Desk, payload: Any) -> Heard:
        """Hear the reason of a denial; one that is no other decision leaves it a denial."""
        reason = payload.get("reason") if isinstance(payload, dict) else None
        plan = desk.box.pending_search_plan
        if plan is not None and isinstance(reason, str) and reason.strip():
            heard = self._hear(reason, desk)
            if heard.do in _GO_ON and heard.writes.get("user_approval") != "ok":
                return heard
        return cancelled(desk.situation, self._clock())

    def after_agent(self, callback_context: CallbackContext) -> None:
        """At the end of a turn nobody is at work: a step that was the agent's and did not happen is gone."""
        box = Desk(callback_context.state.to_dict()).situation
        if box.next_action is not None and box.next_action.owner == "agent":
            write(callback_context.state, {"next_action": value_of(settled(box))})

    def _hear(self, text: str, desk: Desk) -> Heard:
        return Hearing(text, desk.situation, desk.answers, self._names, self._clock()).hear()


def _has_spoken(context: CallbackContext) -> bool:
    """Tell whether the agent has answered in this invocation: a late answer goes on with an old one.

    Its message was heard at its time; others have been heard since.
    """
    events = reversed(context.session.events)
    return any(e.invocation_id == context.invocation_id and e.author != "user" for e in events)


def _only_answers(content: types.Content | None) -> bool:
    """Tell whether a message has no words and answers what was asked: there is nothing to hear in it."""
    parts = content.parts or [] if content is not None else []
    return any(part.function_response for part in parts) and not _words(content).strip()


def _words(content: types.Content | None) -> str:
    """Return the words of a message."""
    parts = content.parts or [] if content is not None else []
    return " ".join(part.text for part in parts if part.text and not part.thought)
