"""The scenarios that need no tool: what a model alone can say, show, cite, and how it can fail."""

from __future__ import annotations

import re

from google.genai import errors, types

from adk_prism.models import Fail, Say, Show, Think, Turn, say

from .media import PCM_RATE, pcm, png, wav
from .scenario_input import ScenarioInput

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
    claims = (
        "A prism splits white light into colours.",
        "Each colour is bent by its own angle.",
    )
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
