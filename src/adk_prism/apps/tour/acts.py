"""What the root agent does in each scenario: alone, with its tools, with other agents and workflows.

An act knows the prompt's number and the answers so far (`ScenarioInput`), and returns the agent's next turn.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from google.genai import errors, types

from adk_prism.models import Call, Conversation, Fail, Say, Show, Think, Turn, say

from .specialists import BOOK_TABLE, CLERK, GUIDE, LOOK_UP, PLAN_TRIP, TRANSLATOR, TRIP_SPECIALISTS
from .tools import PCM_RATE, pcm, png, wav

_NUMBER = re.compile(r"\d[\d,_]*(?:\.\d+)?")


@dataclass(frozen=True, slots=True)
class ScenarioInput:
    """The conversation as a scenario sees it."""

    conversation: Conversation

    def number(self, default: float) -> float:
        """Return the first number in the prompt (`slow 5`), or `default`."""
        found = _NUMBER.search(self.conversation.prompt)
        return float(re.sub("[,_]", "", found.group())) if found else default

    def answer(self, name: str) -> Mapping[str, Any] | None:
        """Return what the named tool answered since the prompt, or None."""
        return self.conversation.answer(name)


Act = Callable[[ScenarioInput], Turn]

# Longer messages show nothing more, and the offline model would run for minutes.
_MOST_WORDS = 50_000

_MOST_KIB = 4_096

_LONGEST_TONE = 5.0


def text(given: ScenarioInput) -> Turn:
    return say(
        "This is **plain text**, streamed word by word.\n\n"
        "- It may hold Markdown: a list, `code`, a [link](https://example.com).\n"
        "- It may hold any letter: Grüße, 你好, 🌈.\n\n"
        "It arrives twice in ADK's events, first in pieces and then whole, "
        "and a client should show it once."
    )


def reasoning(given: ScenarioInput) -> Turn:
    return Turn(
        (
            Think("The person wants to see reasoning. ", None),
            Think("I should think first, and then answer briefly.", b"synthetic-signature"),
            Say("I thought about it before I answered: the thought is shown apart from this text."),
        )
    )


def code(given: ScenarioInput) -> Turn:
    program = "total = sum(n * n for n in range(5))\nprint(total)"
    python = types.Language.PYTHON
    return Turn(
        (
            Say("I compute it with a few lines of code.\n"),
            Show(
                types.Part(
                    executable_code=types.ExecutableCode(id="code-1", code=program, language=python)
                )
            ),
            Show(
                types.Part(
                    code_execution_result=types.CodeExecutionResult(
                        id="code-1", outcome=types.Outcome.OUTCOME_OK, output="30\n"
                    )
                )
            ),
            Say("The sum of the first five squares is 30."),
        )
    )


def image(given: ScenarioInput) -> Turn:
    return Turn(
        (
            Say("A small synthetic image:\n"),
            Show(_inline("image/png", png(24))),
            Say("It came inside the message."),
        )
    )


def large_file(given: ScenarioInput) -> Turn:
    kib = min(given.number(300), _MOST_KIB)
    # Three bytes a pixel, and the file is stored without compression.
    side = max(1, round((kib * 1024 / 3) ** 0.5))
    picture = png(side)
    return Turn(
        (
            Say(f"A synthetic image of {len(picture) // 1024} KiB:\n"),
            Show(_inline("image/png", picture)),
            Say("Too large to be repeated in a data URL."),
        )
    )


def file_reference(given: ScenarioInput) -> Turn:
    return Turn(
        (
            Say("Two references to (imaginary) files, one on the web and one in a bucket:\n"),
            Show(_reference("https://example.com/tour/report.pdf", "application/pdf")),
            Show(_reference("gs://example-bucket/tour/photo.jpg", "image/jpeg")),
            Say("A browser can open the first, and the second only with the server's help."),
        )
    )


def audio(given: ScenarioInput) -> Turn:
    return Turn(
        (
            Say("A tone as a WAV file:\n"),
            Show(_inline("audio/wav", wav(0.05))),
            Say("And the same as raw PCM:\n"),
            Show(_inline(f"audio/pcm;rate={PCM_RATE}", pcm(0.05))),
            Say("That was all of it."),
        )
    )


_HEARD = re.compile(r"([\d.]+) seconds of sound near (\d+) Hz")


def voice(given: ScenarioInput) -> Turn:
    """Say what was heard and give it back; asked in writing, say how to be heard."""
    heard = _HEARD.search(given.conversation.prompt)
    if heard is None:
        told = (
            "Speak to me over `/api/live/tour`, and I give back the tone that I hear. This is mine:"
        )
        return Turn((Say(told), Show(_inline(f"audio/pcm;rate={PCM_RATE}", pcm(0.05)))))
    seconds, pitch = min(float(heard[1]), _LONGEST_TONE), max(20, min(int(heard[2]), 4_000))
    tone = pcm(seconds, pitch=pitch)
    told = f"I heard {seconds:g} seconds of sound, about {pitch} Hz. Here it is again (synthetic): "
    return Turn((Say(told), Show(_inline(f"audio/pcm;rate={PCM_RATE}", tone))))


def sources(given: ScenarioInput) -> Turn:
    claims = ("A prism splits white light into colours.", "Each colour is bent by its own angle.")
    grounding = types.GroundingMetadata(
        web_search_queries=["how does a prism work"],
        grounding_chunks=[
            _web("https://example.com/optics/prism", "Prisms (synthetic)"),
            _web("https://example.org/dispersion", "Dispersion (synthetic)"),
            types.GroundingChunk(
                retrieved_context=types.GroundingChunkRetrievedContext(
                    uri="gs://example-bucket/optics.pdf",
                    title="Optics handbook (synthetic)",
                    text="Refraction depends on the wavelength.",
                )
            ),
        ],
        grounding_supports=_supports(claims, ((0,), (1, 2))),
    )
    citations = types.CitationMetadata(
        citations=[
            types.Citation(
                uri="https://example.com/optics/prism",
                title="Prisms (synthetic)",
                license="CC-BY-4.0",
                start_index=0,
                end_index=len(claims[0]),
            )
        ]
    )
    return Turn((Say(" ".join(claims)),), grounding=grounding, citations=citations)


def server_side_tool(given: ScenarioInput) -> Turn:
    kind = types.ToolType.GOOGLE_SEARCH_WEB
    request = types.ToolCall(id="search-1", tool_type=kind, args={"queries": ["prism"]})
    result = types.ToolResponse(
        id="search-1",
        tool_type=kind,
        response={"results": ["https://example.com/optics/prism"], "synthetic": True},
    )
    return Turn(
        (
            Say("The provider searches by itself.\n"),
            Show(types.Part(tool_call=request)),
            Show(types.Part(tool_response=result)),
            Say("It found one page, and nothing had to run here."),
        )
    )


def max_tokens(given: ScenarioInput) -> Turn:
    return Turn(
        (Say("This answer is cut off because the model has reached its limit in the mid"),),
        finish_reason=types.FinishReason.MAX_TOKENS,
    )


def safety(given: ScenarioInput) -> Turn:
    return Turn(
        (Say("This answer begins, and then"),),
        finish_reason=types.FinishReason.SAFETY,
        finish_message="The answer was withheld by a safety filter (scripted).",
    )


def quota(given: ScenarioInput) -> Turn:
    details = {
        "error": {
            "code": 429,
            "message": "Quota exceeded (scripted).",
            "status": "RESOURCE_EXHAUSTED",
        }
    }
    return Turn((Fail(errors.ClientError(429, details)),))


def broken_stream(given: ScenarioInput) -> Turn:
    return Turn(
        (
            Say("The connection to the model is lost after these"),
            Fail(ConnectionError("The model's stream ended early (scripted).")),
        )
    )


def long(given: ScenarioInput) -> Turn:
    count = int(min(given.number(2_000), _MOST_WORDS))
    return say(" ".join(f"word{i}" for i in range(1, count + 1)))


def empty(given: ScenarioInput) -> Turn:
    return Turn()


def _inline(media_type: str, content: bytes) -> types.Part:
    return types.Part(inline_data=types.Blob(mime_type=media_type, data=content))


def _reference(uri: str, media_type: str) -> types.Part:
    return types.Part(file_data=types.FileData(file_uri=uri, mime_type=media_type))


def _web(uri: str, title: str) -> types.GroundingChunk:
    return types.GroundingChunk(web=types.GroundingChunkWeb(uri=uri, title=title))


def _supports(
    claims: tuple[str, ...], chunks: tuple[tuple[int, ...], ...]
) -> list[types.GroundingSupport]:
    supports = []
    start = 0
    for claim, indices in zip(claims, chunks, strict=True):
        # Offsets count bytes of the answer, as Gemini's do.
        end = start + len(claim.encode())
        segment = types.Segment(start_index=start, end_index=end, text=claim)
        supports.append(
            types.GroundingSupport(segment=segment, grounding_chunk_indices=list(indices))
        )
        start = end + 1
    return supports


def one_call(call: Call, before: str, after: str) -> Act:
    """Return the act that says `before`, calls, and says `after` of the answer."""

    def act(given: ScenarioInput) -> Turn:
        answer = given.answer(call.name)
        return Turn((Say(before), call)) if answer is None else say(after)

    return act


tool = one_call(
    Call("get_weather", {"city": "Lisbon"}),
    "I look at the weather.",
    "It is sunny in Lisbon, 21 degrees (synthetic).",
)

streamed_arguments = one_call(
    Call(
        "write_report",
        {
            "title": "Light and prisms",
            "body": "A prism bends each colour by its own angle, and so the colours part.",
            "tags": ["optics", "synthetic"],
            "copies": 2,
            "draft": True,
        },
        streamed=True,
    ),
    "I write a report; watch its arguments grow.",
    "The report is written.",
)

tool_error = one_call(
    Call("find_order", {"number": 4711}),
    "I look the order up.",
    "The tool answered with an error: there is no such order. The run goes on.",
)

exception = one_call(
    Call("always_fail"), "I call a tool that raises.", "This is never said: the run has failed."
)

progress = one_call(
    Call("copy_files", {"count": 3}),
    "I copy some files; the tool reports each one.",
    "All files are copied (synthetic).",
)


def slow(given: ScenarioInput) -> Turn:
    seconds = given.number(60)
    if given.answer("keep_silent") is None:
        return Turn((Say("I keep silent for a while."), Call("keep_silent", {"seconds": seconds})))
    return say("The silence is over.")


def approval(given: ScenarioInput) -> Turn:
    answer = given.answer("send_invoice")
    if answer is None:
        invoice = Call("send_invoice", {"customer": "Ada", "amount": 120.5})
        return Turn((Say("I need your approval to send this invoice."), invoice))
    return say(f"The invoice {_fate(answer, 'was sent')}.")


def two_approvals(given: ScenarioInput) -> Turn:
    invoice, draft = given.answer("send_invoice"), given.answer("delete_draft")
    if invoice is None or draft is None:
        calls = (
            Call("send_invoice", {"customer": "Grace", "amount": 80.0}),
            Call("delete_draft", {"name": "old-offer"}),
        )
        return Turn((Say("I need your approval for two things."), *calls))
    sent, deleted = _fate(invoice, "was sent"), _fate(draft, "was deleted")
    return say(f"The invoice {sent}, and the draft {deleted}.")


def client_tool(given: ScenarioInput) -> Turn:
    answer = given.answer("get_location")
    if answer is None:
        return Turn((Say("I ask your device."), Call("get_location", {"accuracy": "city"})))
    return say(f"Your device answered: {_brief(answer)}.")


def mixed_batch(given: ScenarioInput) -> Turn:
    place, invoice = given.answer("get_location"), given.answer("send_invoice")
    weather = given.answer("get_weather")
    if place is None and invoice is None and weather is None:
        calls = (
            Call("get_location", {"accuracy": "city"}),
            Call("send_invoice", {"customer": "Ada", "amount": 42.0}),
            Call("get_weather", {"city": "Porto"}),
        )
        return Turn((Say("One tool of yours, one to approve, one of mine, all at once."), *calls))
    where = _brief(place) if place is not None else "no answer"
    fate = _fate(invoice, "was sent") if invoice is not None else "waits"
    return say(f"Your device: {where}. The invoice {fate}. The weather is sunny.")


def long_running(given: ScenarioInput) -> Turn:
    answer = given.answer("order_print")
    if answer is None:
        return Turn((Say("I order the print."), Call("order_print", {"pages": 12})))
    if answer.get("status") == "pending":
        return say("The print is ordered; the result comes later, in a message of its own.")
    return say(f"The print is done: {_brief(answer)}.")


def state(given: ScenarioInput) -> Turn:
    if given.answer("note_trip") is None:
        return Turn((Say("I note the trip."), Call("note_trip", {"destination": "Hamburg"})))
    if given.answer("note_budget") is None:
        return Turn((Say("And its budget."), Call("note_budget", {"amount": 1200})))
    return say("Both are in the session's state now.")


artifact = one_call(
    Call("save_note", {"name": "note.txt", "text": "A synthetic note."}),
    "I save a note.",
    "The note is saved as an artifact.",
)


def credential_request(given: ScenarioInput) -> Turn:
    answer = given.answer("read_calendar")
    if answer is None:
        return Turn((Say("I need you to sign in."), Call("read_calendar", {"day": "today"})))
    return say(f"The calendar says: {_brief(answer)}.")


def _fate(answer: Mapping[str, Any], done: str) -> str:
    return "was not approved" if "error" in answer else done


def _brief(answer: Mapping[str, Any]) -> str:
    return ", ".join(f"{key} {value}" for key, value in answer.items() if key != "synthetic")


def transfer(given: ScenarioInput) -> Turn:
    return Turn((Say("I hand you over."), Call("transfer_to_agent", {"agent_name": GUIDE})))


def parallel_specialists(given: ScenarioInput) -> Turn:
    if all(given.answer(name) is None for name in TRIP_SPECIALISTS):
        calls = (Call(name, {"request": "A weekend in Porto"}) for name in TRIP_SPECIALISTS)
        return Turn((Say("I ask three specialists at once."), *calls))
    return say("All three have answered: the weekend can begin (synthetic).")


def sub_agent_approval(given: ScenarioInput) -> Turn:
    answer = given.answer(CLERK)
    if answer is None:
        ask = Call(CLERK, {"request": "Refund 19.90 for order 7"})
        return Turn((Say("I ask the clerk, who needs your approval."), ask))
    return say(f"The clerk reports: {_report(answer)}")


def agent_tool(given: ScenarioInput) -> Turn:
    answer = given.answer(TRANSLATOR)
    if answer is None:
        ask = Call(TRANSLATOR, {"request": "Good morning"})
        return Turn((Say("I ask the translator."), ask))
    return say(f"The translator says: {_report(answer)}")


workflow = one_call(
    Call(PLAN_TRIP, {"destination": "Lisbon", "days": 3}),
    "I start the workflow.",
    "The workflow is done.",
)

recovered_error = one_call(
    Call(LOOK_UP, {"word": "prism"}),
    "I look it up in a place that fails at first.",
    "The first attempt failed, the second one worked, and the run goes on.",
)


def input_request(given: ScenarioInput) -> Turn:
    answer = given.answer(BOOK_TABLE)
    if answer is None:
        return Turn((Say("I book a table."), Call(BOOK_TABLE, {"restaurant": "Prisma"})))
    return say(f"The booking says: {_report(answer)}")


def _report(answer: Mapping[str, Any]) -> str:
    return str(answer.get("result", dict(answer)))
