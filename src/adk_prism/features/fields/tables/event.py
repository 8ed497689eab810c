"""`Event`: what ADK emits, and where each of its fields goes."""

from __future__ import annotations

from adk_prism.facts import model as fact
from adk_prism.features.fields.kinds import Rows, at, carried, verbatim

_METADATA = "finish.messageMetadata"
_TURNS = "decides where a message of a live run ends (`finish`); any other run is one message"
_LIVE_LINE = "between ADK and the model's live connection; a client has nothing to do with it"
_SERVER_SIDE = "how ADK finds its own way back on the server"

EVENT: Rows = {
    "content": at("text-delta.delta", fact.BlockGrew, "part by part: see `Part`"),
    "partial": at(
        "text-delta.delta",
        fact.BlockGrew,
        "fragments as they come; the whole that follows adds only what they lacked",
    ),
    "author": at("text-start.providerMetadata.adk.author", fact.BlockBegan)
    + at("reasoning-start.providerMetadata.adk.author", fact.BlockBegan)
    + at("tool-input-available.providerMetadata.adk.author", fact.CallRequested)
    + at("file.providerMetadata.adk.author", fact.FileShown),
    "branch": at("text-start.providerMetadata.adk.branch", fact.BlockBegan),
    "node_info": at("text-start.providerMetadata.adk.path", fact.BlockBegan, "see `NodeInfo`"),
    "actions": at("data-state.data", fact.StateChanged, "one by one: see `EventActions`"),
    "output": at("data-output.data.output", fact.NodeOutput),
    "long_running_tool_ids": at("data-long-running.data.toolCallId", fact.CallPending),
    "finish_reason": at("finish.finishReason", fact.MessageEnded, "one of the AI SDK's six")
    + at(f"{_METADATA}.adkFinishReason", fact.ModelCallEnded),
    "error_code": at("data-error.data.code", fact.ErrorRaised)
    + at("error.errorText", fact.RunOver, "inside the text, where the run failed")
    + at("finish.finishReason", fact.MessageEnded, "where ADK puts a finish reason into it"),
    "error_message": at("data-error.data.message", fact.ErrorRaised, "an exception's is withheld")
    + at("error.errorText", fact.RunOver, "after the code, unless it is withheld")
    + at(f"{_METADATA}.finishMessage", fact.ModelCallEnded, "where it explains a finish reason"),
    "interrupted": at("data-interrupted.data.author", fact.Interrupted, "names who was cut off"),
    "input_transcription": at("data-input-transcription.data.text", fact.InputTranscribed),
    "output_transcription": at("text-delta.delta", fact.BlockGrew),
    "grounding_metadata": at(f"{_METADATA}.grounding", fact.SourcesLinked, "and its `sources`"),
    "citation_metadata": at(f"{_METADATA}.citations", fact.CitationsGiven, "the list in it"),
    "usage_metadata": at(f"{_METADATA}.usage.modelCalls[]", fact.ModelCallEnded),
    "custom_metadata": at(f"{_METADATA}.custom", fact.MetadataGiven),
    "cache_metadata": at(f"{_METADATA}.cache", fact.ModelCallEnded, "with `hits` and `misses`"),
    "logprobs_result": at(f"{_METADATA}.logprobs", fact.ModelCallEnded),
    **verbatim(_METADATA, fact.ModelCallEnded, "avg_logprobs model_version"),
    **carried("turn_complete turn_complete_reason interaction_status", _TURNS),
    **carried("live_session_resumption_update live_session_id go_away", _LIVE_LINE),
    **carried("voice_activity", "sound on its way in; a client's own microphone knows it first"),
    **carried("interaction_id environment_id isolation_scope", _SERVER_SIDE),
    **carried("invocation_id", "a client names a run by `start.messageMetadata.runId`"),
    **carried("id", "not one id per message or part; blocks have ids of their own"),
    **carried("timestamp", "the AI SDK's message has no place for times"),
}

NODE_INFO: Rows = {
    "path": at("text-start.providerMetadata.adk.path", fact.BlockBegan)
    + at("data-output.data.path", fact.NodeOutput),
    **carried("output_for message_as_output", "how a workflow hands its outputs on"),
}

_EVENT_TABLE = {"Event": EVENT, "NodeInfo": NODE_INFO}


# ---------------------------------------------------------------------- actions
#
# `EventActions`: what an event changes, asks for or steers.

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

_ACTIONS_TABLE = {
    "EventActions": ACTIONS,
    "ToolConfirmation": CONFIRMATION,
    "EventCompaction": COMPACTION,
    "UiWidget": WIDGET,
}


TABLE: dict[str, Rows] = {**_EVENT_TABLE, **_ACTIONS_TABLE}
"""By upstream type, by field or value."""
