"""What a function call or response in an event means.

The rules, each found on real runs of google-adk 2.13:
- Calls are real only in non-partial events; their arguments may stream before, and a model adapter that
  sets no ids lets ADK give the preview another id than the call.
- ADK asks a person through reserved calls. The answer that a gated call gets together with the request is
  a placeholder, recognised by the request on its own event, whichever comes first.
- A denial is known from the decision that was given, never from the text of the answer.
- An answer to a call that nobody saw is shown with the call made up for it: nothing vanishes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import Raw

from adk_prism.facts import media
from adk_prism.facts.adk_event import (
    CONFIRMATION,
    CREDENTIAL,
    INPUT,
    FunctionCall,
    FunctionResponse,
    ServerCall,
    ServerResponse,
)
from adk_prism.facts.arguments import ArgumentWriter
from adk_prism.facts.calls import Calls, OpenCall, failure
from adk_prism.facts.lanes import ModelCall, Place
from adk_prism.facts.model import (
    ApprovalRequested,
    CallAbandoned,
    CallAnswered,
    CallDenied,
    CallFailed,
    CallInputGrew,
    CallPending,
    CallRequested,
    Fact,
    InputRequested,
    Speaker,
)
from adk_prism.runlog.entry import NOTHING, is_absent, to_raw

_EMPTY_OBJECT = Raw(b"{}")


class _Streamed:
    """A call whose arguments arrive in pieces."""

    __slots__ = ("adk_id", "call", "open", "writer")

    def __init__(self, call: OpenCall) -> None:
        self.call = call
        self.writer = ArgumentWriter()
        self.open = True


class CallReader:
    """Reads the calls of one message."""

    def __init__(self) -> None:
        self.calls = Calls()
        self._streams: dict[str, list[_Streamed]] = {}
        """By model call: the calls it streams, in order."""

    # -------------------------------------------------------------- streamed arguments

    def stream(self, part: FunctionCall, model: ModelCall, place: Place) -> CallInputGrew | None:
        """Take a call in a partial event: a piece of its arguments, or a preview to pass over."""
        streams = self._streams.get(model.name, [])
        current = streams[-1] if streams and streams[-1].open else None
        if part.name and (current is None or part.id != current.call.adk_id):
            if not part.will_continue and not part.partial_args:
                return None  # a preview of a whole call
            current = self._open_stream(part, part.name, model, place)
        if current is None:
            return None
        text = current.writer.write(part.partial_args or [])
        current.open = bool(part.will_continue)
        if not text and not part.name:
            return None
        call = current.call
        return CallInputGrew(call.call, call.name, text, model.speaker, model.name)

    def _open_stream(
        self, part: FunctionCall, name: str, model: ModelCall, place: Place
    ) -> _Streamed:
        adk_id = part.id or ""
        call = OpenCall(
            self.calls.free_id(adk_id or _derived(place)), adk_id, name, requested=False
        )
        self.calls.open(call)
        stream = _Streamed(call)
        self._streams.setdefault(model.name, []).append(stream)
        return stream

    def _confirmed(self, part: FunctionCall, model: ModelCall) -> OpenCall | None:
        """Find the streamed call that a confirmed one completes: by id, else in order by name."""
        waiting = [s.call for s in self._streams.get(model.name, ()) if not s.call.requested]
        same = [c for c in waiting if part.id and c.adk_id == part.id]
        named = [c for c in waiting if c.name == part.name]
        return next(iter(same or named), None)

    def forget(self, model: ModelCall, out: list[Fact]) -> None:
        """Give up streamed calls that their model call did not confirm."""
        for stream in self._streams.pop(model.name, ()):
            if not stream.call.requested:
                self.calls.close(stream.call)
                out.append(CallAbandoned(stream.call.call, stream.call.name, False))

    # -------------------------------------------------------------- calls

    def request(
        self, part: FunctionCall, long_running: bool, model: ModelCall, place: Place, signature: str
    ) -> list[Fact]:
        """Take a call in a non-partial event."""
        if part.name == CONFIRMATION:
            return self._ask_approval(part, model, place)
        if part.name in (CREDENTIAL, INPUT):
            return self._ask_input(part, place)
        call = self._confirmed(part, model)
        adk_id = part.id or ""
        if call is None:
            name = part.name or ""
            call = OpenCall(self.calls.free_id(adk_id or _derived(place)), adk_id, name)
            self.calls.open(call)
        call.adk_id, call.requested, call.awaits = adk_id, True, long_running
        facts: list[Fact] = [
            self._requested(call, part.args, model.speaker, model.name, long_running, signature)
        ]
        if long_running:
            facts.append(CallPending(call.call, call.name))
        return facts

    def _requested(
        self,
        call: OpenCall,
        args: Raw,
        speaker: Speaker,
        model_call: str,
        long_running: bool = False,
        signature: str = "",
    ) -> CallRequested:
        return CallRequested(
            call.call,
            call.name,
            _EMPTY_OBJECT if is_absent(args) else args,
            speaker,
            model_call,
            long_running,
            False,
            call.adk_id,
            signature,
        )

    def _ask_approval(self, part: FunctionCall, model: ModelCall, place: Place) -> list[Fact]:
        request = _Confirmation.read(part.args)
        approval = part.id or _derived(place)
        facts: list[Fact] = []
        call = self.calls.by_adk_id(request.call) if request.call else None
        if call is None:
            call = OpenCall(
                self.calls.free_id(request.call or approval), request.call, request.name
            )
            self.calls.open(call)
            facts.append(self._requested(call, request.args, model.speaker, model.name))
        self.calls.gate(approval, call)
        facts.append(ApprovalRequested(approval, call.call, request.hint, request.payload))
        return facts

    def _ask_input(self, part: FunctionCall, place: Place) -> list[Fact]:
        reserved = part.id or _derived(place)
        self.calls.request(reserved)
        if part.name == INPUT:
            return [InputRequested("input", reserved, "", part.args)]
        for_call = str(_tree(part.args).get("functionCallId") or "")
        call = self.calls.by_adk_id(for_call)
        if call is not None:
            call.awaits = True
        return [InputRequested("credential", reserved, for_call, part.args)]

    # -------------------------------------------------------------- answers

    def answer(
        self, part: FunctionResponse, speaker: Speaker, place: Place, out: list[Fact], aborted: bool
    ) -> None:
        """Take a response that is no placeholder."""
        if part.name in (CONFIRMATION, CREDENTIAL, INPUT):
            self._answer_reserved(part)
            return
        name = part.name or ""
        call = self.calls.match(part.id or "", name)
        if call is None:
            call = OpenCall(self.calls.free_id(part.id or _derived(place)), part.id or "", name)
            out.append(self._requested(call, NOTHING, speaker, f"call-{place[0]}"))
        self.calls.close(call)
        out.append(self._answered(call, part.response, aborted))
        for index, piece in enumerate(part.parts or ()):
            which = f"{place[1]}-{index}"
            if piece.inline_data is not None:
                out.append(media.show_inline(piece.inline_data, which, speaker, ""))
            elif piece.file_data is not None:
                out.append(media.show_reference(piece.file_data, which, speaker, ""))

    def take_answers(self, answers: Mapping[str, Raw]) -> list[Fact]:
        """Take answers that came with the request that started the run."""
        facts: list[Fact] = []
        for name, response in answers.items():
            call = self.calls.by_id(name)
            if call is None:
                self.calls.satisfy(name)
            else:
                self.calls.close(call)
                facts.append(self._answered(call, response, aborted=False))
        return facts

    def _answered(self, call: OpenCall, response: Raw, aborted: bool) -> Fact:
        denial = self.calls.denial(call)
        if aborted:
            return CallAbandoned(call.call, call.name, True)
        if denial is not None:
            return CallDenied(call.call, call.name, denial.reason)
        error = failure(response)
        if error is not None:
            return CallFailed(call.call, call.name, response, error, False)
        return CallAnswered(call.call, call.name, response, False)

    def _answer_reserved(self, part: FunctionResponse) -> None:
        reserved = part.id or ""
        if part.name == CONFIRMATION:
            answer = _tree(part.response)
            if isinstance(answer.get("response"), str):  # the other form ADK accepts
                answer = _tree(Raw(answer["response"].encode()))
            self.calls.decide(reserved, answer.get("confirmed") is True)
        self.calls.satisfy(reserved)

    # -------------------------------------------------------------- the provider's own tools

    def request_provider(
        self, part: ServerCall, model: ModelCall, place: Place, signature: str
    ) -> Fact:
        """Take a tool call that the model's provider runs itself."""
        call = OpenCall(
            self.calls.free_id(part.id or _derived(place)), part.id or "", part.tool_type or "tool"
        )
        call.delegates = True  # never the client's to answer, never abandoned
        self.calls.open(call)
        args = _EMPTY_OBJECT if is_absent(part.args) else part.args
        return CallRequested(
            call.call,
            call.name,
            args,
            model.speaker,
            model.name,
            False,
            True,
            call.adk_id,
            signature,
        )

    def answer_provider(self, part: ServerResponse, model: ModelCall, place: Place) -> list[Fact]:
        """Take the answer to such a call."""
        facts: list[Fact] = []
        call = self.calls.match(part.id or "", part.tool_type or "tool")
        if call is None:
            asked = ServerCall(part.id, part.tool_type)
            facts.append(self.request_provider(asked, model, place, ""))
            call = self.calls.match(part.id or "", part.tool_type or "tool")
            assert call is not None
        self.calls.close(call)
        facts.append(CallAnswered(call.call, call.name, part.response, True))
        return facts


class _Confirmation:
    """The arguments of ADK's request to confirm a call."""

    __slots__ = ("args", "call", "hint", "name", "payload")

    def __init__(self, original: dict[str, Any], confirmation: dict[str, Any]) -> None:
        self.call = str(original.get("id") or "")
        self.name = str(original.get("name") or "")
        self.args = to_raw(original.get("args") or {})
        self.hint = str(confirmation.get("hint") or "")
        payload = confirmation.get("payload")
        self.payload = NOTHING if payload is None else to_raw(payload)

    @classmethod
    def read(cls, args: Raw) -> _Confirmation:
        tree = _tree(args)
        original = tree.get("originalFunctionCall")
        confirmation = tree.get("toolConfirmation")
        return cls(
            original if isinstance(original, dict) else {},
            confirmation if isinstance(confirmation, dict) else {},
        )


def _derived(place: Place) -> str:
    """Make an id for a call that came without one."""
    return f"call-{place[0]}.{place[1]}"


def _tree(raw: Raw) -> dict[str, Any]:
    try:
        tree = msgspec.json.decode(bytes(raw))
    except msgspec.MsgspecError:
        return {}
    return tree if isinstance(tree, dict) else {}
