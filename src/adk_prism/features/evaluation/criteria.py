"""By what a set is evaluated: ADK's `test_config.json`, or the criteria that `adk eval` has by default."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import msgspec
from msgspec import Struct

from adk_prism.errors import Conflict, UsageError

if TYPE_CHECKING:
    from google.adk.evaluation.eval_case import EvalCase
    from google.adk.evaluation.eval_config import EvalConfig
    from google.adk.evaluation.eval_metrics import EvalMetric
    from google.adk.evaluation.eval_set import EvalSet
    from google.adk.evaluation.metric_evaluator_registry import MetricEvaluatorRegistry

# ---------------------------------------------------------------------------
# Files of eval sets: read in every form that ADK reads, written as ADK writes them.
#
# A case is added to the file's own JSON, so that whatever else it holds stays: fields of other
# versions, the order, cases that somebody edited. A file in the format of ADK before 1.0 (a list) is
# converted by ADK.

SUFFIX = ".evalset.json"
"""How the names of files end in which ADK looks for eval sets."""
MOST_BYTES = 64 * 1024**2
"""Of a file; ADK reads it as a whole."""

_EXPECTED = "expected an object with `eval_set_id` and `eval_cases`"
_MADE = (ValueError, KeyError, TypeError, AttributeError)
"""What ADK's conversion of the old format raises for anything else. Pydantic's errors are ValueErrors."""

Json = dict[str, Any]


def id_of(path: Path) -> str:
    """Return the id of the set in a file: its name, in the letters that ADK allows."""
    return re.sub(r"[^A-Za-z0-9_]", "_", path.name.removesuffix(".json").removesuffix(".evalset"))


def read_eval_set(path: Path) -> EvalSet:
    """Read a file. Raise `UsageError` if it cannot be read, or is not an eval set."""
    return parse_eval_set(content_of(path), id_of(path), path.name)


def parse_eval_set(content: bytes, set_id: str, name: str) -> EvalSet:
    """Read the content of a file. Raise `UsageError` if it is not an eval set."""
    from google.adk.evaluation.eval_set import EvalSet
    from google.adk.evaluation.local_eval_sets_manager import convert_eval_set_to_pydantic_schema

    try:
        tree = msgspec.json.decode(content)
        if isinstance(tree, list):
            return convert_eval_set_to_pydantic_schema(set_id, tree)
        found = EvalSet.model_validate_json(content)
    except _MADE as error:
        raise UsageError(f"{name} is not an eval set of ADK: {_why(error)}.") from None
    _check_ids(found, name)
    return found


def _check_ids(eval_set: EvalSet, name: str) -> None:
    seen: set[str] = set()
    for case in eval_set.eval_cases:
        if case.eval_id in seen:
            raise UsageError(f"{name} has two cases with the id {case.eval_id[:60]!r}.")
        seen.add(case.eval_id)


def content_of(path: Path, most: int = MOST_BYTES) -> bytes:
    """Return the bytes of a file. Raise `UsageError` if it has too many, or cannot be read."""
    try:
        if path.stat().st_size > most:
            raise UsageError(f"{path.name} has more than {most} bytes.")
        return path.read_bytes()
    except OSError as error:
        raise UsageError(f"{path.name} cannot be read: {error.strerror}.") from None


def _why(error: Exception, expected: str = _EXPECTED) -> str:
    """Return the first reason, without the values: a file may hold anything."""
    from pydantic import ValidationError

    if isinstance(error, ValidationError):
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(map(str, first["loc"]))
        return f"{first['msg']} at {place}" if place else str(first["msg"])
    return str(error).rstrip(".") if isinstance(error, msgspec.MsgspecError) else expected


def case_as_written(case: Mapping[str, Any]) -> Json:
    """Return an eval case as ADK writes it into files. Raise `Conflict` if ADK does not take it."""
    from google.adk.evaluation.eval_case import EvalCase

    try:
        found = EvalCase.model_validate_json(msgspec.json.encode(case))
    except ValueError as error:
        raise Conflict(
            f"The installed ADK does not take this conversation as an eval case: {_why(error)}."
        ) from None
    return _dumped(found)


def _dumped(model: Any) -> Json:
    # As ADK writes a set: without what is unset, or as it is by default.
    text = model.model_dump_json(exclude_unset=True, exclude_defaults=True, exclude_none=True)
    tree: Json = msgspec.json.decode(text)
    return tree


def add_cases(path: Path, cases: Iterable[Json], name: str = "", *, now: float) -> list[str]:
    """Add cases to a set; begin one if there is no such file. Return the ids of those that were added.

    A case whose id the set has is left as it is there: somebody may have edited it. Raise `UsageError` if
    the file is something else, or cannot be written; then nothing is changed.
    """
    tree = _tree(path) if path.exists() else _empty(name or id_of(path), now)
    known = {case.get("eval_id", case.get("evalId")) for case in tree["eval_cases"]}
    added = []
    for case in cases:
        if case["eval_id"] not in known:
            known.add(case["eval_id"])
            added.append(case["eval_id"])
            tree["eval_cases"].append(case)
    if added:
        _write(path, msgspec.json.format(msgspec.json.encode(tree), indent=2))
    return added


def _empty(set_id: str, now: float) -> Json:
    if re.fullmatch(r"[A-Za-z0-9_]+", set_id) is None:
        raise UsageError("The name of an eval set must be of letters, digits and _.")
    return {"eval_set_id": set_id, "name": set_id, "eval_cases": [], "creation_timestamp": now}


def _tree(path: Path) -> Json:
    found = read_eval_set(path)
    tree = msgspec.json.decode(content_of(path))
    if isinstance(tree, dict):
        return tree
    return {"eval_cases": []} | _dumped(found)


def _write(path: Path, content: bytes) -> None:
    """Write a file as a whole: whoever reads it meanwhile gets the old one or the new one."""
    beside = path.with_name(f".{path.name}.{uuid4().hex}")
    try:
        beside.write_bytes(content + b"\n")
        os.replace(beside, path)
    except OSError as error:
        beside.unlink(missing_ok=True)
        raise UsageError(f"{path.name} cannot be written: {error.strerror}.") from None


# ---------------------------------------------------------------------------

FILE_NAME = "test_config.json"
"""Beside a set, it has the set's criteria, as for `adk eval`."""
LARGEST = 1024 * 1024
INSTALL = "pip install 'adk-prism[eval]'"


@dataclass(frozen=True, slots=True)
class Criteria:
    """Metrics with their thresholds, and the evaluators that compute them."""

    config: EvalConfig
    metrics: Sequence[EvalMetric]
    registry: MetricEvaluatorRegistry


def config_beside(set_file: Path) -> Path | None:
    """Return the file with the criteria of a set, if there is one beside it."""
    beside = set_file.parent / FILE_NAME
    return beside if beside.is_file() else None


def read_criteria(path: Path | None) -> Criteria:
    """Read a file of criteria; None: the default ones. Raise as `criteria_of`, or if it cannot be read."""
    if path is None:
        return criteria_of(None)
    return criteria_of(content_of(path, LARGEST), path.name)


def criteria_of(content: bytes | None, name: str = "The config") -> Criteria:
    """Return what a config asks for.

    Raise `UsageError` for a config that ADK does not take, or a metric that there is not; `Conflict` for
    metrics whose packages are not installed.
    """
    config = _config(content, name)
    wanted = ", ".join(config.criteria)
    try:
        import google.adk.evaluation.local_eval_service  # noqa: F401  # slow, so not later
        from google.adk.evaluation.eval_config import get_eval_metrics_from_config
        from google.adk.evaluation.metric_evaluator_registry import (
            DEFAULT_METRIC_EVALUATOR_REGISTRY,
            register_custom_metrics_from_config,
        )
    except ModuleNotFoundError as error:
        raise Conflict(
            f"The metrics {wanted} need packages that are not installed ({error.name}): {INSTALL}"
        ) from None
    if config.live_model_config is not None:
        raise UsageError("Evaluation over a live connection is not built; use `adk eval`.")
    # A copy: the metrics of one app are not there for another.
    registry = register_custom_metrics_from_config(config, DEFAULT_METRIC_EVALUATOR_REGISTRY.fork())
    metrics = get_eval_metrics_from_config(config)
    known = {info.metric_name for info in registry.get_registered_metrics()}
    for metric in metrics:
        _check(metric, registry, known)
    return Criteria(config, metrics, registry)


def _config(content: bytes | None, name: str) -> EvalConfig:
    from google.adk.evaluation.eval_config import EvalConfig, get_evaluation_criteria_or_default

    if content is None:
        return get_evaluation_criteria_or_default(None)
    try:
        config = EvalConfig.model_validate_json(content)
    except ValueError as error:
        raise UsageError(
            f"{name} is not a config of `adk eval`: {_why(error, 'it is not JSON')}."
        ) from None
    if not config.criteria:
        raise UsageError(f"{name} has no criteria, so nothing would be evaluated.")
    return config


def _check(metric: EvalMetric, registry: MetricEvaluatorRegistry, known: set[str]) -> None:
    """Refuse a metric that cannot be computed: ADK would log that, and report no score."""
    name = metric.metric_name
    if name not in known:
        raise UsageError(
            f"There is no metric {name[:60]!r}; there are: {', '.join(sorted(known))}."
        )
    try:
        registry.get_evaluator(metric)
    except ModuleNotFoundError as error:
        raise Conflict(
            f"The metric {name} needs a package that is not installed ({error.name}): {INSTALL}"
        ) from None
    except (ValueError, TypeError, ImportError) as error:
        raise UsageError(
            f"The metric {name} cannot be used: {' '.join(str(error).split())[:300]}"
        ) from None


# ---------------------------------------------------------------------------
# What a case lacks to be evaluated, said before it is: answers, calls of tools, packages, keys of judges.

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
