"""Facts in a few words each, so that a table can say what a run means."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from tests.laws.events import Json, entries

from adk_prism.facts import model as fact
from adk_prism.facts.run_reader import Reader
from adk_prism.log.entry import Continues, Entry, Outcome

_NOT_TOLD = (
    fact.RunBegan,
    fact.MessageBegan,
    fact.MessageEnded,
    fact.RunOver,
    fact.NodeBegan,
    fact.NodeFinished,
    fact.Annotated,
)


def facts_of(run: Iterable[Entry]) -> list[fact.Fact]:
    """Return all facts of a run."""
    reader = Reader()
    return [item for entry in run for item in reader.feed(entry)]


def fact_lines(
    *events: Json | bytes, outcome: Outcome | None = None, continues: Continues | None = None
) -> list[str]:
    """Tell a run of these events; its beginning, its end, its nodes and its proof are left out."""
    items = facts_of(entries(events, outcome, continues))
    return [fact_line(item) for item in items if not isinstance(item, _NOT_TOLD)]


def fact_line(item: fact.Fact) -> str:
    """Say a fact in a few words."""
    return _WORDS[type(item)](item).replace("  ", " ").rstrip()


def _json(raw: Any) -> str:
    return bytes(raw).decode()


def _flags(**flags: Any) -> str:
    return "".join(f" {name}={value}" for name, value in flags.items() if value)


_WORDS: dict[type[Any], Callable[[Any], str]] = {
    fact.BlockBegan: lambda f: f"begin {f.block}{_flags(by=f.speaker.author, signed=f.signature)}",
    fact.BlockGrew: lambda f: f"grow {f.block} {f.text!r}",
    fact.BlockEnded: lambda f: (
        f"end {f.block}{_flags(signed=f.signature, trimmed=f.trimmed)}"
        + (" replaced" if f.replaced else "")
    ),
    fact.BlocksReplaced: lambda f: f"replaced {' '.join(f.blocks)}",
    fact.InputTranscribed: lambda f: f"heard {f.utterance} {f.text!r}{_flags(final=f.final)}",
    fact.UserSpoke: lambda f: f"user {f.text!r}",
    fact.CallInputGrew: lambda f: f"input {f.call} {f.name} {f.json_fragment}".strip(),
    fact.CallRequested: lambda f: (
        f"call {f.call} {f.name} {_json(f.input)}"
        + _flags(
            adk=f.adk_id if f.adk_id != f.call else "",
            long=f.long_running,
            provider=f.provider_executed,
            signed=f.signature,
        )
    ),
    fact.CallDelegated: lambda f: f"delegated {f.call}",
    fact.CallAnswered: lambda f: (
        f"answer {f.call} {_json(f.output)}{_flags(provider=f.provider_executed)}"
    ),
    fact.CallFailed: lambda f: f"fail {f.call} {f.error}",
    fact.CallDenied: lambda f: f"deny {f.call}{_flags(reason=f.reason)}",
    fact.CallAbandoned: lambda f: (
        f"{'withdraw' if f.withdrawn else 'abandon'} {f.call}"
        + ("" if f.input_known else " unmade")
    ),
    fact.CallPending: lambda f: f"pending {f.call}",
    fact.ApprovalRequested: lambda f: (
        f"approve? {f.approval} {f.call}" + _flags(hint=f.hint, payload=_json(f.payload))
    ),
    fact.ApprovalDecided: lambda f: f"decided {f.approval} {f.call} {f.approved}",
    fact.InputRequested: lambda f: f"{f.kind}? {f.call}{_flags(call=f.for_call)}",
    fact.FileShown: lambda f: f"file {f.media_type} {f.data or f.uri} at {f.part}",
    fact.AudioHeard: lambda f: f"sound {f.data} {f.sample_rate}x{f.channels}x{f.bit_depth}",
    fact.CodeShown: lambda f: f"code {_json(f.code)}",
    fact.CodeResultShown: lambda f: f"result {_json(f.result)}",
    fact.Interrupted: lambda f: f"interrupted {f.speaker.author}",
    fact.SourceCited: lambda f: (
        f"source {f.source} {f.uri} {f.title!r}" + (" document" if f.document else "")
    ),
    fact.SourcesLinked: lambda f: "sources linked",
    fact.CitationsGiven: lambda f: "citations given",
    fact.ModelCallEnded: lambda f: f"model {f.model_call}{_flags(finish=f.finish)}",
    fact.ModelCalled: lambda f: f"called {f.model} by {f.agent}",
    fact.MetadataGiven: lambda f: f"custom {_json(f.custom)}",
    fact.StateChanged: lambda f: f"state {','.join(f.delta)}",
    fact.ArtifactSaved: lambda f: f"artifact {f.filename} {f.version}",
    fact.AgentTransferred: lambda f: f"transfer {f.to}",
    fact.NodeOutput: lambda f: f"output {_json(f.output)}",
    fact.ErrorRaised: lambda f: f"error {f.code} {f.message}".strip(),
    fact.Unrecognised: lambda f: f"unknown {f.kind} {_json(f.raw)}",
}
