"""One turn of a live model: what it was sent until then, and what it said, called and reported.

A turn is a model call. What ADK gives twice, in pieces and whole, is kept once. Audio is named, not kept.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

from google.adk.events.event import Event
from google.genai import types
from msgspec import Raw, json

from adk_prism.runlog.entry import NOTHING, ModelCalled
from adk_prism.source.model_calls.bounded_text import bounded
from adk_prism.source.model_calls.seen_call import CallTexts, ContentText, SeenCall
from adk_prism.source.model_calls.texts import RequestTexts
from adk_prism.source.plain_json import encode_strictly
from adk_prism.source.redaction import model_json, redacted_json, safe_code

_TOLD = {
    "grounding_metadata",
    "model_version",
    "interrupted",
    "turn_complete",
    "turn_complete_reason",
    "finish_reason",
    "error_code",
    "error_message",
}
"""Fields of a response that are kept beside what was said."""

MOST_CUTS = 100


class Transcript:
    """What was said aloud: in pieces, and then whole."""

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self._is_whole = False

    def add(self, said: types.Transcription | None) -> None:
        """Read a piece, or the whole."""
        if said is None or not said.text:
            return
        if said.finished:
            self._pieces, self._is_whole = [said.text], True
        elif not self._is_whole:
            self._pieces.append(said.text)

    def shown(self, name: str) -> dict[str, Raw]:
        """Return it as a field of a response; nothing if nobody spoke."""
        text = "".join(self._pieces)
        return {name: Raw(redacted_json(encode_strictly({"text": text})))} if text else {}


class ModelTurn:
    """A turn that has begun."""

    def __init__(
        self,
        agent: str,
        model: str,
        asked: tuple[float, float] | None,
        contents: Sequence[ContentText],
    ) -> None:
        """`asked` is when the model was sent something, on both clocks; None: nobody knows."""
        now = time.time(), time.perf_counter()
        self.agent = agent
        self._model = model
        self._began = asked or now
        self._first = now[1] - asked[1] if asked else None
        self._last = now[1]
        self._contents = contents
        self._parts: list[Raw] = []
        self._text: list[str] = []
        """Pieces of a text that has not come whole."""
        self._sound: dict[str, None] = {}
        self._output, self.heard = Transcript(), Transcript()
        self._told: dict[str, Raw] = {}
        self.usage: Raw = NOTHING
        self._finish = self._error = ""

    def play(self, media_type: str) -> None:
        """Note audio."""
        self._last = time.perf_counter()
        self._sound[media_type] = None

    def read(self, event: Event) -> None:
        """Read an event of the model."""
        self._last = time.perf_counter()
        self._output.add(event.output_transcription)
        if event.usage_metadata is not None:
            self.usage = Raw(model_json(event.usage_metadata))
        self._finish = _name(event.finish_reason) or self._finish
        self._error = _name(event.error_code) or self._error
        parts = (event.content.parts or ()) if event.content is not None else ()
        if event.partial:
            self._text += [part.text for part in parts if part.text]
            return
        self._told |= json.decode(model_json(event, include=_TOLD), type=dict[str, Raw])
        for part in parts:
            self._add(part)

    def _add(self, part: types.Part) -> None:
        file = part.inline_data
        if file is not None and (file.mime_type or "").startswith("audio/"):
            self._sound[file.mime_type or ""] = None
            return
        if part.text:
            self._text.clear()
        self._parts.append(Raw(model_json(part)))

    def over(self, setup: RequestTexts | None, cut: Sequence[str]) -> SeenCall:
        """Return the call, now that it is over. Without a setup only a summary is wanted, or known."""
        record = ModelCalled(
            agent=self.agent,
            model=self._model,
            started=round(self._began[0], 3),
            first_token=None if self._first is None else round(self._first * 1000),
            duration=max(0, round((self._last - self._began[1]) * 1000)),
            usage=self.usage,
            finish=self._finish,
            error=safe_code(self._error) if self._error else "",
            responses=1,
            cut=list(cut)[:MOST_CUTS],
        )
        if setup is None:
            return SeenCall(record, None)
        texts = CallTexts(
            instruction=setup.instruction,
            config=setup.config,
            tools=setup.tools,
            contents=self._contents,
            answer=bounded(self._answer())[0],
            response=bounded(self._response())[0],
        )
        return SeenCall(record, texts)

    def _answer(self) -> bytes:
        parts = list(self._parts)
        if self._text:  # It was interrupted before the whole text came.
            parts.append(Raw(redacted_json(encode_strictly({"text": "".join(self._text)}))))
        parts += [Raw(json.encode({"inlineData": {"mimeType": kind}})) for kind in self._sound]
        return json.encode({"parts": parts, "role": "model"}) if parts else b""

    def _response(self) -> bytes:
        said = self._output.shown("outputTranscription") | self.heard.shown("inputTranscription")
        return json.encode(self._told | said)


def _name(value: object) -> str:
    name = getattr(value, "value", value)
    return name if isinstance(name, str) else ""
