"""What a function call or response in an event means.

The rules, each observed in runs of google-adk 2.13:
- Only calls in non-partial events are made; their arguments may stream before. If a model adapter sets no
  ids, ADK gives the preview another id than the call.
- ADK asks a person through reserved calls. A call that waits for a confirmation gets a placeholder response,
  recognised by the request in the `actions` of the same event.
- A denial is known from the decision that was given, never from the text of the response.
- For a response without a known call, a call is added, so that the response is shown.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from msgspec import Raw, Struct

from adk_prism.facts import adk_event
from adk_prism.facts import model as fact
from adk_prism.facts.adk_event import AdkEvent, FunctionCall, FunctionResponse
from adk_prism.facts.event_actions import show_inline, show_reference
from adk_prism.facts.model_call import ModelCall, Place
from adk_prism.facts.open_calls import Calls, OpenCall, StreamedCalls, derived_id
from adk_prism.facts.state import is_given, read_object, read_value, repair
from adk_prism.log.entry import NOTHING, given_raw, to_raw

# ---------------------------------------------------------------------------
# Whether a tool's response reports a failure.


def failure(response: Raw) -> str | None:
    """Return the error text of a failed tool's response; None for a success.

    A failure is `success: false`, or an `error` that is not empty, unless the response declares a success
    by a `result`, by `success: true`, or by its `status`. The text is the error, or its `message`, or the
    whole response if neither is a text.
    """
    if not _may_report_failure(response):
        return None
    raw = bytes(response)
    tree = read_value(raw)
    if not isinstance(tree, dict):
        return None
    error = tree.get("error")
    if tree.get("success") is not False and (not error or _is_success(tree)):
        return None
    if isinstance(error, dict):
        error = error.get("message")
    return error if isinstance(error, str) and error.strip() else repair(raw).decode()


_SUCCESS = frozenset(
    "success succeeded successful ok okay completed complete done finished".split()
)
"""Values of `status` that mean success."""


def _is_success(tree: dict[str, Any]) -> bool:
    status = tree.get("status")
    said = isinstance(status, str) and status.strip().lower() in _SUCCESS
    return said or "result" in tree or tree.get("success") is True


class _Indicators(Struct, gc=False):
    """The members that can report a failure. Decoding skips the rest, which costs less than searching the
    bytes for the words, and does not find them inside values."""

    error: Raw = NOTHING
    success: Raw = NOTHING


_read_indicators = msgspec.json.Decoder(_Indicators).decode


def _may_report_failure(response: Raw) -> bool:
    try:
        found = _read_indicators(response)
    except (msgspec.MsgspecError, RecursionError):
        return True
    return found.error is not NOTHING or found.success is not NOTHING


# ---------------------------------------------------------------------------

_EMPTY_OBJECT = Raw(b"{}")


class CallReader:
    """Reads the calls of one message."""

    def __init__(self) -> None:
        self.calls = Calls()
        self._answering: tuple[int, set[str]] = (0, set())
        """The last event with responses, and the calls that it answers."""
        self.streamed = StreamedCalls(self.calls)

    # -------------------------------------------------------------- calls

    def request(
        self,
        part: FunctionCall,
        model: ModelCall,
        place: Place,
        signature: str,
        event: AdkEvent,
        out: list[fact.Fact],
    ) -> None:
        """Read a call in a non-partial event."""
        if part.name in adk_event.REQUESTS:
            if part.name == adk_event.CONFIRMATION:
                self._ask_approval(part, model, place, out)
            else:
                out.append(self._ask_input(part, model, place))
            return
        adk_id = part.id or ""
        long_running = adk_id in (event.long_running_tool_ids or ())
        call = self.streamed.confirmed(part, model, event)
        if call is None:
            name = part.name or ""
            call = OpenCall(self.calls.new_id(adk_id or derived_id(place)), adk_id, name)
            self.calls.open(call)
        else:
            self.calls.confirm(call, adk_id)
        call.awaits = long_running
        self.calls.nest(call, model.speaker)
        out.append(_requested(call, part.args, model.speaker, model.name, long_running, signature))
        if long_running:
            out.append(fact.CallPending(call.call, call.name))

    def progress(self, report: adk_event.Progress, out: list[fact.Fact]) -> None:
        """Read how far a tool is; nothing once its call is answered."""
        if (call := self.calls.working(report.call)) is not None:
            about = report.done, report.total, report.message, report.data
            out.append(fact.CallProgressed(call.call, call.name, *about))

    def _ask_approval(
        self, part: FunctionCall, model: ModelCall, place: Place, out: list[fact.Fact]
    ) -> None:
        request = _Confirmation.read(part.args)
        approval = part.id or derived_id(place)
        if self.calls.is_asked(approval):
            return  # repeated: a person is asked once
        call = self.calls.by_adk_id(request.call) if request.call else None
        if call is None or not call.requested:
            call = call or self._add_unseen(request.call, request.call or approval, request.name)
            self.calls.confirm(call, call.adk_id)
            out.append(_requested(call, request.args, model.speaker, model.name))
        self.calls.gate(approval, call)
        out.append(fact.ApprovalRequested(approval, call.call, request.hint, request.payload))

    def _ask_input(self, part: FunctionCall, model: ModelCall, place: Place) -> fact.Fact:
        reserved = part.id or derived_id(place)
        self.calls.request(reserved)
        if part.name == adk_event.INPUT:
            return fact.InputRequested("input", reserved, "", part.args, model.speaker)
        for_call = str(read_object(part.args).get("functionCallId") or "")
        call = self.calls.by_adk_id(for_call)
        if call is not None:
            call.awaits = True
            for_call = call.call
        return fact.InputRequested("credential", reserved, for_call, part.args, model.speaker)

    # -------------------------------------------------------------- questions of live runs

    def ask(self, approval: str, adk_id: str, hint: str, payload: Raw) -> list[fact.Fact]:
        """Read a live run's question about a call that was made before."""
        call = self.calls.by_adk_id(adk_id)
        if call is None or not call.requested or self.calls.is_asked(approval):
            return []
        self.calls.gate(approval, call)
        return [fact.ApprovalRequested(approval, call.call, hint, payload)]

    def decide(self, approval: str, approved: bool, reason: str) -> list[fact.Fact]:
        """Read a person's decision on such a question."""
        call = self.calls.decide(approval, approved, reason)
        return [fact.ApprovalDecided(approval, call, approved, reason)] if call is not None else []

    def deny_all(self, reason: str) -> list[fact.Fact]:
        """Deny all open questions: the run is over."""
        facts: list[fact.Fact] = []
        for approval, call in self.calls.undecided():
            facts += self.decide(approval, False, reason)
            self.calls.close(call)
            facts.append(fact.CallDenied(call.call, call.name, reason))
        return facts

    # -------------------------------------------------------------- responses

    def answer(
        self,
        part: FunctionResponse,
        speaker: fact.Speaker,
        place: Place,
        out: list[fact.Fact],
        aborted: bool,
    ) -> None:
        """Read a response that is not a placeholder."""
        if part.name in adk_event.REQUESTS:
            out.extend(self._answer_reserved(part))
            return
        name = part.name or ""
        call = self.calls.match(part.id or "", name)
        if call is None or not call.requested:
            # The call was not seen, but a client needs one with an input to show its response.
            call = call or self._add_unseen(part.id or "", part.id or derived_id(place), name)
            self.calls.confirm(call, call.adk_id)
            out.append(_requested(call, NOTHING, speaker, f"call-{place[0]}"))
        if over := self.calls.close(call):
            out += [fact.CallAbandoned(left.call, left.name, left.requested) for left in over]
        self._forget_earlier(call.call, place[0], out)
        out.append(self._answered(call, part.response, aborted))
        if part.parts:
            _show_media(part.parts, place[1], speaker, out)

    def _forget_earlier(self, call: str, cursor: int, out: list[fact.Fact]) -> None:
        """Of several responses to one call in an event the last counts: a client shows one result."""
        if cursor != self._answering[0]:
            self._answering = cursor, set()
        answered = self._answering[1]
        if call in answered:
            out[:] = [
                item
                for item in out
                if not (isinstance(item, fact.CallAnswered | fact.CallFailed) and item.call == call)
            ]
        answered.add(call)

    def _add_unseen(self, adk_id: str, wanted: str, name: str) -> OpenCall:
        call = OpenCall(self.calls.new_id(wanted), adk_id, name)
        self.calls.open(call)
        return call

    def take_answers(self, answers: Mapping[str, Raw]) -> list[fact.Fact]:
        """Read the responses that came with the request that started the run."""
        facts: list[fact.Fact] = []
        for name, response in answers.items():
            call = self.calls.by_id(name)
            if call is None:
                self.calls.satisfy(name)
            else:
                self.calls.close(call)
                facts.append(self._answered(call, response, aborted=False))
        return facts

    def _answered(self, call: OpenCall, response: Raw, aborted: bool) -> fact.Fact:
        denial = self.calls.denial(call)
        if aborted:
            return fact.CallAbandoned(call.call, call.name, True)
        if denial is not None:
            return fact.CallDenied(call.call, call.name, denial.reason)
        error = failure(response)
        if error is not None:
            return fact.CallFailed(call.call, call.name, response, error, False)
        return fact.CallAnswered(call.call, call.name, response, False)

    def _answer_reserved(self, part: FunctionResponse) -> list[fact.Fact]:
        reserved = part.id or ""
        if part.name != adk_event.CONFIRMATION:
            self.calls.satisfy(reserved)
            return []
        answer = read_object(part.response)
        if isinstance(answer.get("response"), str):  # ADK also accepts JSON in a string
            answer = read_object(answer["response"].encode())
        approved = answer.get("confirmed") is True
        call = self.calls.decide(reserved, approved)
        return [fact.ApprovalDecided(reserved, call, approved)] if call is not None else []

    # -------------------------------------------------------------- provider-executed tools

    def request_provider(
        self, part: adk_event.ServerCall, model: ModelCall, place: Place, signature: str
    ) -> fact.Fact:
        """Read a call that the model's provider runs itself."""
        wanted, name = part.id or derived_id(place), part.tool_type or "tool"
        call = OpenCall(self.calls.new_id(wanted), part.id or "", name, provider=True)
        self.calls.open(call)
        return _requested(call, part.args, model.speaker, model.name, False, signature, True)

    def answer_provider(
        self, part: adk_event.ServerResponse, model: ModelCall, place: Place
    ) -> list[fact.Fact]:
        """Read the response to such a call."""
        facts: list[fact.Fact] = []
        call = self.calls.match(part.id or "", part.tool_type or "tool")
        if call is None:
            asked = adk_event.ServerCall(part.id, part.tool_type)
            facts.append(self.request_provider(asked, model, place, ""))
            call = self.calls.match(part.id or "", part.tool_type or "tool")
            assert call is not None
        self.calls.close(call)
        facts.append(fact.CallAnswered(call.call, call.name, part.response, True))
        return facts


def _requested(
    call: OpenCall,
    args: Raw,
    speaker: fact.Speaker,
    model_call: str,
    long_running: bool = False,
    signature: str = "",
    provider_executed: bool = False,
) -> fact.CallRequested:
    return fact.CallRequested(
        call.call,
        call.name,
        args if is_given(args) else _EMPTY_OBJECT,
        speaker,
        model_call,
        long_running,
        provider_executed,
        call.adk_id,
        signature,
    )


def _show_media(
    parts: Sequence[adk_event.ResponsePart], index: int, speaker: fact.Speaker, out: list[fact.Fact]
) -> None:
    """Show the files that a response carries."""
    for number, part in enumerate(parts):
        name = f"{index}-{number}"
        if part.inline_data is not None:
            out.append(show_inline(part.inline_data, name, speaker, ""))
        elif part.file_data is not None:
            out.append(show_reference(part.file_data, name, speaker, ""))


class _Confirmation:
    """The arguments of ADK's request to confirm a call."""

    __slots__ = ("args", "call", "hint", "name", "payload")

    def __init__(self, original: dict[str, Any], confirmation: dict[str, Any]) -> None:
        self.call = str(original.get("id") or "")
        self.name = str(original.get("name") or "")
        self.args = to_raw(original.get("args") or {})
        hint = str(confirmation.get("hint") or "")
        self.hint = "" if hint.startswith(adk_event.MADE_UP_HINT) else hint
        self.payload = given_raw(confirmation.get("payload"))

    @classmethod
    def read(cls, args: Raw) -> _Confirmation:
        tree = read_object(args)
        original = tree.get("originalFunctionCall")
        confirmation = tree.get("toolConfirmation")
        return cls(
            original if isinstance(original, dict) else {},
            confirmation if isinstance(confirmation, dict) else {},
        )
