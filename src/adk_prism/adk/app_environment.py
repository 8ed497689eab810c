"""The environment variables that the `.env` files of several apps set in one process.

google-adk 2.13 (`cli/utils/envs.py`) loads an app's `.env` when it loads the app, and the file that
was loaded last stays in force: an app that was loaded before then makes its model's client with
another app's key. Here each app gets its own values back, and loses those of the others, whenever it
is about to run, to ask its model or to call a tool.

One process cannot separate two runs that read a variable at the same moment, for example a library that
reads one in its own thread. So variables that two apps set differently are reported, by name only: a value
may be a key.

Variables that were set before the server started win over every `.env`, as in ADK.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

from dotenv import dotenv_values
from google.adk.agents import BaseAgent, InvocationContext, LlmAgent, RunConfig
from google.adk.agents.callback_context import CallbackContext
from google.adk.features import FeatureName, override_feature_enabled
from google.adk.models.llm_request import LlmRequest
from google.adk.plugins.base_plugin import BasePlugin
from google.adk.telemetry import ContentCapturingMode, TelemetryConfig
from google.adk.tools import BaseTool, ToolContext
from google.adk.utils.env_utils import is_env_enabled
from opentelemetry import trace

from adk_prism.adk.tools import DenialReasonPlugin
from adk_prism.errors import Diagnostic, Report, UsageError

Values = Mapping[str, str]
VariablesSeen = Callable[[Values], None]

_SWITCHED_OFF = "ADK_DISABLE_LOAD_DOTENV"
"""With it ADK loads no `.env` (`cli/utils/envs.py`)."""

SHOWN = 10
"""Apps and variables that a report names: enough to know which they are."""


class Environments:
    """Whose `.env` values the process has now, and those of every app that was loaded."""

    def __init__(self, report: Report, seen: VariablesSeen | None = None) -> None:
        """`seen` is called with the variables of each `.env`, and of the process after an import."""
        self._report = report
        self._seen = seen or (lambda _: None)
        self._before = frozenset(os.environ)
        """Variables that no `.env` changes."""
        self._values: dict[str, Values] = {}
        self._placed: dict[str, str] = {}
        """Variables that `.env` files have set, with the values that we set last."""
        self._current = ""
        """The app whose values are set, and no other's."""
        self._loading: tuple[Values, Future[None]] | None = None
        """What the app that is being imported sets, and the end of its import."""
        self._reported: set[str] = set()
        self._on_loop: set[str] = set()
        """Apps whose tools have no threads."""

    @contextmanager
    def loading(self, name: str, path: Path) -> Iterator[None]:
        """Set the environment while an app is imported. The caller imports one app at a time."""
        done: Future[None] = Future()
        done.set_running_or_notify_cancel()  # so that no waiting caller can cancel it
        wanted = _read(path)
        self._seen(wanted)
        self._loading, self._current = (wanted, done), ""
        try:
            self._remove(self._placed.keys() - wanted.keys())
            yield
        finally:
            # As they are now: the app's own code may have changed them.
            values = {key: os.environ[key] for key in wanted if key in os.environ}
            self._values[name] = values
            self._placed |= values
            self._seen(dict(os.environ))  # an app's code may set some
            self._loading = None
            done.set_result(None)
        self._compare(self._values)

    async def use(self, name: str) -> None:
        """Set an app's variables; wait for the import of an app that sets them differently."""
        if self._current == name:
            return
        values = self._values.get(name, {})
        while (loading := self._loading) is not None:
            wanted, done = loading
            if not _differing(values, wanted):
                self._place(values)  # beside those of the app that is being imported
                return
            await asyncio.wrap_future(done)
        self._remove(self._placed.keys() - values.keys())
        self._place(values)
        self._current = name

    def _place(self, values: Values) -> None:
        os.environ.update(values)
        self._placed |= values

    def _remove(self, keys: Iterable[str]) -> None:
        for key in list(keys):
            placed = self._placed.pop(key)
            if os.environ.get(key) == placed:  # else the program has changed it, and owns it
                del os.environ[key]

    def compare_files(self, apps: Iterable[tuple[str, Path]]) -> None:
        """Report the variables that the `.env` files of some apps set differently, once."""
        files = {name: _read(path) for name, path in apps}
        for values in files.values():
            self._seen(values)
        self._compare(
            {
                name: {key: value for key, value in values.items() if key not in self._before}
                for name, values in files.items()
            }
        )

    def _compare(self, values: Mapping[str, Values]) -> None:
        seen: dict[str, dict[str, list[str]]] = {}
        for name, of_app in values.items():
            for key, value in of_app.items():
                seen.setdefault(key, {}).setdefault(value, []).append(name)
        differing = {
            key: by for key, by in seen.items() if len(by) > 1 and key not in self._reported
        }
        if not differing:
            return
        self._reported |= differing.keys()
        apps = {name for by in differing.values() for names in by.values() for name in names}
        self._report(
            Diagnostic(
                kind="environment conflict",
                detail=f"The .env files of the apps {_listed(apps)} set {_listed(differing)} differently."
                " One process has one environment: each app gets its own values when it asks its model"
                " or calls a tool, but libraries may have kept another's. Run these apps in"
                " servers of their own.",
            )
        )

    def allows_threads(self, app: str) -> bool:
        """Return whether an app's tools may run in threads: not if other apps change its variables.

        The operator gets one report if they may not.
        """
        own = self._values.get(app, {})
        if all(values == own for values in self._values.values()):
            return True
        if app not in self._on_loop:
            self._on_loop.add(app)
            self._report(
                Diagnostic(
                    kind="tools on the event loop",
                    detail="Apps with different .env files are served: in a thread, a synchronous tool"
                    " could read the variables of another app. Run them in servers of their own, or"
                    " declare tool_threads with the app.",
                    app=app,
                )
            )
        return False


class AppEnvironment(DenialReasonPlugin):
    """Sets an app's variables before it runs, asks its model or calls a tool.

    Gives the reason of a denial as well: ADK calls each plugin twice for every delta, so two are one here.
    """

    def __init__(self, app: str, environments: Environments) -> None:
        super().__init__(name="adk_prism_environment")
        self.use = partial(environments.use, app)
        """Sets the app's variables, for what is done with its code outside of a run."""

    async def before_run_callback(self, *, invocation_context: InvocationContext) -> None:
        del invocation_context
        await self.use()

    async def before_agent_callback(
        self, *, agent: BaseAgent, callback_context: CallbackContext
    ) -> None:
        del agent, callback_context
        await self.use()

    async def before_model_callback(
        self, *, callback_context: CallbackContext, llm_request: LlmRequest
    ) -> None:
        del callback_context, llm_request
        await self.use()

    async def before_tool_callback(
        self, *, tool: BaseTool, tool_args: dict[str, Any], tool_context: ToolContext
    ) -> dict[str, Any] | None:
        await self.use()
        return await super().before_tool_callback(
            tool=tool, tool_args=tool_args, tool_context=tool_context
        )


def _read(path: Path) -> dict[str, str]:
    """Return what the `.env` of an app sets: the nearest one, from its folder upwards."""
    if is_env_enabled(_SWITCHED_OFF):
        return {}
    file = next((p / ".env" for p in (path, *path.parents) if (p / ".env").is_file()), None)
    if file is None:
        return {}
    try:
        given = dotenv_values(file)
    except (OSError, ValueError):
        return {}  # ADK's loader reads it next, and reports what is wrong
    return {key: value for key, value in given.items() if value is not None}


def _differing(values: Values, others: Values) -> bool:
    return any(key in others and others[key] != value for key, value in values.items())


def _listed(names: Iterable[str]) -> str:
    shown = sorted(names)
    more = f" and {len(shown) - SHOWN} more" if len(shown) > SHOWN else ""
    return ", ".join(shown[:SHOWN]) + more


# ---------------------------------------------------------------------------
# What is set in ADK: its default model, its experimental features, its limit of model calls, its
# telemetry.
#
# google-adk builds span and log contents for every model call and every streamed part, whether or not
# an OpenTelemetry provider is installed, and has no off switch. Where the process has neither a
# tracer nor a logger provider, each run asks for the cheapest form, which saves a tenth of the
# Runner's time per part. An operator's own telemetry stays as it was set up.

_CHEAPEST = TelemetryConfig(
    genai_semconv_stability_opt_in="stable", capture_message_content=ContentCapturingMode.NO_CONTENT
)

_LOGGER_PROVIDERS = "opentelemetry.sdk._logs"
"""The module that has them; neither google-adk nor adk-prism imports it."""


def set_default_model(name: str) -> None:
    """Set the model of agents that name none; an empty name changes nothing."""
    if name:
        LlmAgent.set_default_model(name)


def set_features(*, enabled: Iterable[str], disabled: Iterable[str]) -> None:
    """Switch features on and off, several in a text divided by commas. Raise `UsageError` for an unknown one.

    A feature that is in both is off, as with ADK.
    """
    wanted = {name: True for name in _names(enabled)} | {name: False for name in _names(disabled)}
    known = {feature.value: feature for feature in FeatureName}
    if unknown := sorted(wanted.keys() - known.keys()):
        raise UsageError(
            f"ADK has no feature {unknown[0][:60]!r}; it has {', '.join(sorted(known))}."
        )
    for name, is_on in wanted.items():
        override_feature_enabled(known[name], is_on)


def limit_of_model_calls(wanted: int | None) -> int:
    """Return the most model calls of a run, as ADK takes it: what is wanted, or ADK's own limit."""
    own = RunConfig.model_fields["max_llm_calls"]
    return int(own.get_default(call_default_factory=True)) if wanted is None else wanted


def run_telemetry() -> TelemetryConfig | None:
    """Return the telemetry setting of one run; None leaves ADK's as the operator has it."""
    is_traced = not isinstance(trace.get_tracer_provider(), trace.ProxyTracerProvider)
    return None if is_traced or _LOGGER_PROVIDERS in sys.modules else _CHEAPEST


def _names(texts: Iterable[str]) -> list[str]:
    return [name.strip() for text in texts for name in text.split(",") if name.strip()]


# ---------------------------------------------------------------------------
# Plugins that the operator names for every app, as `adk web --extra_plugins` takes them.
#
# Follows google-adk 2.13 `cli/api_server.py`: a name is `MODULE.NAME` of a plugin, or of a class that
# is made with `name=`. Difference: a name that cannot be used stops the server with a line, where ADK
# only logs it.


class ExtraPlugins:
    """The plugins of the operator: objects, or classes of which each app gets one of its own."""

    def __init__(self, found: Sequence[tuple[str, BasePlugin | type[BasePlugin]]] = ()) -> None:
        self._found = found

    def make(self) -> list[BasePlugin]:
        """Return the plugins for one app. Raises whatever a plugin's class raises."""
        return [
            plugin if isinstance(plugin, BasePlugin) else plugin(name=name)
            for name, plugin in self._found
        ]


def load_plugins(texts: Iterable[str], agents_dir: Path | None) -> ExtraPlugins:
    """Import plugins by their names, several in a text divided by commas. Raise `UsageError`.

    Modules are also looked for in the working folder and in the folder of apps.
    """
    with _also_from([Path.cwd(), *([agents_dir.absolute()] if agents_dir else [])]):
        return ExtraPlugins([(name, _load(name)) for name in _names(texts)])


def _load(name: str) -> BasePlugin | type[BasePlugin]:
    module, _, attribute = name.rpartition(".")
    try:
        found: object = getattr(import_module(module), attribute) if module else None
    except Exception as error:  # A module of somebody else's may raise anything.
        raise UsageError(
            f"The plugin {name[:100]!r} cannot be imported ({type(error).__name__}: {str(error)[:200]})."
        ) from error
    if isinstance(found, BasePlugin):
        return found
    if isinstance(found, type) and issubclass(found, BasePlugin):
        return found
    raise UsageError(
        f"{name[:100]!r} is not a plugin; --extra-plugins takes MODULE.NAME of a BasePlugin of ADK, or of a"
        " class of them."
    )


@contextmanager
def _also_from(folders: Iterable[Path]) -> Iterator[None]:
    before = list(sys.path)
    sys.path[:0] = [str(folder) for folder in folders]
    try:
        yield
    finally:
        sys.path[:] = before
