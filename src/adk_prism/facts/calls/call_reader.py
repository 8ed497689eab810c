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

from collections.abc import Iterable, Mapping
from typing import Any

from msgspec import Raw, Struct

from adk_prism.facts import media
from adk_prism.facts.adk_event import (
    ABORTED,
    CONFIRMATION,
    CREDENTIAL,
    INPUT,
    AdkEvent,
    FunctionCall,
    FunctionResponse,
    ServerCall,
    ServerResponse,
)
from adk_prism.facts.calls.failure import failure
from adk_prism.facts.calls.open_calls import Calls, OpenCall
from adk_prism.facts.calls.streamed_calls import StreamedCalls, derived_id
from adk_prism.facts.json_value import is_given, read_object
from adk_prism.facts.model import (
    ApprovalDecided,
    ApprovalRequested,
    CallAbandoned,
    CallAnswered,
    CallDenied,
    CallFailed,
    CallPending,
    CallRequested,
    Fact,
    InputRequested,
    Speaker,
)
from adk_prism.facts.model_call import ModelCall, Place
from adk_prism.runlog.entry import NOTHING, to_raw

_EMPTY_OBJECT = Raw(b"{}")
_NONE: frozenset[str] = frozenset()


class Batch(Struct, frozen=True):
    """What an event says of all its calls and answers together."""

    ids: frozenset[str]
    """Of its calls, as ADK knows them."""
    long_running: frozenset[str]
    """Those of them whose answer may come much later."""
    placeholders: frozenset[str]
    """Calls whose answer only says that a person is asked first."""
    aborted: bool
    """The answers were made up when the run was stopped."""

    @classmethod
    def of(cls, event: AdkEvent) -> Batch:
        """Read it from an event."""
        parts = (event.content.parts if event.content is not None else None) or ()
        ids = [part.function_call.id for part in parts if part.function_call is not None]
        actions = event.actions
        asked: Iterable[str] = ()
        if actions is not None:
            asked = (*actions.requested_tool_confirmations, *actions.requested_auth_configs)
        return cls(
            frozenset([call for call in ids if call]) if ids else _NONE,
            frozenset(event.long_running_tool_ids) if event.long_running_tool_ids else _NONE,
            frozenset(asked) if asked else _NONE,
            event.error_code == ABORTED,
        )


class CallReader:
    """Reads the calls of one message."""

    def __init__(self) -> None:
        self.calls = Calls()
        self.streamed = StreamedCalls(self.calls)

    # -------------------------------------------------------------- calls

    def request(
        self,
        part: FunctionCall,
        model: ModelCall,
        place: Place,
        signature: str,
        batch: Batch,
    ) -> list[Fact]:
        """Take a call in a non-partial event."""
        if part.name == CONFIRMATION:
            return self._ask_approval(part, model, place)
        if part.name in (CREDENTIAL, INPUT):
            return self._ask_input(part, model, place)
        adk_id = part.id or ""
        long_running = adk_id in batch.long_running
        call = self.streamed.confirmed(part, model, batch.ids)
        if call is None:
            name = part.name or ""
            call = OpenCall(self.calls.new_id(adk_id or derived_id(place)), adk_id, name)
            self.calls.open(call)
        else:
            self.calls.confirm(call, adk_id)
        call.awaits = long_running
        self.calls.nest(call, model.speaker)
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
            args if is_given(args) else _EMPTY_OBJECT,
            speaker,
            model_call,
            long_running,
            False,
            call.adk_id,
            signature,
        )

    def _ask_approval(self, part: FunctionCall, model: ModelCall, place: Place) -> list[Fact]:
        request = _Confirmation.read(part.args)
        approval = part.id or derived_id(place)
        if self.calls.is_asked(approval):
            return []  # said again: a person need not be asked twice
        facts: list[Fact] = []
        call = self.calls.by_adk_id(request.call) if request.call else None
        if call is None or not call.requested:
            call = call or self._made_up(request.call, request.call or approval, request.name)
            self.calls.confirm(call, call.adk_id)
            facts.append(self._requested(call, request.args, model.speaker, model.name))
        self.calls.gate(approval, call)
        facts.append(ApprovalRequested(approval, call.call, request.hint, request.payload))
        return facts

    def _ask_input(self, part: FunctionCall, model: ModelCall, place: Place) -> list[Fact]:
        reserved = part.id or derived_id(place)
        self.calls.request(reserved)
        if part.name == INPUT:
            return [InputRequested("input", reserved, "", part.args, model.speaker)]
        for_call = str(read_object(part.args).get("functionCallId") or "")
        call = self.calls.by_adk_id(for_call)
        if call is not None:
            call.awaits = True
            for_call = call.call
        return [InputRequested("credential", reserved, for_call, part.args, model.speaker)]

    # -------------------------------------------------------------- a live run's own questions

    def ask(self, approval: str, adk_id: str, hint: str, payload: Raw) -> list[Fact]:
        """Take a live run's question about a call, which was made before."""
        call = self.calls.by_adk_id(adk_id)
        if call is None or not call.requested or self.calls.is_asked(approval):
            return []
        self.calls.gate(approval, call)
        return [ApprovalRequested(approval, call.call, hint, payload)]

    def decide(self, approval: str, approved: bool, reason: str) -> list[Fact]:
        """Take the answer to it."""
        call = self.calls.decide(approval, approved, reason)
        return [ApprovalDecided(approval, call, approved, reason)] if call is not None else []

    def deny_all(self, reason: str) -> list[Fact]:
        """Deny what is undecided: there is nobody left to decide."""
        facts: list[Fact] = []
        for approval, call in self.calls.undecided():
            facts += self.decide(approval, False, reason)
            self.calls.close(call)
            facts.append(CallDenied(call.call, call.name, reason))
        return facts

    # -------------------------------------------------------------- answers

    def answer(
        self, part: FunctionResponse, speaker: Speaker, place: Place, out: list[Fact], aborted: bool
    ) -> None:
        """Take a response that is no placeholder."""
        if part.name in (CONFIRMATION, CREDENTIAL, INPUT):
            out.extend(self._answer_reserved(part))
            return
        name = part.name or ""
        call = self.calls.match(part.id or "", name)
        if call is None or not call.requested:
            # Nothing said what was asked: a call that is answered has an input all the same.
            call = call or self._made_up(part.id or "", part.id or derived_id(place), name)
            self.calls.confirm(call, call.adk_id)
            out.append(self._requested(call, NOTHING, speaker, f"call-{place[0]}"))
        orphans = self.calls.close(call)
        out.extend(CallAbandoned(left.call, left.name, left.requested) for left in orphans)
        out.append(self._answered(call, part.response, aborted))
        for index, piece in enumerate(part.parts or ()):
            which = f"{place[1]}-{index}"
            if piece.inline_data is not None:
                out.append(media.show_inline(piece.inline_data, which, speaker, ""))
            elif piece.file_data is not None:
                out.append(media.show_reference(piece.file_data, which, speaker, ""))

    def _made_up(self, adk_id: str, wanted: str, name: str) -> OpenCall:
        call = OpenCall(self.calls.new_id(wanted), adk_id, name)
        self.calls.open(call)
        return call

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

    def _answer_reserved(self, part: FunctionResponse) -> list[Fact]:
        reserved = part.id or ""
        if part.name != CONFIRMATION:
            self.calls.satisfy(reserved)
            return []
        answer = read_object(part.response)
        if isinstance(answer.get("response"), str):  # the other form ADK accepts
            answer = read_object(answer["response"].encode())
        approved = answer.get("confirmed") is True
        call = self.calls.decide(reserved, approved)
        return [ApprovalDecided(reserved, call, approved)] if call is not None else []

    # -------------------------------------------------------------- the provider's own tools

    def request_provider(
        self, part: ServerCall, model: ModelCall, place: Place, signature: str
    ) -> Fact:
        """Take a tool call that the model's provider runs itself."""
        wanted, name = part.id or derived_id(place), part.tool_type or "tool"
        call = OpenCall(self.calls.new_id(wanted), part.id or "", name, provider=True)
        self.calls.open(call)
        args = part.args if is_given(part.args) else _EMPTY_OBJECT
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
        tree = read_object(args)
        original = tree.get("originalFunctionCall")
        confirmation = tree.get("toolConfirmation")
        return cls(
            original if isinstance(original, dict) else {},
            confirmation if isinstance(confirmation, dict) else {},
        )
