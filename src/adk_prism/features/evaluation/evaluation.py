"""One evaluation: the cases of a set, what the user says in them, and the scores of ADK's own evaluators.

The agent is not run here: `features.evaluation.evaluations` does that, so that each case is a recorded run.
The rest is ADK's (google-adk 2.13 `evaluation/local_eval_service.py`): its user simulators, its conversion
of events, its evaluators, and its files of results.

Stored results are files of ADK's, which `adk web` and `adk eval` read and write, too.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast

import msgspec
from google.adk.sessions.session import Session
from msgspec import Raw, Struct, structs

from adk_prism.adk.request import Variant
from adk_prism.errors import SourceError, UsageError
from adk_prism.features.evaluation.criteria import Criteria

if TYPE_CHECKING:
    from google.adk.evaluation.app_details import AppDetails
    from google.adk.evaluation.base_eval_service import InferenceResult
    from google.adk.evaluation.eval_case import EvalCase, Invocation
    from google.adk.evaluation.eval_result import EvalCaseResult
    from google.adk.evaluation.eval_set import EvalSet
    from google.adk.events.event import Event

# ---------------------------------------------------------------------- inference
#
# What an agent did in an eval case, by its recorded runs, as the invocations that ADK evaluates.


USER = "user"


class AskedModel(Struct, frozen=True):
    """With what an agent's model was asked."""

    agent: str
    instruction: str
    tools: list[Any]


class SaidTurn(Struct, frozen=True, kw_only=True):
    """A message of the user, and what the agent did then."""

    message: Raw
    invocation: str
    events: list[bytes]
    """ADK's events, without partial ones."""
    started: float
    seconds: float
    asked: list[AskedModel] = []


class Inference(Struct, frozen=True, kw_only=True):
    """A case that was run."""

    case: str
    session: str
    turns: list[SaidTurn] = []
    runs: list[str] = []
    error: str = ""
    """Why it could not be run to its end."""
    note: str = ""
    """What else is worth knowing about it."""


def turn_events(turn: SaidTurn, invocation: str) -> list[Event]:
    """Return a turn as ADK's events, the user's first, under one invocation id."""
    from google.adk.events.event import Event
    from google.genai import types

    said = Event(
        author=USER,
        invocation_id=invocation,
        content=types.Content.model_validate_json(bytes(turn.message)),
        timestamp=turn.started,
    )
    events = [Event.model_validate_json(each) for each in turn.events]
    return [said, *(event.model_copy(update={"invocation_id": invocation}) for event in events)]


def invocations(turns: Sequence[SaidTurn]) -> list[Invocation]:
    """Return what ADK's own conversion makes of the turns: one invocation for each."""
    from google.adk.evaluation.evaluation_generator import EvaluationGenerator

    # An answer to a question continues an invocation; ADK pairs them with messages one by one.
    names = [f"{turn.invocation}-{place}" for place, turn in enumerate(turns)]
    pairs = list(zip(names, turns, strict=True))
    return EvaluationGenerator.convert_events_to_eval_invocations(
        [event for name, turn in pairs for event in turn_events(turn, name)],
        {name: _app_details(turn.asked) for name, turn in pairs},
        {name: round(turn.seconds, 3) for name, turn in pairs},
    )


def _app_details(asked: Sequence[AskedModel]) -> AppDetails:
    from google.adk.evaluation.app_details import AgentDetails, AppDetails
    from google.genai import types

    return AppDetails(
        agent_details={
            each.agent: AgentDetails(
                name=each.agent,
                instructions=each.instruction,
                tool_declarations=[types.Tool.model_validate(tool) for tool in each.tools],
            )
            for each in reversed(asked)
        }
    )


def asked_model(call: dict[str, Any]) -> AskedModel | None:
    """Read a model call as `GET /api/runs/{run}/model-calls` has it; None if its request was not kept."""
    request = call.get("request")
    if request is None:
        return None
    plain = msgspec.json.decode(msgspec.json.encode(request))
    return AskedModel(
        call["agent"], _text(plain["config"].get("systemInstruction")), plain["tools"] or []
    )


def _text(instruction: Any) -> str:
    if isinstance(instruction, dict):
        parts = instruction.get("parts") or []
        return "\n".join(part["text"] for part in parts if part.get("text"))
    return instruction if isinstance(instruction, str) else ""


# ---------------------------------------------------------------------- evaluation


DEFAULT_USER = "test_user_id"
"""The user of a case that names none, as with ADK."""

Verdict = Literal["passed", "failed", "not evaluated", "informational"]
_VERDICTS: Mapping[str, Verdict] = {
    "PASSED": "passed",
    "FAILED": "failed",
    "NOT_EVALUATED": "not evaluated",
    "INFORMATIONAL": "informational",
}


class RecordedReply(Struct, frozen=True, kw_only=True):
    """What was answered in the conversation that a case was made of."""

    message: int
    """Place of the message, from 0."""
    tool: str
    approved: bool | None = None
    """To an approval."""
    reason: str = ""
    payload: Any = None
    output: Any = None
    """Of a client's or a long-running tool, where it is not about an approval."""


class Case(Struct, frozen=True, kw_only=True):
    """A case of a set."""

    id: str
    user: str
    session: str
    """The session that the case demands; mostly empty: a new one."""
    state: dict[str, Any]
    expected_run: str
    """The run that the case was made of, if it says so."""
    messages: int
    """0: a simulated user decides."""
    text: str
    """How the conversation begins."""
    answers: list[RecordedReply] = []


class MetricScore(Struct, frozen=True, kw_only=True, rename="camel"):
    """What a metric says about a case."""

    name: str
    score: float | None
    threshold: float | None
    verdict: Verdict
    reason: str = ""
    """Why it was not evaluated."""


class CaseScore(Struct, frozen=True, kw_only=True, rename="camel"):
    """What the evaluators say about a case."""

    id: str
    verdict: Verdict
    metrics: list[MetricScore]
    user: str
    session: str
    error: str = ""


def cases_of(eval_set: EvalSet) -> list[Case]:
    """Return the cases of a set."""
    return [_case(case) for case in eval_set.eval_cases]


def _case(case: EvalCase) -> Case:
    given, extra = case.session_input, case.model_extra or {}
    first = case.conversation[0].user_content if case.conversation else None
    scenario = case.conversation_scenario.starting_prompt if case.conversation_scenario else ""
    said = " ".join(part.text for part in (first.parts or []) if part.text) if first else scenario
    return Case(
        id=case.eval_id,
        user=(given.user_id if given else "") or DEFAULT_USER,
        session=(given.session_id if given else None) or "",
        state=dict(given.state) if given else {},
        expected_run=str(extra.get("prismRun") or ""),
        messages=len(case.conversation or []),
        text=said,
        answers=_answers(case.eval_id, extra.get("prismAnswers") or []),
    )


def _answers(case: str, given: Any) -> list[RecordedReply]:
    try:
        return msgspec.convert(given, list[RecordedReply])
    except msgspec.ValidationError as error:
        raise UsageError(f"`prismAnswers` of the case {case[:60]!r}: {error}.") from None


class Trial(Struct, frozen=True):
    """One of many evaluations: cases get sessions of their own, and no result is stored."""

    variant: Variant | None = None
    """The app as it is run, where that is not as it is served."""


class Evaluation:
    """A set that is evaluated for one app."""

    def __init__(
        self,
        app: str,
        eval_set: EvalSet,
        criteria: Criteria,
        only: Sequence[str] = (),
        *,
        answers: bool = False,
        trial: Trial | None = None,
    ) -> None:
        """`only`: ids of the cases to run; empty: all. Raise `UsageError` for one that there is not.

        `answers`: approvals and results of client tools are given again, as they were recorded.
        """
        if not eval_set.eval_set_id or {"/", "\\"} & set(eval_set.eval_set_id):
            raise UsageError("The id of the eval set must be a name, without / and \\.")
        known = {case.eval_id: case for case in eval_set.eval_cases}
        missing = [name for name in only if name not in known]
        if missing:
            raise UsageError(f"The set has no case {missing[0][:60]!r}.")
        if not known:
            raise UsageError("The eval set has no cases.")
        self.app = app
        self.set_id = eval_set.eval_set_id
        self.answers = answers
        self.trial = trial
        self._criteria = criteria
        self._chosen = {name: known[name] for name in dict.fromkeys(only or known)}

    @property
    def cases(self) -> list[Case]:
        """The cases to run, in order."""
        cases = [_case(case) for case in self._chosen.values()]
        # A session that a case demands has the messages of the trial before.
        return cases if self.trial is None else [structs.replace(c, session="") for c in cases]

    def user(self, case: str) -> SimulatedUser:
        """Return who talks to the agent in a case. Raise `SourceError` if nobody can."""
        from google.adk.evaluation.simulation.user_simulator_provider import UserSimulatorProvider

        provider = UserSimulatorProvider(self._criteria.config.user_simulator_config)
        with _simulating():
            return SimulatedUser(provider.provide(self._chosen[case]))

    async def score(
        self, inferences: Sequence[Inference], sessions: Mapping[str, Session], results: Path | None
    ) -> list[CaseScore]:
        """Evaluate what was inferred, and store the result as `adk eval` does, in a folder of apps.

        `sessions` are those of the cases by id, which ADK stores with the result. Some evaluators block:
        await this on an event loop of its own.
        """
        from google.adk.evaluation.base_eval_service import EvaluateConfig, EvaluateRequest
        from google.adk.evaluation.in_memory_eval_sets_manager import InMemoryEvalSetsManager
        from google.adk.evaluation.local_eval_service import LocalEvalService
        from google.adk.evaluation.local_eval_set_results_manager import LocalEvalSetResultsManager

        sets = InMemoryEvalSetsManager()
        sets.create_eval_set(self.app, self.set_id)
        for case in self._chosen.values():
            sets.add_eval_case(self.app, self.set_id, case)
        service = LocalEvalService(
            root_agent=cast("Any", None),  # It would only be run.
            eval_sets_manager=sets,
            eval_set_results_manager=LocalEvalSetResultsManager(str(results)) if results else None,
            session_service=cast("Any", _Sessions(sessions)),
            metric_evaluator_registry=self._criteria.registry,
        )
        request = EvaluateRequest(
            inference_results=[self._result(each) for each in inferences],
            evaluate_config=EvaluateConfig(eval_metrics=list(self._criteria.metrics)),
        )
        with _reasons() as reasons:
            try:
                found = {each.eval_id: each async for each in service.evaluate(request)}
            except (
                ValueError
            ) as error:  # A metric that does not answer for each message, above all.
                raise SourceError(f"ADK could not evaluate: {_words(error)}") from error
        errors = {each.case: each.error or each.note for each in inferences}
        return [
            _score(found[n], reasons, errors[n] or note_on_order(found[n]))
            for n in self._chosen
            if n in found
        ]

    def _result(self, inference: Inference) -> InferenceResult:
        from google.adk.evaluation.base_eval_service import InferenceResult, InferenceStatus

        failed = bool(inference.error)
        return InferenceResult(
            app_name=self.app,
            eval_set_id=self.set_id,
            eval_case_id=inference.case,
            inferences=None if failed else invocations(inference.turns),
            session_id=inference.session,
            status=InferenceStatus.FAILURE if failed else InferenceStatus.SUCCESS,
            error_message=inference.error or None,
        )


OTHER_ORDER = (
    "The expected calls were all made, in another order, as agents side by side do. To allow any order, set"
    ' {"criteria": {"tool_trajectory_avg_score": {"threshold": 1.0, "match_type": "ANY_ORDER"}}}.'
)


def note_on_order(result: EvalCaseResult) -> str:
    """Return that a case failed by the order of its calls alone; empty if it did not."""
    from google.adk.evaluation.eval_case import get_all_tool_calls

    found = False
    for each in result.eval_metric_result_per_invocation:
        if each.expected_invocation is None:
            continue
        made, wanted = (
            [(call.name, repr(sorted((call.args or {}).items()))) for call in calls]
            for calls in (
                get_all_tool_calls(each.actual_invocation.intermediate_data),
                get_all_tool_calls(each.expected_invocation.intermediate_data),
            )
        )
        if sorted(made, key=str) != sorted(wanted, key=str):
            return ""
        found = found or made != wanted
    return OTHER_ORDER if found else ""


class _Sessions:
    """What `LocalEvalService` asks of a session service: sessions that were read before."""

    def __init__(self, sessions: Mapping[str, Session]) -> None:
        self._sessions = sessions

    async def get_session(self, *, session_id: str, **_: str) -> Session | None:
        """Return a session, if it was there."""
        return self._sessions.get(session_id)


class SimulatedUser:
    """ADK's simulator of a user: the recorded messages in order, or a model that plays a scenario."""

    def __init__(self, simulator: Any) -> None:
        self._simulator = simulator

    async def next(self, turns: Sequence[SaidTurn]) -> Raw | None:
        """Return the next message, a genai `Content` as JSON; None at the end. Raise `SourceError`."""
        events = [event for turn in turns for event in turn_events(turn, turn.invocation)]
        with _simulating():
            said = (await self._simulator.get_next_user_message(events)).user_message
        if said is None:
            return None
        return Raw(said.model_dump_json(by_alias=True, exclude_none=True).encode())


@contextmanager
def _simulating() -> Iterator[None]:
    try:
        yield
    except Exception as error:  # A simulator asks a model, which may raise anything.
        raise SourceError(f"The simulated user failed: {_words(error)}") from error


def _words(error: object) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split())[:300]}"


def _score(result: EvalCaseResult, reasons: Mapping[tuple[str, str], str], error: str) -> CaseScore:
    return CaseScore(
        id=result.eval_id,
        verdict=_VERDICTS[result.final_eval_status.name],
        metrics=[
            MetricScore(
                name=each.metric_name,
                score=each.score,
                threshold=each.threshold,
                verdict=_VERDICTS[each.eval_status.name],
                reason=reasons.get((each.metric_name, result.eval_id), ""),
            )
            for each in result.overall_eval_metric_results
        ],
        user=result.user_id or DEFAULT_USER,
        session=result.session_id,
        error=error,
    )


@contextmanager
def _reasons() -> Iterator[dict[tuple[str, str], str]]:
    """Collect why metrics were not evaluated, by metric and case: ADK only logs it."""
    found: dict[tuple[str, str], str] = {}

    class Collect(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            if isinstance(record.args, tuple) and len(record.args) == 3:
                metric, case, error = record.args
                found[str(metric), str(case)] = _words(error)

    logger, collect = logging.getLogger(_LOGGER), Collect(logging.ERROR)
    before = logger.level
    logger.addHandler(collect)
    logger.setLevel(logging.ERROR)
    try:
        yield found
    finally:
        logger.setLevel(before)
        logger.removeHandler(collect)


_LOGGER = "google_adk.google.adk.evaluation.local_eval_service"


HISTORY = Path(".adk/eval_history")
"""Where ADK keeps results, in the folder of an app."""
SUFFIX = ".evalset_result.json"
MOST = 50
"""Results that are read: the newest ones."""
LARGEST = 32 * 1024**2
"""Bytes of a file that is read. ADK writes whole sessions into it."""


class StoredResult(Struct, frozen=True, kw_only=True, rename="camel"):
    """One evaluation of a set, some time ago."""

    id: str
    eval_set_id: str
    time: float
    cases: list[CaseScore]


def stored_results(folder: Path, app: str) -> list[StoredResult]:
    """Return the newest results of an app, the newest first; a file that ADK cannot read is left out."""
    from google.adk.evaluation.local_eval_set_results_manager import LocalEvalSetResultsManager

    places = (folder / app / HISTORY).glob(f"*{SUFFIX}")
    sizes = {path: path.stat() for path in places}
    newest = sorted(sizes, key=lambda path: sizes[path].st_mtime, reverse=True)[:MOST]
    manager, found = LocalEvalSetResultsManager(str(folder)), []
    for path in newest:
        if sizes[path].st_size > LARGEST:
            continue
        name = path.name.removesuffix(SUFFIX)
        try:
            result = manager.get_eval_set_result(app, name)
        except (ValueError, OSError):
            continue
        found.append(
            StoredResult(
                id=name,
                eval_set_id=result.eval_set_id,
                time=result.creation_timestamp,
                cases=[_score(case, {}, "") for case in result.eval_case_results],
            )
        )
    return found
