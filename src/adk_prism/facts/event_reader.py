"""What one ADK event means, given the events before it in the run.

Keeps the lanes: (node path or author, branch), each with at most one model call in flight, which a
non-partial event ends. De-duplication is by lane and kind, never by event id: ids are stable per model
call in `run_async`, new per message in live runs, and different on the error event of a crash.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec
from msgspec import Raw

from adk_prism.facts import media
from adk_prism.facts.adk_event import ABORTED, AdkEvent, Part, Transcription, raw_part, read_event
from adk_prism.facts.call_reader import CallReader
from adk_prism.facts.calls import Calls
from adk_prism.facts.lanes import ModelCall, Place, Remainder, heard_text, text_kind, whole_text
from adk_prism.facts.model import (
    CallDelegated,
    Fact,
    InputTranscribed,
    Interrupted,
    Speaker,
    Unrecognised,
    UserSpoke,
)
from adk_prism.facts.outcome import Ending
from adk_prism.facts.settlement import finish_of, settle
from adk_prism.facts.sources import Sources
from adk_prism.facts.strict_json import repair

USER = "user"


class EventReader:
    """Reads the events of one run."""

    def __init__(self) -> None:
        self.ending = Ending()
        self._calls = CallReader()
        self._sources = Sources()
        self._lanes: dict[tuple[str, str], ModelCall] = {}
        self._speakers: dict[tuple[str, str, str], Speaker] = {}
        self._heard: tuple[str, list[str]] | None = None
        """The utterance that is being transcribed: its id, and its pieces."""

    @property
    def calls(self) -> Calls:
        """The calls of the message that is read."""
        return self._calls.calls

    def take_answers(self, answers: Mapping[str, Raw]) -> list[Fact]:
        """Show the results that the client gave; ADK takes them in, but says nothing of them."""
        return self._calls.take_answers(answers)

    def read(self, cursor: int, raw: bytes) -> list[Fact]:
        """Return what an event means."""
        out: list[Fact] = []
        try:
            event = read_event(raw)
        except (msgspec.MsgspecError, RecursionError):
            repaired = repair(raw)
            if repaired is not raw:
                return self.read(cursor, repaired)
            return [Unrecognised("event", _as_json(raw))]
        if event.author == USER:
            self._read_user(cursor, event, out)
            return out
        speaker = self._speaker(event, out)
        if event.partial:
            self._read_partial(cursor, event, speaker, out)
        else:
            self._read_whole(cursor, raw, event, speaker, out)
        return out

    # -------------------------------------------------------------- speakers and lanes

    def _speaker(self, event: AdkEvent, out: list[Fact]) -> Speaker:
        path = event.node_info.path if event.node_info is not None else ""
        key = (event.author, path, event.branch or "")
        speaker = self._speakers.get(key)
        if speaker is None:
            speaker = self._speakers[key] = Speaker(*key)
            self._delegate(speaker, out)
        return speaker

    def _delegate(self, speaker: Speaker, out: list[Fact]) -> None:
        """Find the call that runs this speaker: its id ends the branch or a step of the path."""
        for step in (*speaker.branch.split("."), *speaker.path.split("/")):
            call = self.calls.by_adk_id(step.rpartition("@")[2]) if "@" in step else None
            if call is not None and not call.delegates:
                call.delegates = True
                out.append(CallDelegated(call.call))

    def _model_call(self, cursor: int, speaker: Speaker) -> ModelCall:
        key = (speaker.path or speaker.author, speaker.branch)
        call = self._lanes.get(key)
        if call is None:
            call = self._lanes[key] = ModelCall(f"call-{cursor}", speaker)
        return call

    def _end_model_call(self, call: ModelCall, speaker: Speaker, out: list[Fact]) -> None:
        call.end_block(out)
        self._calls.forget(call, out)
        self._lanes.pop((speaker.path or speaker.author, speaker.branch), None)

    def close_lanes(self, out: list[Fact]) -> None:
        """End what is still open when the run is over."""
        for call in self._lanes.values():
            call.end_block(out)
        self._lanes.clear()

    # -------------------------------------------------------------- partial events

    def _read_partial(
        self, cursor: int, event: AdkEvent, speaker: Speaker, out: list[Fact]
    ) -> None:
        parts = event.content.parts if event.content is not None else None
        if parts:
            call = self._model_call(cursor, speaker)
            for index, part in enumerate(parts):
                self._stream(part, (cursor, index), call, out)
        if event.output_transcription is not None:
            text = event.output_transcription.text or ""
            if text:
                call = self._model_call(cursor, speaker)
                call.stream("transcript", text, "", (cursor, 0), out)
        if event.interrupted:
            self._model_call(cursor, speaker).end_block(out)
            out.append(Interrupted(speaker))

    def _stream(self, part: Part, place: Place, call: ModelCall, out: list[Fact]) -> None:
        if part.text:
            call.stream(text_kind(part), part.text, part.thought_signature or "", place, out)
        elif part.function_call is not None:
            grown = self._calls.stream(part.function_call, call, place)
            if grown is not None:
                call.end_block(out)
                out.append(grown)
        elif part.text is not None:
            if part.thought_signature:
                call.sign(text_kind(part), part.thought_signature)
        else:
            kind = media.media_kind(part)
            shown = media.show(part, str(place[1]), call.speaker, call.name)
            if kind is not None and shown is not None:
                call.preview(kind)
                call.end_block(out)
                out.append(shown)
            if heard_text(part):
                call.stream("transcript", heard_text(part), "", place, out)

    # -------------------------------------------------------------- whole events

    def _read_whole(
        self, cursor: int, raw: bytes, event: AdkEvent, speaker: Speaker, out: list[Fact]
    ) -> None:
        call = self._model_call(cursor, speaker)
        if event.content is not None and event.content.parts:
            self._show(cursor, raw, event, call, out)
        if event.output_transcription is not None:
            self._transcribe(cursor, event.output_transcription, call, out)
        self._end_model_call(call, speaker, out)
        if event.interrupted:
            out.append(Interrupted(speaker))
        settle(event, speaker, call.name, self._sources, out)
        self.ending.note(event)
        self.ending.finish = finish_of(event) or self.ending.finish

    def _show(
        self, cursor: int, raw: bytes, event: AdkEvent, call: ModelCall, out: list[Fact]
    ) -> None:
        assert event.content is not None
        parts = event.content.parts or []
        remainder = call.remainder(whole_text(parts), out)
        for index, part in enumerate(parts):
            place = (cursor, index)
            signature = part.thought_signature or ""
            if part.text is not None:
                kind = text_kind(part)
                news = remainder.of(kind, part.text)
                if news:
                    call.say(kind, news, signature, place, out)
                elif signature:
                    call.sign(kind, signature)
            elif not self._show_call(event, part, place, call, out):
                self._show_other(raw, part, place, call, out)
                _caption(part, remainder, place, call, out)

    def _show_call(
        self, event: AdkEvent, part: Part, place: Place, call: ModelCall, out: list[Fact]
    ) -> bool:
        """Show a call or an answer; tell whether the part was one."""
        if part.function_call is not None:
            call.end_block(out)
            long_running = (part.function_call.id or "") in (event.long_running_tool_ids or ())
            signature = part.thought_signature or ""
            out.extend(
                self._calls.request(part.function_call, long_running, call, place, signature)
            )
        elif part.function_response is not None:
            if not _is_placeholder(event, part.function_response.id):
                aborted = event.error_code == ABORTED
                self._calls.answer(part.function_response, call.speaker, place, out, aborted)
        elif part.tool_call is not None:
            call.end_block(out)
            signature = part.thought_signature or ""
            out.append(self._calls.request_provider(part.tool_call, call, place, signature))
        elif part.tool_response is not None:
            out.extend(self._calls.answer_provider(part.tool_response, call, place))
        else:
            return False
        return True

    def _show_other(
        self, raw: bytes, part: Part, place: Place, call: ModelCall, out: list[Fact]
    ) -> None:
        kind = media.media_kind(part)
        if kind is None:
            unknown = raw_part(raw, place[1])
            if bytes(unknown) != b"{}" and part.audio_transcription is None:
                out.append(Unrecognised("part", unknown))
            return
        if call.is_repeat(kind):
            return
        call.end_block(out)
        shown = media.show(part, str(place[1]), call.speaker, call.name)
        assert shown is not None
        out.append(shown)

    def _transcribe(
        self, cursor: int, said: Transcription, call: ModelCall, out: list[Fact]
    ) -> None:
        """Show what of a finished transcript was not streamed before."""
        text = said.text or ""
        news = call.remainder({"transcript": text}, out).of("transcript", text)
        if news:
            call.say("transcript", news, "", (cursor, 0), out)

    # -------------------------------------------------------------- the user's own events

    def _read_user(self, cursor: int, event: AdkEvent, out: list[Fact]) -> None:
        speaker = self._speaker(event, out)
        if event.input_transcription is not None:
            self._hear(cursor, event.input_transcription, partial=bool(event.partial), out=out)
        if event.partial:
            return
        parts = (event.content.parts if event.content is not None else None) or []
        text = "".join(part.text for part in parts if part.text)
        if text:
            out.append(UserSpoke(text))
        for index, part in enumerate(parts):
            if part.function_response is not None:
                self._calls.answer(part.function_response, speaker, (cursor, index), out, False)
        settle(event, speaker, f"call-{cursor}", self._sources, out)

    def _hear(self, cursor: int, said: Transcription, *, partial: bool, out: list[Fact]) -> None:
        if self._heard is None:
            self._heard = (f"input-{cursor}", [])
        utterance, pieces = self._heard
        if partial and not said.finished:
            pieces.append(said.text or "")
            out.append(InputTranscribed(utterance, "".join(pieces), False))
            return
        out.append(InputTranscribed(utterance, said.text or "".join(pieces), True))
        self._heard = None


def _caption(
    part: Part, remainder: Remainder, place: Place, call: ModelCall, out: list[Fact]
) -> None:
    """Show what is said in a part that sounds, if the model wrote it down."""
    news = remainder.of("transcript", heard_text(part))
    if news:
        call.say("transcript", news, "", place, out)


def _is_placeholder(event: AdkEvent, call: str | None) -> bool:
    """Tell whether an answer only says that a person is asked first."""
    actions = event.actions
    return actions is not None and (
        call in actions.requested_tool_confirmations or call in actions.requested_auth_configs
    )


def _as_json(raw: bytes) -> Raw:
    """Keep what cannot be read: as JSON if it is JSON, else as a JSON string."""
    try:
        msgspec.json.decode(raw)
    except (msgspec.MsgspecError, RecursionError):
        return Raw(msgspec.json.encode(raw.decode(errors="replace")))
    return Raw(raw)
