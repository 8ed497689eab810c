"""`Content` and `Part`: what is said, thought, shown and run."""

from __future__ import annotations

from adk_prism.facts import model as fact
from adk_prism.fieldcheck.kinds import Rows, at, carried, verbatim

_CODE = "data-executable-code.data"
_RESULT = "data-code-execution-result.data"
_SIGNATURE = "providerMetadata.google.thoughtSignature"
_FOR_MODEL = "tells the model how to take the part in; there is nothing to show"

CONTENT: Rows = {
    "parts": at("text-delta.delta", fact.BlockGrew, "one by one: see `Part`"),
    **carried("role", "all of it is the assistant's message; results of tools have the role user"),
}

PART: Rows = {
    "text": at("text-delta.delta", fact.BlockGrew),
    "thought": at("reasoning-delta.delta", fact.BlockGrew, "its text is reasoning"),
    "thought_signature": at(f"reasoning-start.{_SIGNATURE}", fact.BlockBegan)
    + at(f"reasoning-end.{_SIGNATURE}", fact.BlockEnded, "where it came after the block began")
    + at(f"text-start.{_SIGNATURE}", fact.BlockBegan)
    + at(f"text-end.{_SIGNATURE}", fact.BlockEnded, "where it came after the block began")
    + at(f"tool-input-available.{_SIGNATURE}", fact.CallRequested),
    "function_call": at("tool-input-available.input", fact.CallRequested, "see `FunctionCall`"),
    "function_response": at(
        "tool-output-available.output", fact.CallAnswered, "see `FunctionResponse`"
    ),
    "tool_call": at(
        "tool-input-available.providerExecuted", fact.CallRequested, "true: see `ToolCall`"
    ),
    "tool_response": at(
        "tool-output-available.providerExecuted", fact.CallAnswered, "true: see `ToolResponse`"
    ),
    "executable_code": at(_CODE, fact.CodeShown),
    "code_execution_result": at(_RESULT, fact.CodeResultShown),
    "inline_data": at("file.url", fact.FileShown, "a data URL, or a link to the run's file")
    + at("data-pcm.data.content", fact.AudioHeard, "raw PCM sound, transient"),
    "file_data": at("file.url", fact.FileShown, "as it is, or a link to the run's file"),
    "audio_transcription": at("text-delta.delta", fact.BlockGrew, "see `Transcription`"),
    **carried("media_resolution media_processing video_metadata speech_metadata", _FOR_MODEL),
    **carried("part_metadata", "the app's own notes to the model's API; ours on sound not kept"),
}

CODE: Rows = verbatim(_CODE, fact.CodeShown, "code language id")
CODE_RESULT: Rows = verbatim(_RESULT, fact.CodeResultShown, "outcome output id")

TRANSCRIPTION: Rows = {
    "text": at("text-delta.delta", fact.BlockGrew)
    + at("data-input-transcription.data.text", fact.InputTranscribed, "the utterance so far"),
    "finished": at("data-input-transcription.data.final", fact.InputTranscribed),
    **carried(
        "language_code speaker_label words start_offset end_offset",
        "a message's text has no place for times, languages and voices",
    ),
}

TABLE = {
    "Content": CONTENT,
    "Part": PART,
    "ExecutableCode": CODE,
    "CodeExecutionResult": CODE_RESULT,
    "Transcription": TRANSCRIPTION,
    "WordInfo": carried("word start_offset end_offset", "part of `Transcription.words`"),
    "PartMediaResolution": carried("level num_tokens", "part of `Part.media_resolution`"),
    "VideoMetadata": carried("end_offset fps start_offset", "part of `Part.video_metadata`"),
    "SpeechMetadata": carried("speaker style", "part of `Part.speech_metadata`"),
}
