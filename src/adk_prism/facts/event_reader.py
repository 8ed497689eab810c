"""What one ADK event means, given the events before it in the run.

Keeps the lanes: (node path or author, branch), each with at most one model call in flight. The model's
own non-partial event ends that call; events that hold only state, usage or responses do not.
Duplicates are removed by lane and kind, never by event id: ids are stable per model call in `run_async`,
new per message in live runs, and different on the error event of a crash.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec
from msgspec import Raw

from adk_prism.facts import adk_event, event_actions, model_call
from adk_prism.facts import model as fact
from adk_prism.facts.adk_event import AdkEvent, Part
from adk_prism.facts.calls import CallReader
from adk_prism.facts.event_actions import AgentText, finish_of
from adk_prism.facts.model_call import Lane, ModelCall, Place, Remainder, lane_of, text_kind
from adk_prism.facts.outcome import Ending
from adk_prism.facts.state import is_given, repair
from adk_prism.facts.transcripts import NOTHING_SAID, Sign, Transcripts

USER = "user"


class EventReader:
    """Reads the events of one run."""

    def __init__(self) -> None:
        self.ending = Ending()
        self.sign = NOTHING_SAID
        """What the last event says about the turn of a live run."""
        self._parts: Sequence[Part] = ()
        """The parts of the last event, if it was not partial, and their author."""
        self._author = fact.Speaker("", "", "")
        self._transcript: AgentText | None = None
        """The transcript that the last event completed."""
        self.questions = CallReader()
        """Reads calls, the questions of a live run, and a person's decisions."""
        self.calls = self.questions.calls
        """The calls of the message that is read."""
        self._sources = event_actions.Sources()
        self.transcripts = Transcripts()
        self.lanes: dict[Lane, ModelCall] = {}
        """The model calls in flight."""
        self._speakers: dict[tuple[str, str, str], fact.Speaker] = {}
        self._unknown_fields: set[str] = set()
        """Unknown fields that were reported."""

    @property
    def text(self) -> AgentText | None:
        """The text of the last event, if it held a complete one."""
        if self._transcript is not None or not self._parts:
            return self._transcript
        return event_actions.agent_text(self._parts, self._author)

    def read(self, cursor: int, raw: bytes) -> list[fact.Fact]:
        """Return what an event means."""
        out: list[fact.Fact] = []
        self._parts, self._transcript = (), None
        self.sign = NOTHING_SAID
        try:
            if not raw.isascii():
                raw.decode()  # msgspec does not check the encoding of values that stay raw JSON
            event = adk_event.read_event(raw)
        except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError):
            repaired = repair(raw)
            if repaired is not raw:
                return self.read(cursor, repaired)
            return [fact.Unrecognised("event", unread_json(raw))]
        self.sign = Sign.of(event)
        self.ending.is_partial = bool(event.partial)
        self._report(adk_event.unknown_fields(raw), out)
        if event.input_transcription is not None:  # whoever wrote the event
            self.transcripts.hear(cursor, event.input_transcription, event.partial, out)
        if event.author == USER:
            self._read_user(cursor, event, out)
            return out
        if (report := adk_event.progress_of(event)) is not None:
            self.questions.progress(report, out)
            return out
        speaker = self._speaker(event, out)
        if event.partial:
            self._read_partial(cursor, event, speaker, out)
        else:
            self._read_whole(cursor, raw, event, speaker, out)
        return out

    def _report(self, unknown: dict[str, Raw], out: list[fact.Fact]) -> None:
        """Report each unknown field once, except those of parts, which are shown with the part."""
        for name, value in unknown.items():
            where, _, field = name.partition(".")
            if (
                where != "part"
                and name not in self._unknown_fields
                and len(self._unknown_fields) < adk_event.MOST
            ):
                self._unknown_fields.add(name)
                held = msgspec.json.encode({field: value})
                out.append(fact.Unrecognised(f"{where} field", Raw(held)))

    # -------------------------------------------------------------- speakers and lanes

    def _speaker(self, event: AdkEvent, out: list[fact.Fact]) -> fact.Speaker:
        path = event.node_info.path if event.node_info is not None else ""
        key = (event.author, path, event.branch or "")
        speaker = self._speakers.get(key)
        if speaker is None:
            speaker = self._speakers[key] = fact.Speaker(*key)
            self._delegate(speaker, out)
        return speaker

    def _delegate(self, speaker: fact.Speaker, out: list[fact.Fact]) -> None:
        """Note the calls that run this speaker."""
        for call in self.calls.running(speaker):
            if not call.delegates:
                self.calls.delegate(call)
                out.append(fact.CallDelegated(call.call))

    def _model_call(self, cursor: int, speaker: fact.Speaker) -> ModelCall:
        lane = lane_of(speaker)
        call = self.lanes.get(lane)
        if call is None:
            call = self.lanes[lane] = ModelCall(f"call-{cursor}", speaker)
        return call

    def _end_model_call(self, call: ModelCall, lane: Lane, out: list[fact.Fact]) -> None:
        call.end_block(out)
        self.questions.streamed.forget(call, out)
        self.lanes.pop(lane, None)

    def restart(self, out: list[fact.Fact]) -> None:
        """Note that another process continues the run: it repeats the model calls in flight, and the calls
        whose arguments they were streaming."""
        for call in self.lanes.values():
            self.questions.streamed.forget(call, out)
            call.restart()

    def cut_off_texts(self) -> Iterator[AgentText]:
        """Yield the texts that were streamed and have not been completed."""
        for call in self.lanes.values():
            if text := call.said():
                yield AgentText(call.speaker, text, True)
        yield from self.transcripts.cut_off_texts()

    def end_blocks(self, out: list[fact.Fact]) -> None:
        """End the texts that are being written; whoever goes on begins another one."""
        for call in self.lanes.values():
            call.end_block(out)
        self.transcripts.pause_all(out)

    def close_lanes(self, out: list[fact.Fact]) -> None:
        """Close everything that is open when the run ends."""
        self.end_blocks(out)
        self.lanes.clear()
        self.transcripts.close(out)

    # -------------------------------------------------------------- partial events

    def _read_partial(
        self, cursor: int, event: AdkEvent, speaker: fact.Speaker, out: list[fact.Fact]
    ) -> None:
        self.ending.go_on(event)
        parts = event.content.parts if event.content is not None else None
        if parts:
            call = self._model_call(cursor, speaker)
            call.event = event.id
            for index, part in enumerate(parts):
                self._stream(part, (cursor, index), call, out)
        if event.output_transcription is not None:
            self._speak(cursor, event, event.output_transcription, speaker, out)
        if event.interrupted:
            self._model_call(cursor, speaker).end_block(out, provisional=True)
            self.transcripts.hush(speaker, out)
            out.append(fact.Interrupted(speaker))

    def _stream(self, part: Part, place: Place, call: ModelCall, out: list[fact.Fact]) -> None:
        if part.text:
            call.stream(text_kind(part), part.text, part.thought_signature or "", place, out)
        elif part.function_call is not None:
            grown = self.questions.streamed.grow(part.function_call, call, place)
            if grown is not None:
                call.end_block(out, provisional=True)
                out.append(grown)
        elif part.text is not None:
            if part.thought_signature:
                call.sign(text_kind(part), part.thought_signature)
        else:
            kind = adk_event.media_kind(part)
            shown = event_actions.show_media(part, str(place[1]), call.speaker, call.name)
            if kind is not None and shown is not None and not call.media.is_repeated_preview(kind):
                call.media.add_preview(kind)
                call.end_block(out, provisional=True)
                out.append(shown)
            if model_call.heard_text(part):
                call.stream("transcript", model_call.heard_text(part), "", place, out)

    # -------------------------------------------------------------- whole events

    def _read_whole(
        self, cursor: int, raw: bytes, event: AdkEvent, speaker: fact.Speaker, out: list[fact.Fact]
    ) -> None:
        lane = lane_of(speaker)
        call = self.lanes.get(lane) or ModelCall(f"call-{cursor}", speaker)
        event_actions.read_error(event, speaker, out)
        remainder = model_call.NOTHING_SHOWN
        if call.streamed:
            remainder = call.remainder(_stored(event), out, is_all=_is_all(event, call))
        content = event.content
        if content is not None and content.parts:
            self._parts, self._author = content.parts, speaker
            self._show(cursor, raw, event, call, remainder, out)
        if event.output_transcription is not None:
            self._speak(cursor, event, event.output_transcription, speaker, out)
        if _ends_model_call(event):
            self._end_model_call(call, lane, out)
        if event.interrupted or event.turn_complete:
            self._end_turn(event, speaker, out)
        finish = finish_of(event)
        event_actions.read_actions(event, speaker, call.name, finish, self._sources, out)
        self.ending.note(event)
        self.ending.finish = finish or self.ending.finish

    def _speak(
        self,
        cursor: int,
        event: AdkEvent,
        said: adk_event.Transcription,
        speaker: fact.Speaker,
        out: list[fact.Fact],
    ) -> None:
        if text := self.transcripts.speak(cursor, said, event.partial, speaker, out):
            self._transcript = AgentText(speaker, text, True)

    def _end_turn(self, event: AdkEvent, speaker: fact.Speaker, out: list[fact.Fact]) -> None:
        """End the transcripts: the speaker was interrupted, or the turn is over."""
        text = self.transcripts.hush(speaker, out)
        if event.turn_complete:
            self.transcripts.complete(out)
        if event.interrupted:
            out.append(fact.Interrupted(speaker))
        elif text:
            self._transcript = AgentText(speaker, text, True)

    def _show(
        self,
        cursor: int,
        raw: bytes,
        event: AdkEvent,
        call: ModelCall,
        remainder: Remainder,
        out: list[fact.Fact],
    ) -> None:
        for index, part in enumerate(self._parts):
            place = (cursor, index)
            signature = part.thought_signature or ""
            if part.text is not None:
                kind = text_kind(part)
                added = remainder.of(kind, part.text)
                if added:
                    call.say(kind, added, signature, place, out)
                elif signature:
                    call.sign(kind, signature)
            elif not self._show_call(event, part, place, call, out):
                self._show_other(raw, part, place, call, out)
                _caption(part, remainder, place, call, out)

    def _show_call(
        self, event: AdkEvent, part: Part, place: Place, call: ModelCall, out: list[fact.Fact]
    ) -> bool:
        """Read a call or a response; return whether the part was one."""
        if part.function_call is not None:
            call.end_block(out)
            self.transcripts.pause(call.speaker, out)
            signature = part.thought_signature or ""
            self.questions.request(part.function_call, call, place, signature, event, out)
        elif part.function_response is not None:
            response = part.function_response
            if not _is_placeholder(response.id, event.actions):
                aborted = event.error_code == adk_event.ABORTED
                self.questions.answer(response, call.speaker, place, out, aborted)
        elif part.tool_call is not None:
            call.end_block(out)
            signature = part.thought_signature or ""
            out.append(self.questions.request_provider(part.tool_call, call, place, signature))
        elif part.tool_response is not None:
            out.extend(self.questions.answer_provider(part.tool_response, call, place))
        else:
            return False
        return True

    def _show_other(
        self, raw: bytes, part: Part, place: Place, call: ModelCall, out: list[fact.Fact]
    ) -> None:
        kind = adk_event.media_kind(part)
        if kind is None:
            unknown = adk_event.unknown_part(raw, place[1])
            if unknown is not None:
                out.append(fact.Unrecognised("part", unknown))
            elif part.thought_signature:
                call.sign(text_kind(part), part.thought_signature)
            return
        if call.media.was_previewed(kind):
            return
        call.end_block(out)
        shown = event_actions.show_media(part, str(place[1]), call.speaker, call.name)
        assert shown is not None
        out.append(shown)

    # -------------------------------------------------------------- the user's own events

    def _read_user(self, cursor: int, event: AdkEvent, out: list[fact.Fact]) -> None:
        speaker = self._speaker(event, out)
        if event.output_transcription is not None:
            self._speak(cursor, event, event.output_transcription, speaker, out)
        if event.partial:
            return
        event_actions.read_error(event, speaker, out)
        parts = (event.content.parts if event.content is not None else None) or []
        text = "".join(part.text for part in parts if part.text)
        if text:
            self.calls.go_on()
            out.append(fact.UserSpoke(text, event.id))
        for index, part in enumerate(parts):
            if part.function_response is not None:
                self.questions.answer(part.function_response, speaker, (cursor, index), out, False)
        event_actions.read_actions(
            event, speaker, f"call-{cursor}", finish_of(event), self._sources, out
        )


def _is_placeholder(call: str | None, actions: adk_event.Actions | None) -> bool:
    """Return whether a response only says that a person is asked first."""
    return actions is not None and (
        call in actions.requested_tool_confirmations or call in actions.requested_auth_configs
    )


def _caption(
    part: Part, remainder: Remainder, place: Place, call: ModelCall, out: list[fact.Fact]
) -> None:
    """Show the transcript of an audio part, if it has one."""
    added = remainder.of("transcript", model_call.heard_text(part))
    if added:
        call.say("transcript", added, "", place, out)


def _stored(event: AdkEvent) -> dict[fact.BlockKind, list[str]]:
    parts = event.content.parts if event.content is not None else None
    return model_call.stored_texts(parts) if parts else {}


def _is_all(event: AdkEvent, call: ModelCall) -> bool:
    """Return whether an event is all that ADK stores of a model call whose text was streamed.

    It is the aggregate if it has the id of the streamed events. Messages of a live run, where audio and
    text end one another, have other ids; so has the error event of a crash, whose `partial` is not false.
    A code executor replaces the aggregate by an event of its own with the code.
    """
    if not _ends_model_call(event) or event.interrupted or event.turn_complete:
        return False
    if _is_of_a_crash(event):
        return False
    if call.is_repeated or (event.id and event.id == call.event):
        return True
    parts = (event.content.parts if event.content is not None else None) or ()
    return any(is_given(part.executable_code) for part in parts)


def _is_of_a_crash(event: AdkEvent) -> bool:
    return bool(event.error_code or event.error_message) and event.partial is not False


def _ends_model_call(event: AdkEvent) -> bool:
    """Return whether an event ends its model call; events with state, usage or responses do not."""
    if event.error_code or event.error_message or event.finish_reason:
        return True
    if event.interrupted or event.turn_complete:
        return True
    if event.content is None:
        return False
    parts = event.content.parts
    return not parts or any(part.function_response is None for part in parts)


def unread_json(raw: bytes) -> Raw:
    """Return an unreadable event as JSON if it is JSON, else as a JSON string."""
    try:
        msgspec.json.decode(raw)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError):
        return Raw(msgspec.json.encode(raw.decode(errors="replace")))
    return Raw(raw)
