"""What a case lacks to be evaluated, said before it is: answers, calls of tools, packages, keys of judges."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Struct

from adk_prism.errors import Conflict, UsageError
from adk_prism.features.evaluation.criteria import config_beside, read_criteria

if TYPE_CHECKING:
    from google.adk.evaluation.eval_case import EvalCase
    from google.adk.evaluation.eval_metrics import EvalMetric
    from google.adk.evaluation.metric_evaluator_registry import MetricEvaluatorRegistry

_COMPARE_ANSWERS = ("response_match_score", "final_response_match_v2")
_COMPARE_CALLS = "tool_trajectory_avg_score"
_ON_VERTEX = ("safety_v1", "response_evaluation_score", "multi_turn_")
"""How the names of metrics begin that Google Cloud computes."""

_GEMINI_KEYS: Sequence[str] = ("GOOGLE_API_KEY", "GEMINI_API_KEY", "GOOGLE_GENAI_USE_VERTEXAI")
_CLOUD_KEYS: Sequence[str] = ("GOOGLE_CLOUD_PROJECT", "GOOGLE_API_KEY")


class Metrics(Struct, frozen=True):
    """By what a set is evaluated here; or why that is not possible."""

    names: Sequence[str] = ()
    judges: Mapping[str, str] = {}
    """The models that metrics ask, by metric."""
    problem: str = ""


def metrics_of(set_file: Path) -> Metrics:
    """Return the metrics of a set, which need not be there yet."""
    try:
        criteria = read_criteria(config_beside(set_file))
    except (Conflict, UsageError) as error:
        return Metrics(problem=error.detail)
    names = [metric.metric_name for metric in criteria.metrics]
    judges = {each.metric_name: _judge(each, criteria.registry) for each in criteria.metrics}
    return Metrics(names, {name: model for name, model in judges.items() if model})


def _judge(metric: EvalMetric, registry: MetricEvaluatorRegistry) -> str:
    """Return the model that a metric asks; empty: none."""
    # The criterion of a config has its options as they were written; its evaluator's has the defaults, too.
    given = metric.criterion.model_dump() if metric.criterion else {}
    with suppress(ValueError):
        whole = type(registry.get_evaluator(metric)).criterion_type.model_validate(given)
        options = whole.model_dump().get("judge_model_options") or {}
        return str(options.get("judge_model", ""))
    return ""


def missing_of_set(metrics: Metrics, environment: Mapping[str, str] = os.environ) -> list[str]:
    """Return why metrics cannot be computed here."""
    return [metrics.problem] if metrics.problem else list(_keys(metrics, environment))


def missing_of_case(case: EvalCase, metrics: Metrics) -> list[str]:
    """Return what a case does not say, and which metrics that concerns."""
    return list(_unsaid(case, metrics.names))


def parse_case(case: Mapping[str, Any]) -> EvalCase:
    """Return a case as ADK's. Raise `Conflict` if ADK does not take it."""
    from google.adk.evaluation.eval_case import EvalCase

    try:
        return EvalCase.model_validate_json(msgspec.json.encode(case))
    except ValueError:
        raise Conflict("The installed ADK does not take this conversation as a case.") from None


def _unsaid(case: EvalCase, metrics: Sequence[str]) -> Iterable[str]:
    from google.adk.evaluation.eval_case import get_all_tool_calls

    messages = case.conversation or []
    if not messages and case.conversation_scenario is None:
        yield "No messages: there is nothing to ask the agent."
    silent = [
        place
        for place, said in enumerate(messages, 1)
        if not any(part.text for part in (said.final_response and said.final_response.parts) or [])
    ]
    wanted = [name for name in metrics if name in _COMPARE_ANSWERS]
    if silent and wanted:
        which = ", ".join(map(str, silent[:10]))
        yield f"No expected answer to message {which}: {', '.join(wanted)} has nothing to compare with."
    calls = [call for said in messages for call in get_all_tool_calls(said.intermediate_data)]
    if messages and not calls and _COMPARE_CALLS in metrics:
        yield f"No tool calls: {_COMPARE_CALLS} checks only that none is made."


def _keys(metrics: Metrics, environment: Mapping[str, str]) -> Iterable[str]:
    for name in metrics.names:
        judge = metrics.judges.get(name, "")
        if name.startswith(_ON_VERTEX):
            needed, who = _CLOUD_KEYS, "is computed by Google Cloud"
        elif judge.startswith("gemini"):
            needed, who = _GEMINI_KEYS, f"asks {judge}"
        else:
            continue
        if not any(environment.get(key) for key in needed):
            yield f"{name} {who}, and there is no key: set {' or '.join(needed)}."
