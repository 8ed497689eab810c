"""The table of scenarios: their names, what each shows, and the prompt that starts it.

`help` and the tests are made from it. A prompt chooses the scenario whose name it contains, in any
case and with any words around it; of several the longest name wins, then the one that comes first.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from google.adk.models.llm_request import LlmRequest

from adk_prism.models import Turn, read_conversation, say

from . import acts
from .acts import Act, ScenarioInput


@dataclass(frozen=True, slots=True)
class Scenario:
    """One thing to see. `also` are other names that choose it."""

    name: str
    shows: str
    act: Act
    prompt: str = ""
    also: tuple[str, ...] = ()

    @property
    def example(self) -> str:
        """The prompt that starts it: its name, unless the table gives another."""
        return self.prompt or self.name


def _help(given: ScenarioInput) -> Turn:
    return say(help_text())


SCENARIOS: tuple[Scenario, ...] = (
    Scenario("help", "this list", _help, also=("scenarios",)),
    Scenario("text", "text, streamed", acts.text),
    Scenario("reasoning", "thoughts before the answer", acts.reasoning, also=("thoughts",)),
    Scenario("tool", "a tool call and its result", acts.tool),
    Scenario(
        "streamed arguments",
        "a call whose arguments arrive piece by piece",
        acts.streamed_arguments,
        also=("streaming arguments", "partial arguments"),
    ),
    Scenario("tool error", "a tool that answers with an error", acts.tool_error),
    Scenario("exception", "a tool that raises: the run fails", acts.exception),
    Scenario(
        "recovered error",
        "an error that the run survives: a step is tried again",
        acts.recovered_error,
    ),
    Scenario("approval", "a call that a person has to approve", acts.approval),
    Scenario("two approvals", "two of them at once", acts.two_approvals),
    Scenario(
        "sub-agent approval",
        "one that a sub-agent asks for",
        acts.sub_agent_approval,
        also=("approval in a sub-agent", "approval inside a sub-agent", "nested approval"),
    ),
    Scenario("client tool", "a tool that the browser runs", acts.client_tool),
    Scenario(
        "mixed batch", "a client tool, an approval and a server tool in one batch", acts.mixed_batch
    ),
    Scenario(
        "long-running tool",
        "a tool whose result comes much later",
        acts.long_running,
        also=("long running",),
    ),
    Scenario("progress", "a tool that reports its progress", acts.progress),
    Scenario("code", "code that the provider ran, and its result", acts.code),
    Scenario("image", "an image in the message", acts.image),
    Scenario(
        "large file",
        "a file of some hundred KiB; say how many",
        acts.large_file,
        prompt="large file 300",
    ),
    Scenario(
        "file reference", "references to files elsewhere", acts.file_reference, also=("file uri",)
    ),
    Scenario("audio", "a WAV file and raw PCM", acts.audio),
    Scenario("voice", "a tone that is given back: speak, over `/api/live/tour`", acts.voice),
    Scenario("sources", "grounding and citations", acts.sources, also=("grounding", "citations")),
    Scenario("state", "changes of the session's state", acts.state),
    Scenario("artifact", "a saved artifact", acts.artifact),
    Scenario("transfer", "another agent takes over", acts.transfer),
    Scenario(
        "parallel specialists",
        "three sub-agents that speak at once",
        acts.parallel_specialists,
        also=("specialists", "parallel"),
    ),
    Scenario("agent tool", "an agent used as a tool, whose words are hidden", acts.agent_tool),
    Scenario("workflow", "a graph: a step, two models side by side, a join", acts.workflow),
    Scenario("input request", "a workflow that asks the person", acts.input_request),
    Scenario("credential request", "a tool that needs a sign-in", acts.credential_request),
    Scenario("max tokens", "an answer that is cut off", acts.max_tokens),
    Scenario("safety block", "an answer that a filter stops", acts.safety, also=("safety",)),
    Scenario(
        "quota error", "a model that refuses with 429: the run fails", acts.quota, also=("quota",)
    ),
    Scenario(
        "broken stream", "a model that fails in mid-sentence: the run fails", acts.broken_stream
    ),
    Scenario("slow", "a silent tool; say for how many seconds", acts.slow, prompt="slow 5"),
    Scenario("long", "a long answer; say how many words", acts.long, prompt="long 2000"),
    Scenario(
        "server-side tool",
        "a tool that the provider ran",
        acts.server_side_tool,
        also=("provider tool",),
    ),
    Scenario("empty answer", "a model that says nothing", acts.empty, also=("empty",)),
)


def help_text() -> str:
    """Return the list of scenarios as Markdown."""
    lines = [f"- `{scenario.example}`: {scenario.shows}" for scenario in SCENARIOS]
    return "\n".join(["Try one of these:", "", *lines])


def choose(prompt: str) -> Scenario | None:
    """Return the scenario that a prompt names, or None."""
    words = _normal(prompt)
    best: tuple[int, int, Scenario] | None = None
    for scenario in SCENARIOS:
        for name in (scenario.name, *scenario.also):
            wanted = _normal(name)
            at = f" {words} ".find(f" {wanted} ")
            # Longest first; among equals the one named first.
            if at >= 0 and (best is None or (len(wanted), -at) > (best[0], best[1])):
                best = (len(wanted), -at, scenario)
    return best[2] if best else None


def _normal(text: str) -> str:
    """Lower the case, drop punctuation and the plural's s, so that prompts may be careless."""
    words = re.findall(r"[a-z0-9.]+", text.lower())
    return " ".join(word.strip(".").removesuffix("s") for word in words)


def asks_for_suggestions(prompt: str) -> bool:
    """Return whether a prompt names the suggestions, which are no part of a run, and so no scenario."""
    words = f" {_normal(prompt)} "
    return choose(prompt) is None and any(name in words for name in (" suggestion ", " follow up "))


def tour_script(request: LlmRequest) -> Turn:
    """Return what the root agent says to this request."""
    conversation = read_conversation(request)
    scenario = choose(conversation.prompt)
    if scenario is not None:
        return scenario.act(ScenarioInput(conversation))
    if asks_for_suggestions(conversation.prompt):
        return say(
            "When an answer is finished, an app may suggest what to say next, and name the conversation. "
            "Mine are scripted, as all that I say: look below, and at the list of conversations."
        )
    return say("Hello! I am the tour, and I know my prompts only. Say `help` to see them.")
