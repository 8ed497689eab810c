"""The offline model: it does what the directive says, and shows what the tools say, word for word."""

from __future__ import annotations

from typing import Any

from google.adk.models.llm_request import LlmRequest

from adk_prism.models import Answer, Call, Say, Turn, read_conversation, say

from .directive import read_directive
from .planning.planner import SHORT_RUN
from .writing.plans import OPTIONS

_PROPOSAL = ("question", "query", "database", "since", "until", "fields", "kinds", "limit")
_CONFIRMATION = "requires confirmation"
_REJECTED = "is rejected"

HELP = """\
I search the literature with you, and I ask before every search. Tell me a question, for example \
"explainable AI in healthcare since 2020". I answer with a plan; say **ok**, **short run**, \
**modify: …** or **cancel**. Afterwards: **synthesise**, **validate**, **export**."""

_SAYINGS = {
    "ask_again": f"I did not understand that as an answer to the plan, which still waits. {OPTIONS}",
    "ask_change": (
        "What shall I change in the plan? For example: since 2021 · only reviews · add radiology · "
        "without images · query: your own words"
    ),
    "cancelled": "The search is cancelled; nothing was searched. What would you like to do next?",
    "nothing_pending": "There is no search plan that waits for an answer. Ask a question to get one.",
    "no_question": "There is no question in this message. Say what the papers are to be about.",
    "remark": (
        "I took that as a remark, not as a question: the research question is as it was. "
        "Ask the next question, or say **synthesise**, **validate** or **export**."
    ),
    "out_of_scope": (
        "I cannot help with that: I search the scientific literature, and nothing else. Tell me a question "
        "that papers may answer, and I will plan a search for it."
    ),
    "help": HELP,
}
_ERRANDS = {
    "synthesize": "synthesize_findings",
    "validate": "validate_findings",
    "export": "export_search_strategy",
}


def research_script(request: LlmRequest) -> Turn:
    """Return what the agent says or calls next."""
    answers = read_conversation(request).answers
    told = read_directive(str(request.config.system_instruction or ""))
    last = answers[-1] if answers else None
    if last is not None and not _waits(last) and not _was_denied(last):
        return _after(last)
    return _begin(told, denied=last is not None and _was_denied(last))


def _begin(told: dict[str, Any], *, denied: bool) -> Turn:
    intent: dict[str, Any] = told.get("heard") or {}
    do = intent.get("do", "cancelled" if denied else "help")
    if do == "search":
        return Turn((_search(told, short=bool(intent.get("short_run"))),))
    if do == "propose":
        args = {name: intent[name] for name in _PROPOSAL if intent.get(name)}
        return Turn((*_remarks(intent), Call("propose_search", args)))
    if do == "remedy":
        context = {"context": intent["context"]} if intent.get("context") else {}
        return Turn((Call("choose_remedy", {"name": intent["name"], **context}),))
    if do in _ERRANDS:
        return Turn((Call(_ERRANDS[do]),))
    return say(_saying(do, told))


def _saying(do: str, told: dict[str, Any]) -> str:
    if do == "no_such_remedy":
        chosen = str(told["heard"].get("chosen", ""))
        offered = told.get("remedies") or []
        known = "; ".join(f"{number}. {name}" for number, name in enumerate(offered, 1))
        there = f"There are: {known}." if known else "None is offered at the moment."
        return f"There is no remedy {chosen!r} on offer. {there}"
    if do == "cost":
        return _cost(told)
    if do == "other_language":
        return (
            f"This looks like {told['heard'].get('language')}; I read questions in English only. Please "
            f"ask in "
            "English, or say **query:** and the words to search for, in any language."
        )
    if do == "cancelled" and told.get("remedies"):
        return f"{_SAYINGS[do]} The remedies of the last search are on offer again."
    if do == "continue":
        found, searches = told.get("papers_found", 0), told.get("searches", 0)
        return (
            f"{searches} searches have found {found} papers so far. Ask the next question, or say "
            "**synthesise**, **validate** or **export**."
            if searches
            else HELP
        )
    return _SAYINGS[do]


def _cost(told: dict[str, Any]) -> str:
    """Say what the plan that waits would cost; without one, what the last search has cost."""
    if told.get("cost"):
        return f"The plan that waits would cost this. {told['cost']} {OPTIONS}"
    spent = f" The last search: {told['last_cost']}." if told.get("last_cost") else ""
    return f"No plan waits, so nothing would be asked.{spent} Every plan says what it costs."


def _search(told: dict[str, Any], *, short: bool) -> Call:
    call = told["pending_call"]
    limit = {"limit": min(SHORT_RUN, call["args"]["limit"])} if short else {}
    return Call(call["tool"], call["args"] | limit)


def _remarks(intent: dict[str, Any]) -> tuple[Say, ...]:
    """Say what of a message the plan does not hold."""
    said: list[str] = []
    if odd := intent.get("odd"):
        said.append(f"These filters could not be read and are left off: {', '.join(odd)}.")
    if unread := intent.get("unread"):
        said.append(
            f'I did not understand "{unread}" and left it out. Say **add:** or **query:** and the '
            "words, if they are to be searched for."
        )
    if cannot := intent.get("cannot"):
        said.append(
            f'No search here can be limited by "{", ".join(cannot)}", so the plan is without it; years, '
            "kinds, fields, the database and the number of papers can be said."
        )
    if unsupported := intent.get("unsupported"):
        said.append(
            f"{unsupported} cannot be asked from here: it has no tool in this app. These have one: "
            "Semantic Scholar, arXiv, OpenAlex, PubMed, Crossref, ACM and IEEE (through Crossref), and the "
            "sample library; name one of them to have it in the plan."
        )
    return (Say(" ".join(said) + "\n\n"),) if said else ()


def _after(answer: Answer) -> Turn:
    """Show what a tool said; a plan is put to the researcher by the call that it is for."""
    response = answer.response
    text = str(response.get("text") or response.get("error") or "That did not work.")
    call = response.get("call")
    if isinstance(call, dict):
        return Turn((Say(text), Call(call["tool"], call["args"])))
    return say(text)


def _waits(answer: Answer) -> bool:
    """Return whether an answer only says that a person is asked: of an earlier turn, or expired."""
    return _CONFIRMATION in str(answer.response.get("error", ""))


def _was_denied(answer: Answer) -> bool:
    return _REJECTED in str(answer.response.get("error", ""))
