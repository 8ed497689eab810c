"""The table of console commands and their keys.

A command is typed as `/name text`; anything else is a message to the app (`//` sends a line that starts
with a slash). On a screen a key runs its command; commands that need text are first put into the input line.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal
from urllib.parse import urlsplit

import msgspec
from msgspec import Raw, Struct

from adk_prism.errors import UsageError
from adk_prism.facts.adk_event import CONFIRMATION, CREDENTIAL, INPUT
from adk_prism.facts.pending import Pending


class Command(Struct, frozen=True):
    """One row of the table."""

    name: str
    help: str
    key: str = ""
    """The key's textual name; empty if it has none."""
    takes: str = ""
    """Its argument; in brackets if optional."""
    group: str = "panel"

    @property
    def needs(self) -> bool:
        """Whether it needs an argument."""
        return bool(self.takes) and not self.takes.startswith("[")


COMMANDS: Sequence[Command] = (
    Command("ok", "search as planned", "o", group="plan"),
    Command("short", "run the plan for its first results only", "s", group="plan"),
    Command("modify", "change the plan", "m", "TEXT", group="plan"),
    Command("cancel", "cancel the plan", "c", group="plan"),
    Command("remedy", "choose a remedy: 1 to 9", "", "NUMBER", group="plan"),
    Command("approve", "approve the pending tool call", "y", group="answer"),
    Command("deny", "deny the pending tool call", "n", "[REASON]", group="answer"),
    Command("assume", "add an assumption", "a", "TEXT", group="box"),
    Command("unassume", "remove an assumption", "r", "NUMBER", group="box"),
    Command("ask", "add an open question", "u", "TEXT", group="box"),
    Command("resolve", "remove an open question", "x", "NUMBER", group="box"),
    Command("export", "write the search strategy to a file", "e", "[FILE]", group="box"),
    Command("grounding", "show the research plan", "g"),
    Command("history", "show all searches", "h"),
    Command("timeline", "show when each agent and tool ran", "t"),
    Command("state", "show the session's state", "v"),
    Command("proof", "show confidence and sources", "p"),
    Command("help", "show this list", "question_mark"),
    Command("stop", "stop the run", "escape", group="run"),
    Command("quit", "quit", "q", group="run"),
)
_BY_NAME = {command.name: command for command in COMMANDS}

PANELS = ("grounding", "history", "timeline", "state", "proof", "help")
"""Commands that show the panel of the same name."""

KEY_NAMES = {"question_mark": "?", "escape": "Esc"}


class Typed(Struct, frozen=True):
    """A command with its argument."""

    command: Command
    words: str = ""


def parse(line: str) -> Typed | str:
    """Parse a line as a command or a message. Raise `UsageError` for an unknown command."""
    if line.startswith("//"):
        return line[1:]
    if not line.startswith("/"):
        return line
    name, _, text = line[1:].partition(" ")
    command = _BY_NAME.get(name.strip().lower())
    text = text.strip()
    if command is None:
        raise UsageError(
            f"Unknown command /{name[:40]}. /help lists the commands; //{name[:20]} sends it as"
            " a message."
        )
    if command.needs and not text:
        raise UsageError(f"/{command.name} needs {command.takes}: {command.help}.")
    if text and not command.takes:
        raise UsageError(f"/{command.name} takes no argument, got {text[:40]!r}.")
    return Typed(command, text)


def command(name: str) -> Command:
    """Return a row of the table."""
    return _BY_NAME[name]


# ---------------------------------------------------------------------- questions
#
# Pending questions to the user in order, and their answers in ADK's form.
#
# Answers of one batch are sent together, because ADK continues when it has all of them.


# ---------------------------------------------------------------------- sign-in
#
# ADK's sign-in requests: the sign-in URL, and the response that ADK's auth handling expects.


class SignIn(Struct, frozen=True):
    """One request; its config is sent back with what the user entered."""

    config: dict[str, Any] = {}

    @property
    def address(self) -> str:
        """The sign-in URL; empty for a key or a password."""
        address = _object(self._credential.get("oauth2")).get("authUri")
        return address if isinstance(address, str) and _is_web(address) else ""

    @property
    def wants(self) -> str:
        """What the user has to type."""
        if self.address:
            return "the redirect URL"
        return "the API key" if self._credential.get("authType") == "apiKey" else "the token or key"

    @property
    def advice(self) -> str:
        """Instructions for the user."""
        if self.address:
            return (
                f"A tool needs you to sign in. Open\n{self.address}\nand paste {self.wants} here."
            )
        return f"A tool needs you to sign in. Enter {self.wants}."

    def answer(self, text: str) -> dict[str, Any]:
        """Return the request's config with what the user entered."""
        credential = self._credential
        brought: dict[str, Any] = {"apiKey": text}
        if self.address:
            brought = {"oauth2": _object(credential.get("oauth2")) | {"authResponseUri": text}}
        elif credential.get("authType") == "http":
            brought = {"http": _object(credential.get("http")) | {"credentials": {"token": text}}}
        return self.config | {"exchangedAuthCredential": credential | brought}

    @property
    def _credential(self) -> dict[str, Any]:
        named = ("exchangedAuthCredential", "rawAuthCredential")
        return _object(next((self.config[name] for name in named if self.config.get(name)), None))


def sign_in(request: Any) -> SignIn:
    """Read a request of ADK's `adk_request_credential`, in either spelling of its outer keys."""
    outer = _object(request)
    return SignIn(_object(outer.get("authConfig") or outer.get("auth_config") or outer))


def _object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _is_web(address: str) -> bool:
    try:
        parts = urlsplit(address)
    except ValueError:
        return False
    return parts.scheme in ("http", "https") and bool(parts.hostname) and address.isprintable()


# ---------------------------------------------------------------------- questions

Kind = Literal["approval", "input", "credential", "result"]


class Question(Struct, frozen=True):
    """One thing to answer."""

    kind: Kind
    id: str
    """ADK's id for the answer."""
    name: str
    """The tool that it is about, or the text of the question."""
    schema: dict[str, Any] = {}
    """JSON Schema of the answer; empty if any text will do."""
    sign_in: SignIn | None = None
    """Of a sign-in request: the URL and what to return."""

    @property
    def wants(self) -> str:
        """What to type if plain text is not enough, such as `guests (integer)`."""
        if self.sign_in is not None:
            return self.sign_in.wants
        if _is_text(self.schema):
            return ""
        members = self.schema.get("properties") or {}
        required = self.schema.get("required") or []
        members_shown = (
            f"{name} ({_kind(about)}{'' if name in required else ', optional'})"
            for name, about in members.items()
        )
        return ", ".join(members_shown) or _kind(self.schema)


def questions(pending: Pending) -> list[Question]:
    """Return the questions that can be answered here, in order."""
    found = [
        Question("approval", approval.approval, approval.call.name)
        for approval in pending.approvals.values()
        if approval.approval not in pending.held_decisions
    ]
    found += [
        _READ[request.kind](request.call, _tree(request.request))
        for request in pending.requests.values()
    ]
    found += [Question("result", c.adk_id, c.name) for c in pending.client_calls.values()]
    return found


def _tree(request: Raw) -> dict[str, Any]:
    tree = msgspec.json.decode(bytes(request)) if bytes(request) else {}
    return tree if isinstance(tree, dict) else {}


def _credential(call: str, tree: dict[str, Any]) -> Question:
    return Question("credential", call, "sign-in", sign_in=sign_in(tree))


def _input(call: str, tree: dict[str, Any]) -> Question:
    schema = tree.get("response_schema") or tree.get("responseSchema")
    asked = str(tree.get("message") or "input")
    return Question("input", call, asked, schema if isinstance(schema, dict) else {})


_READ = {"input": _input, "credential": _credential}


def response(question: Question, answer: bool | str, reason: str = "") -> dict[str, Any]:
    """Return an answer as a message part. Raise `UsageError` if it does not match the question."""
    if isinstance(answer, bool):
        why = {"payload": {"reason": reason}} if reason else {}
        return _part(question.id, CONFIRMATION, {"confirmed": answer, **why})
    if question.sign_in is not None:
        return _part(question.id, CREDENTIAL, question.sign_in.answer(answer))
    if question.kind == "input":
        return _part(question.id, INPUT, {"result": _as_asked(question, answer)})
    value = _json(answer)
    return _part(
        question.id, question.name, value if isinstance(value, dict) else {"result": value}
    )


def _part(adk_id: str, name: str, value: dict[str, Any]) -> dict[str, Any]:
    return {"functionResponse": {"id": adk_id, "name": name, "response": value}}


def _as_asked(question: Question, text: str) -> Any:
    """Parse the text according to the schema; a single value fills a single required member."""
    schema = question.schema
    if _is_text(schema):
        return text
    value = _json(text)
    if _kind(schema) != "object":
        return value
    required = list(schema.get("required") or [])
    if not isinstance(value, dict) and len(required) == 1:
        value = {required[0]: value}
    if not isinstance(value, dict) or any(name not in value for name in required):
        raise UsageError(f"The answer must be a JSON object with {question.wants}.")
    return value


def _is_text(schema: dict[str, Any]) -> bool:
    return _kind(schema) in ("", "string")


def _kind(schema: Any) -> str:
    kind = schema.get("type") if isinstance(schema, dict) else None
    return kind.lower() if isinstance(kind, str) else ""


def _json(text: str) -> Any:
    """Parse the text as JSON if possible, else return it."""
    try:
        return msgspec.json.decode(text)
    except msgspec.MsgspecError:
        return text
