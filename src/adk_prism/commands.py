"""What a client can ask of a conversation, in no protocol's words.

A protocol reads a request body into a `ClientRequest` (`protocols/<protocol>/requests.py`);
`runs.conversations` carries its command out. Whether a command may happen, and which turn it is about,
is decided there, from the log: nothing that a client says about the history is trusted.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, assert_never

from msgspec import Raw, Struct

from adk_prism.log.entry import NOTHING, Decision

DEFAULT_USER = "user"
"""The user of a request without one; with authentication, it means the caller."""


class Before(Struct, frozen=True, kw_only=True):
    """What the client shows before its message."""

    ids: tuple[str, ...] = ()
    """Ids of the messages, the nearest last; an empty one for a message without id. None: not said."""
    whole: bool = False
    """These are all the messages there are, even if there are none."""
    named: bool = False
    """The client names the last of them as the one that its message follows: it may branch off."""


class ToolAnswer(Struct, frozen=True, kw_only=True):
    """What a client says about one call: a decision, or a result."""

    call: str
    input: Raw = NOTHING
    """Empty if the client did not send it back."""
    name: str = ""
    """Of the tool; empty if the client did not say."""
    decision: Decision | None = None
    output: Raw | None = None


class Submit(Struct, frozen=True, kw_only=True):
    """Send a user's message. One whose id the conversation knows replaces the old one."""

    message_id: str = ""
    content: Raw
    """A genai `Content`, as JSON."""
    text: str
    responses: dict[str, Raw] = {}
    """Answers to input and credential requests, by request id."""
    before: Before = Before()
    extras: dict[str, Raw] = {}
    """What the message has for its client's own use: `metadata`, data `parts`, `system` messages."""
    confirmed: list[Decision] = []
    """Approvals that are given with a payload, as parts of the message."""
    results: list[ToolAnswer] = []
    """Results of the client's own tools that come with it: the model reads them before the message."""
    earlier_results: list[ToolAnswer] = []
    """Results further up in the client's list, beside their calls. Most repeat what the client was shown; one
    of a call that still has none is new."""
    leaves_questions: bool = True
    """What the conversation still asks expires with it. If not, it is refused while a question is open."""


class Regenerate(Struct, frozen=True, kw_only=True):
    """Answer a message again. Everything after it is removed."""

    message_id: str
    """Of the user's message or of the answer; empty for the last turn."""
    message: Submit | None = None
    """The user's message that the client's list ends with: sent as new where it never arrived."""


class Answer(Struct, frozen=True, kw_only=True):
    """Answer what an assistant's message asked for."""

    message_id: str = ""
    """Empty: the message that made the calls."""
    answers: list[ToolAnswer]
    repeats: bool = False
    """The client sends results back that it was shown: one that is equal to those is not new."""
    leaves_questions: bool = True
    """If not, it is refused while a question is open."""
    earlier: bool = False
    """The results stand further up in the client's list: only those of calls without a result are new."""


class QuestionAnswer(Struct, frozen=True, kw_only=True):
    """What a client says to one question: an approval, a request for input or a credential."""

    question: str
    """Id of the approval or request."""
    response: Raw = NOTHING
    """To a request."""
    decision: Decision | None = None
    """On an approval. None: the answer does not read as one."""
    input: Raw = NOTHING
    """The arguments of the approved call; empty if the client did not send them."""
    is_cancelled: bool = False
    """Nobody answers. An approval is denied; a request ends what asked for it."""


class AnswerQuestions(Struct, frozen=True, kw_only=True):
    """Answer all open questions of a conversation in one, by their ids."""

    answers: list[QuestionAnswer]
    results: list[ToolAnswer] = []
    """Results of the client's own tools that come along."""
    message: Submit | None = None
    """The message that the client's list ends with. A new one can follow questions that are cancelled."""


class RunAgent(Struct, frozen=True, kw_only=True):
    """Run the agent as ADK's own request says: function responses in the content answer calls."""

    content: Raw = NOTHING
    """A genai `Content`, as JSON."""
    invocation: str = ""
    """The invocation to resume."""


class ChangeState(Struct, frozen=True):
    """Change the session's state by the request's `state_delta`, without calling a model."""


Command = Submit | Regenerate | Answer | AnswerQuestions | RunAgent | ChangeState


class ClientRequest(Struct, frozen=True, kw_only=True):
    """One request for a run."""

    command: Command
    session: str = ""
    """Empty: a new one."""
    user: str = DEFAULT_USER
    run: str = ""
    """The client's own id of the run. The same command under the same id starts one run; another command is
    another run, since clients answer a run's questions under its id."""
    state_delta: Mapping[str, Any] = {}
    """Applied to the session's state first."""
    state: Mapping[str, Any] = {}
    """The client's copy of the state: what it changed there is applied first, as far as it may write it."""
    declared_state: Mapping[str, Any] = {}
    """Applied where the app declares these keys for clients, else passed over."""
    tools: Any = None
    """The client's own tools, as they came: `{name: {description, parameters}}`."""
    has_instructions: bool = False
    """It has instructions for the model, which only the app may set."""
    streaming: bool = True
    custom_metadata: Mapping[str, Any] = {}


def ids_of(command: Command) -> tuple[str, ...]:
    """Return what a command is about, by the ids that the client gives: a message, calls, questions."""
    match command:
        case Submit() | Regenerate():
            return (command.message_id,)
        case Answer():
            return tuple(sorted(answer.call for answer in command.answers))
        case AnswerQuestions():
            return tuple(sorted(answer.question for answer in command.answers))
        case RunAgent() | ChangeState():
            return ()
        case _:
            assert_never(command)
