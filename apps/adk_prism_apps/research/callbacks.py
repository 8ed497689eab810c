"""The agent's ADK callbacks: before the agent they read the message, around tools they check approvals.

The intent is read before any model runs, from the message as the person wrote it. A denied confirmation
may have a reason; it is read in the same way, and without one the plan is cancelled.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from google.adk.agents.callback_context import CallbackContext
from google.adk.tools import ToolContext
from google.adk.tools.base_tool import BaseTool
from google.genai import types

from adk_prism.grounding import PANEL_KEYS, value_of

from .approvals import is_planned
from .directive import INTENT, intent_value, shown_value, was_read
from .intent.reader import Intent, IntentReader, cancelled
from .next_actions import next_action
from .planning.arguments import called_query
from .search_runner import Clock
from .session_state import SessionState, write
from .toolbox import Toolbox

_GO_ON = ("search", "propose")


class Callbacks:
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
        """Read the message, once: ADK starts the agent again with it when a confirmation is answered."""
        state, invocation = callback_context.state.to_dict(), callback_context.invocation_id
        known = was_read(state, invocation) or _has_spoken(callback_context)
        if known or _only_answers(callback_context.user_content):
            return
        session = self._session(callback_context)
        intent = self._read_intent(_words(callback_context.user_content), session)
        write(callback_context.state, intent.writes)
        callback_context.state[INTENT] = intent_value(intent, invocation)

    def _session(self, context: CallbackContext) -> SessionState:
        """Return the session's state, after removing values of a panel that cannot be used."""
        session = SessionState(context.state.to_dict())
        plan = session.box.pending_search_plan
        repaired = self._toolbox.repaired(plan) if plan is not None else None
        for key in session.unreadable:
            if key in PANEL_KEYS:
                context.state[key] = None
        if repaired != plan:
            write(context.state, {"pending_search_plan": value_of(repaired) if repaired else None})
        return SessionState(context.state.to_dict())

    def before_tool(
        self, tool: BaseTool, args: dict[str, Any], tool_context: ToolContext
    ) -> dict[str, Any] | None:
        """Refuse a search in a database that is not enabled; write the plan of any other into the box."""
        return self._toolbox.prepare_search(tool, args, tool_context)

    def after_tool(
        self, tool: BaseTool, args: dict[str, Any], tool_context: ToolContext, tool_response: Any
    ) -> None:
        """Set the next intent: show the answer, or, after a denial, what its reason says."""
        del tool_response  # which ADK gives by name
        confirmation = tool_context.tool_confirmation
        if confirmation is None or confirmation.confirmed or not self._searches(tool.name):
            if not tool_context.actions.requested_tool_confirmations:
                tool_context.state[INTENT] = shown_value(tool_context.invocation_id)
            return
        session = SessionState(tool_context.state.to_dict())
        if is_planned(session, tool.name, called_query(args)):
            intent = self._after_denial(session, confirmation.payload)
        else:
            # A late denial does not concern the plan that is pending now.
            intent = Intent(
                "nothing_pending", writes={"next_action": value_of(next_action(session.situation))}
            )
        write(tool_context.state, intent.writes)
        tool_context.state[INTENT] = intent_value(intent, tool_context.invocation_id)

    def _after_denial(self, session: SessionState, payload: Any) -> Intent:
        """Read the reason of a denial; without another decision in it, the plan is cancelled."""
        reason = payload.get("reason") if isinstance(payload, dict) else None
        plan = session.box.pending_search_plan
        if plan is not None and isinstance(reason, str) and reason.strip():
            intent = self._read_intent(reason, session)
            if intent.do in _GO_ON and intent.writes.get("user_approval") != "ok":
                return intent
        return cancelled(session.situation, self._clock())

    def after_agent(self, callback_context: CallbackContext) -> None:
        """Replace a next step of the agent's at the end of its turn: it did not happen."""
        box = SessionState(callback_context.state.to_dict()).situation
        if box.next_action is not None and box.next_action.owner == "agent":
            write(callback_context.state, {"next_action": value_of(next_action(box))})

    def _read_intent(self, text: str, session: SessionState) -> Intent:
        return IntentReader(
            text, session.situation, session.answers, self._names, self._clock(), session.edited
        ).read()


def _has_spoken(context: CallbackContext) -> bool:
    """Return whether the agent has answered in this invocation: a late answer continues an old one.

    Its message was read then; others have been read since.
    """
    events = reversed(context.session.events)
    return any(e.invocation_id == context.invocation_id and e.author != "user" for e in events)


def _only_answers(content: types.Content | None) -> bool:
    """Return whether a message has no text and only answers calls: it has no intent to read."""
    parts = content.parts or [] if content is not None else []
    return any(part.function_response for part in parts) and not _words(content).strip()


def _words(content: types.Content | None) -> str:
    """Return the text of a message."""
    parts = content.parts or [] if content is not None else []
    return " ".join(part.text for part in parts if part.text and not part.thought)
