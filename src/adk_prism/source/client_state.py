"""Which state keys an app lets clients write: declared by a plugin of the app.

    from adk_prism import client_state

    app = App(name="research", root_agent=agent, plugins=[client_state("grounding:user_approval")])

A plugin, because an ADK App passes its plugins to every Runner; it has no hook, so with any other server the
app behaves as without it. Without a declaration, a client may write its session's own keys.
"""

from __future__ import annotations

from google.adk.plugins.base_plugin import BasePlugin
from google.adk.runners import Runner


class ClientState(BasePlugin):
    """The declaration."""

    def __init__(self, keys: frozenset[str]) -> None:
        super().__init__(name="adk_prism_client_state")
        self.keys = keys


def client_state(*keys: str) -> BasePlugin:
    """Return the plugin that lets clients write these keys of the state, and no others."""
    return ClientState(frozenset(keys))


def declared_keys(runner: Runner) -> frozenset[str] | None:
    """Return the keys that the Runner's app lets clients write; None if it does not say."""
    declared = [each for each in runner.plugin_manager.plugins if isinstance(each, ClientState)]
    return frozenset().union(*(each.keys for each in declared)) if declared else None
