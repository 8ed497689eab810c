"""`EventActions`: what an event changes, asks for or steers."""

from __future__ import annotations

from adk_prism.facts import model as fact
from adk_prism.fieldcheck.kinds import Rows, at, carried

_STEERING = "steers ADK's own flow; what comes of it is in the events that follow"
_CHECKPOINT = "ADK's notes for resuming a run on the server"
_ASKED = "asked for by ADK's call `{}`; the placeholder answer is not shown"

ACTIONS: Rows = {
    "state_delta": at("data-state.data", fact.StateChanged),
    "artifact_delta": at("data-artifact.data.filename", fact.ArtifactSaved)
    + at("data-artifact.data.version", fact.ArtifactSaved),
    "transfer_to_agent": at("data-transfer.data.to", fact.AgentTransferred),
    "transfer_reason": at("data-transfer.data.reason", fact.AgentTransferred),
    "requested_tool_confirmations": at(
        "tool-approval-request.toolCallId",
        fact.ApprovalRequested,
        _ASKED.format("adk_request_confirmation"),
    ),
    "requested_auth_configs": at(
        "data-credential-request.data.toolCallId",
        fact.InputRequested,
        _ASKED.format("adk_request_credential"),
    ),
    **carried("skip_summarization escalate route", _STEERING),
    **carried("end_of_agent agent_state", _CHECKPOINT),
    **carried("compaction", "ADK shortens what the model remembers; nothing was said"),
    **carried("rewind_before_invocation_id", "takes messages back; a client has done so already"),
    **carried("set_model_response", "the same answer follows as text"),
    **carried("render_ui_widgets", "frames of MCP apps, for which the AI SDK has no part"),
}

CONFIRMATION: Rows = {
    "hint": at("data-approval.data.hint", fact.ApprovalRequested, "unless ADK made it up")
    + at("tool-approval-request.reason", fact.ApprovalRequested, "dialect 7"),
    "payload": at("data-approval.data.payload", fact.ApprovalRequested),
    **carried("confirmed", "always false while it is asked"),
}

COMPACTION: Rows = carried(
    "start_timestamp end_timestamp compacted_content", "part of `EventActions.compaction`"
)
WIDGET: Rows = carried("id provider payload", "part of `EventActions.render_ui_widgets`")

TABLE = {
    "EventActions": ACTIONS,
    "ToolConfirmation": CONFIRMATION,
    "EventCompaction": COMPACTION,
    "UiWidget": WIDGET,
}
