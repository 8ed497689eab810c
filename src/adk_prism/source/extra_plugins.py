"""Plugins that the operator names for every app, as `adk web --extra_plugins` takes them.

Follows google-adk 2.13 `cli/api_server.py`: a name is `MODULE.NAME` of a plugin, or of a class that is made
with `name=`. Difference: a name that cannot be used stops the server with a line, where ADK only logs it.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path

from google.adk.plugins.base_plugin import BasePlugin

from adk_prism.errors import UsageError


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
    names = [name.strip() for text in texts for name in text.split(",") if name.strip()]
    with _also_from([Path.cwd(), *([agents_dir.absolute()] if agents_dir else [])]):
        return ExtraPlugins([(name, _load(name)) for name in names])


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
