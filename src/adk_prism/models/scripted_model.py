"""An offline model: it plays a script the way ADK's `Gemini` class plays a real stream.

The chunks go through ADK's own aggregator, so that partial events, the closing aggregate, call ids
and error codes have exactly the shape that a Gemini model gives with the installed ADK. Nothing is
random: ids come from `google.adk.platform.uuid`, which a test may replace. In a stream each chunk
is a partial response and one non-partial response with everything follows; otherwise there is one
response. In a live connection the same scripts are spoken (`scripted_live.py`).

The environment says whether an app uses it (`model_from_environment`). `ADK_PRISM_MODEL` names any model that
ADK knows, or `offline`. Without it, a Gemini API key or the settings for Vertex AI choose ADK's own default
model. `ADK_PRISM_OFFLINE_DELAY` is the time between the words of the offline model, in seconds.
"""

from __future__ import annotations

import asyncio
import os
import re
import unicodedata
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from contextlib import aclosing, asynccontextmanager
from typing import Literal, assert_never

from google.adk.agents import LlmAgent
from google.adk.models.base_llm import BaseLlm
from google.adk.models.base_llm_connection import BaseLlmConnection
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.adk.utils.streaming_utils import StreamingResponseAggregator
from google.genai import types

from adk_prism.models import script as scripts
from adk_prism.models.scripted_live import ScriptedConnection

Script = Callable[[LlmRequest], scripts.Turn]


class ScriptedModel(BaseLlm):
    """A model whose every answer is a pure function of the request.

    `delay` is the time before each chunk, in seconds. With `call_ids="dropped"` it behaves as the
    simplest adapters do: it sets no ids, so that ADK gives the preview of a call and the call
    itself different ones.
    """

    model: str = "scripted"
    script: Script
    delay: float = 0.0
    call_ids: Literal["kept", "dropped"] = "kept"

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        """Play the turn that the script gives for this request; raise what the turn fails with."""
        turn = self.script(llm_request)
        usage = turn.usage or _count(llm_request, turn)
        if not stream or not turn.streams:
            yield await self._whole(turn, usage, stream)
            return
        aggregator = StreamingResponseAggregator()
        for beat in scripts.beats_of(turn, usage, self.model):
            match beat:
                case scripts.Pause(seconds):
                    await asyncio.sleep(seconds)
                case scripts.Fail(error):
                    raise error
                case scripts.Chunk():
                    await asyncio.sleep(self.delay)
                    async with aclosing(aggregator.process_response(beat)) as partials:
                        async for partial in partials:
                            yield self._with_ids_as_asked(partial)
                case _:
                    assert_never(beat)
        aggregate = aggregator.close()
        if aggregate is not None:
            yield self._with_ids_as_asked(aggregate)

    @asynccontextmanager
    async def connect(self, llm_request: LlmRequest) -> AsyncIterator[BaseLlmConnection]:
        """Open a live connection, which plays the turns that the script gives."""
        connection = ScriptedConnection(self.script, llm_request, self.delay, _count)
        try:
            yield connection
        finally:
            await connection.close()

    async def _whole(self, turn: scripts.Turn, usage: scripts.Usage, stream: bool) -> LlmResponse:
        for step in turn.steps:
            if isinstance(step, scripts.Pause):
                await asyncio.sleep(step.seconds)
            elif isinstance(step, scripts.Fail):
                raise step.error
        await asyncio.sleep(self.delay)
        response = LlmResponse.create(scripts.whole_of(turn, usage, self.model))
        if stream:
            response.partial = False
        return response

    def _with_ids_as_asked(self, response: LlmResponse) -> LlmResponse:
        if self.call_ids == "kept":
            return response
        # A deep copy: the aggregator shares its parts between partials and the aggregate.
        bare = response.model_copy(deep=True)
        for part in (bare.content.parts or []) if bare.content else []:
            if part.function_call is not None:
                part.function_call.id = None
        return bare


class WritingModel(ScriptedModel):
    """A model of a script that is written with, and not talked to.

    For an agent that understands a message in a callback before its model: in a live run ADK calls it once,
    before anything was said.
    """

    connect = BaseLlm.connect  # type: ignore[assignment] # which opens none


def _count(request: LlmRequest, turn: scripts.Turn) -> scripts.Usage:
    """Count words as tokens, so that usage is plausible and always the same."""
    said = sum(
        len(scripts.words_of(step.text)) for step in turn.steps if isinstance(step, scripts.Say)
    )
    thought = sum(
        len(scripts.words_of(step.text)) for step in turn.steps if isinstance(step, scripts.Think)
    )
    said += sum(1 for step in turn.steps if isinstance(step, scripts.Call))
    prompt = scripts.words_in(request)
    return types.GenerateContentResponseUsageMetadata(
        prompt_token_count=prompt,
        candidates_token_count=said,
        thoughts_token_count=thought or None,
        total_token_count=prompt + said + thought,
    )


# Slow enough to see words arrive, fast enough not to wait for them.
_DEFAULT_DELAY = 0.01

_KEYS = ("GOOGLE_API_KEY", "GEMINI_API_KEY")

_VERTEX_SWITCHES = ("GOOGLE_GENAI_USE_VERTEXAI", "GOOGLE_GENAI_USE_ENTERPRISE")

_ON = {"1", "true"}


def model_from_environment(
    offline: BaseLlm, environment: Mapping[str, str] | None = None
) -> BaseLlm | str:
    """Return the model's name if the environment offers a real model, else `offline`."""
    settings = os.environ if environment is None else environment
    named = settings.get("ADK_PRISM_MODEL", "").strip()
    if named:
        return offline if named == "offline" else named
    has_key = any(settings.get(key) for key in _KEYS)
    has_vertex = any(settings.get(switch, "").lower() in _ON for switch in _VERTEX_SWITCHES)
    return LlmAgent.DEFAULT_MODEL if has_key or has_vertex else offline


def offline_delay(environment: Mapping[str, str] | None = None) -> float:
    """Return the seconds between two words of the offline model; ValueError if not a number."""
    settings = os.environ if environment is None else environment
    given = settings.get("ADK_PRISM_OFFLINE_DELAY", "").strip()
    try:
        return float(given) if given else _DEFAULT_DELAY
    except ValueError:
        raise ValueError(
            f"ADK_PRISM_OFFLINE_DELAY is {given!r}; give a number of seconds, such as 0.01."
        ) from None


# ---------------------------------------------------------------------------
# Which language a message is in, told from its function words or its script: enough to say so politely.
#
# A subject may hold foreign words ("Schrödinger equation"), so that a message which may be English is.


_FUNCTION_WORDS: dict[str, frozenset[str]] = {
    "German": frozenset(
        "der die das den dem des ein eine einer eines einem einen und oder aber nicht ist sind war wie "
        "was wer wo warum "
        "welche welcher welches gibt es zu zum zur für mit von vom über auf bei nach aus ich du wir ihr "
        "sie mir uns "
        "bitte suche finde zeige kann können seit nur auch kein keine im am als".split()
    ),
    "French": frozenset(
        "le la les un une des du de et ou mais est sont était que qui quoi où quel quelle quels quelles "
        "pour avec sans "
        "sur dans par au aux je tu nous vous ils elles moi ce cette ces comment pourquoi depuis il y "
        "a-t-il cherche "
        "trouve s'il plaît plait en ne pas".split()
    ),
    "Spanish": frozenset(
        "el la los las un una unos unas de del y o pero es son que quién qué dónde cómo por para con "
        "sin sobre en al yo "
        "tú nosotros ustedes me nos este esta estos busca encuentra muestra artículos desde hay cuál "
        "cuáles favor".split()
    ),
    "Portuguese": frozenset(
        "o os as um uma uns umas de do da dos das e ou mas é são que quem onde como por para com sem "
        "sobre em no na nos "
        "nas eu você nós me este esta procure encontre artigos desde há qual quais não".split()
    ),
    "Italian": frozenset(
        "il lo la gli le un uno una di del della dei delle e o ma è sono che chi dove come perché per "
        "con senza su nel "
        "nella io tu noi voi mi ci questo questa cerca trova articoli dal quale quali non".split()
    ),
    "Dutch": frozenset(
        "de het een en of maar is zijn was hoe wat wie waar waarom welke er te voor met van over op bij "
        "naar uit ik jij "
        "wij jullie mij ons zoek vind artikelen sinds alleen ook geen niet".split()
    ),
}
_ENGLISH = frozenset(
    "the a an and or but is are was what who where why which how there to for with of about on in at by "
    "from not i you we "
    "me us please search find show can papers since only also no it that this do does".split()
)
_SCRIPTS = {
    "CYRILLIC": "Russian or another language in Cyrillic script",
    "CJK": "Chinese or Japanese",
    "HIRAGANA": "Japanese",
    "KATAKANA": "Japanese",
    "HANGUL": "Korean",
    "ARABIC": "Arabic",
    "HEBREW": "Hebrew",
    "DEVANAGARI": "Hindi",
    "GREEK": "Greek",
    "THAI": "Thai",
}
_FOREIGN_SHARE = 0.4
"""Of the letters; a Greek letter in a formula is not Greek."""
_WORD = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*")


def foreign_language(text: str) -> str:
    """Return the language of a message that is not in English; empty if it may be."""
    letters = [sign for sign in text if sign.isalpha()]
    for script, language in _SCRIPTS.items():
        foreign = [sign for sign in letters if unicodedata.name(sign, "").startswith(script)]
        if letters and len(foreign) >= _FOREIGN_SHARE * len(letters):
            return language
    if "¿" in text or "¡" in text:
        return "Spanish"
    words = [word.casefold().replace("’", "'") for word in _WORD.findall(text)]
    english = len(_ENGLISH.intersection(words))
    counts = {name: len(own.intersection(words)) for name, own in _FUNCTION_WORDS.items()}
    best = max(counts, key=lambda name: counts[name])
    accented = any(not word.isascii() for word in words)
    needed = 1 if accented and not english and len(words) > 3 else 2
    return best if counts[best] >= needed and counts[best] > english else ""
