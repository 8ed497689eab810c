"""What a run waits for, as questions to a person in order, and their answers in ADK's form.

Answers of one batch are sent together, because ADK continues when it has all of them. The console asks in its
transcript, `adk-prism run` on the terminal that it was started on (`ask`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal
from urllib.parse import urlsplit

import msgspec
from msgspec import Raw, Struct

from adk_prism.cli.terminal import one_line, short_json
from adk_prism.errors import Unprocessable, UsageError
from adk_prism.facts import pending as waiting
from adk_prism.facts.adk_event import CONFIRMATION, CREDENTIAL, INPUT
from adk_prism.log.entry import to_raw

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
    given: str = ""
    """What the call that it is about was made with, in one line."""

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


def questions(pending: waiting.Pending) -> list[Question]:
    """Return the questions that can be answered here, in order."""
    found = [
        Question(
            "approval",
            approval.approval,
            approval.call.name,
            waiting.payload_schema(approval.payload),
            given=_given(approval.call.input),
        )
        for approval in pending.approvals.values()
        if approval.approval not in pending.held_decisions
    ]
    found += [
        _READ[request.kind](request.call, _tree(request.request))
        for request in pending.requests.values()
    ]
    found += [
        Question("result", c.adk_id, c.name, given=_given(c.input))
        for c in pending.client_calls.values()
    ]
    return found


def _given(input: Raw) -> str:
    return short_json(msgspec.json.decode(bytes(input))) if bytes(input) else ""


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
        return _decision(question, answer, {"reason": reason} if reason else {})
    if question.sign_in is not None:
        return _part(question.id, CREDENTIAL, question.sign_in.answer(answer))
    if question.kind == "input":
        return _part(question.id, INPUT, {"result": _as_asked(question, answer)})
    value = _json(answer)
    return _part(
        question.id, question.name, value if isinstance(value, dict) else {"result": value}
    )


def _decision(question: Question, approved: bool, payload: dict[str, Any]) -> dict[str, Any]:
    why = {"payload": payload} if payload else {}
    return _part(question.id, CONFIRMATION, {"confirmed": approved, **why})


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


# ---------------------------------------------------------------------- asking on a terminal

_YES, _NO = ("y", "yes"), ("n", "no")


class Terminal(Struct, frozen=True):
    """Where a person is asked. Reading raises `EOFError` where nothing more is typed."""

    read: Callable[[str], str]
    """Writes a prompt, and returns the line that was typed."""
    read_hidden: Callable[[str], str]
    """The same for what nobody should see: a key, a token."""
    say: Callable[[str], object]


def ask(question: Question, terminal: Terminal) -> dict[str, Any]:
    """Ask until the answer fits; return it as a message part. Raise `EOFError` if nobody answers."""
    match question.kind:
        case "approval":
            return _ask_approval(question, terminal)
        case "input":
            return _part(question.id, INPUT, {"result": _ask_form(question, terminal)})
        case "credential":
            assert question.sign_in is not None
            terminal.say(question.sign_in.advice)
            read = terminal.read if question.sign_in.address else terminal.read_hidden
            wanted = question.sign_in.wants.removeprefix("the ")
            return response(question, _typed(f"{wanted[0].upper()}{wanted[1:]}: ", read))
        case "result":
            about = f"{one_line(question.name)} {question.given}".rstrip()
            return response(question, _typed(f"Result of {about} (JSON or text): ", terminal.read))


def _typed(prompt: str, read: Callable[[str], str]) -> str:
    while not (text := read(prompt).strip()):
        pass
    return text


def _ask_approval(question: Question, terminal: Terminal) -> dict[str, Any]:
    about = f"{one_line(question.name)} {question.given}".rstrip()
    while True:
        word, _, reason = terminal.read(f"Allow {about} to run? [y/n] ").strip().partition(" ")
        if word.lower() in _YES:
            return _decision(question, True, _ask_fields(question.schema, terminal))
        if word.lower() in _NO:
            reason = reason.strip() or terminal.read("Reason (optional): ").strip()
            return _decision(question, False, {"reason": reason} if reason else {})
        terminal.say("Type y or n; a reason can follow the n.")


def _ask_form(question: Question, terminal: Terminal) -> Any:
    """Ask for a value, or field by field for those of an object."""
    schema = waiting.plain_schema(question.schema)
    message = one_line(question.name)
    if not isinstance(schema.get("properties"), dict):
        return _ask_value(f"{message}{_hint(schema, True)}: ", schema, schema, terminal)
    terminal.say(message)
    return _ask_fields(schema, terminal)


def _ask_fields(schema: dict[str, Any], terminal: Terminal) -> dict[str, Any]:
    """Ask for the fields of an object; those that are optional may be left empty."""
    fields, required = schema.get("properties"), schema.get("required") or ()
    given = {}
    for name, field in (fields if isinstance(fields, dict) else {}).items():
        field = field if isinstance(field, dict) else {}
        about = one_line(str(field.get("description") or ""))
        label = f"  {one_line(name)}{_hint(field, name in required)}{about and f', {about}'}: "
        value = _ask_value(label, field, schema, terminal, is_needed=name in required)
        if value is not waiting.NONE:
            given[name] = value
    return given


def _hint(schema: dict[str, Any], is_needed: bool) -> str:
    words = [short_json(schema["enum"]) if isinstance(schema.get("enum"), list) else _kind(schema)]
    words += ["" if is_needed else "optional"]
    words += [f"Enter for {short_json(schema['default'])}"] if "default" in schema else []
    shown = ", ".join(filter(None, words))
    return f" ({shown})" if shown else ""


def _ask_value(
    prompt: str,
    schema: dict[str, Any],
    root: dict[str, Any],
    terminal: Terminal,
    *,
    is_needed: bool = True,
) -> Any:
    """Ask until a value fits its schema; return `NONE` for an optional one that was left empty."""
    whole = schema | {key: root[key] for key in ("$defs", "definitions") if key in root}
    while True:
        text = terminal.read(prompt).strip()
        if not text and ("default" in schema or not is_needed):
            return schema.get("default", waiting.NONE)
        value = waiting.coerced(schema, text, root, 0)
        try:
            waiting.fit_response(to_raw({"response_schema": whole}), to_raw({"result": value}))
        except Unprocessable as error:
            terminal.say(error.detail)
        else:
            return value
