"""By what a set is evaluated: ADK's `test_config.json`, or the criteria that `adk eval` has by default."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from adk_prism.errors import Conflict, UsageError
from adk_prism.source.evaluation.eval_set_file import content_of

if TYPE_CHECKING:
    from google.adk.evaluation.eval_config import EvalConfig
    from google.adk.evaluation.eval_metrics import EvalMetric
    from google.adk.evaluation.metric_evaluator_registry import MetricEvaluatorRegistry

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
        raise UsageError(f"{name} is not a config of `adk eval`: {_first(error)}.") from None
    if not config.criteria:
        raise UsageError(f"{name} has no criteria, so nothing would be evaluated.")
    return config


def _first(error: ValueError) -> str:
    from pydantic import ValidationError

    if not isinstance(error, ValidationError):
        return "it is not JSON"
    first = error.errors(include_url=False, include_input=False)[0]
    return f"{first['msg']} at {'.'.join(map(str, first['loc']))}"


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
        raise UsageError(f"The metric {name} cannot be used: {_said(error)}") from None


def _said(error: Exception) -> str:
    text: Any = " ".join(str(error).split())
    return f"{text[:300]}"
