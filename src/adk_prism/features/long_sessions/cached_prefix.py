"""Long sessions at constant cost per turn, for an app that declares a plugin.

    from adk_prism import cache_prefix

    app = App(name="support", root_agent=agent, plugins=[cache_prefix()])

A run that begins with a message then gets the last events of its session. The contents of those before
(`prefix`) are put back into each request on its way to the model, which gets exactly what ADK
would have sent. The plugin that the app declares has no hook: under any other server it does nothing.

ADK's own processor builds the contents of the prefix. Where a short list could make a difference, the run
gets all events (`_fits`, and `after_prefix` for a whole app); where a callback or plugin reads requests,
they are complete before it is called.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from google.adk.agents.base_agent import BaseAgent
from google.adk.agents.callback_context import CallbackContext
from google.adk.agents.invocation_context import InvocationContext
from google.adk.agents.llm_agent import LlmAgent
from google.adk.events.event import Event
from google.adk.flows.llm_flows import contents as adk_contents
from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.adk.plugins.base_plugin import BasePlugin
from google.adk.runners import Runner
from google.genai import types

from adk_prism.adk.client_tools import with_interim_results
from adk_prism.adk.internals.runner import swap_class
from adk_prism.features.long_sessions import prefix as prefixes

_NAME = "adk_prism_put_back"
_CHAT = (None, "chat")
"""Modes of agents that speak in the conversation itself; the others have lanes of their own."""
_OURS = (_NAME, "adk_prism_nodes")
"""Plugins that read requests only after the model has."""
_REQUEST_HOOKS = ("before_model_callback", "on_model_error_callback")
"""Hooks that are given the request."""


class CachedPrefix(BasePlugin):
    """The declaration."""

    def __init__(self) -> None:
        super().__init__(name="adk_prism_cached_prefix")


def cache_prefix() -> BasePlugin:
    """Return the plugin that makes long sessions cost the same per turn."""
    return CachedPrefix()


def after_prefix(runner: Runner) -> prefixes.AfterPrefix | None:
    """Return how to load the session of a run that begins with a message; None for all of it.

    The Runner of an app that asked for it gets a plugin, before all others.
    """
    manager, root = runner.plugin_manager, runner.agent
    if not any(isinstance(plugin, CachedPrefix) for plugin in manager.plugins):
        return None
    if not isinstance(root, LlmAgent) or not _is_conversation(runner, root):
        return None
    if manager.get_plugin(_NAME) is None:
        # A new list: active runs iterate over the old one.
        manager.plugins = [_PutBack(), *manager.plugins]
    return prefixes.AfterPrefix(speakers=frozenset(_speakers(root)))


def _is_conversation(runner: Runner, root: LlmAgent) -> bool:
    """Return whether all agents speak in one lane, and nothing but requests is made of all events.

    Compaction sums them up, and ADK's context cache finds in them what it has stored.
    """
    if runner.context_cache_config is not None or runner.app.events_compaction_config is not None:
        return False
    return all(getattr(agent, "mode", None) in _CHAT for agent in _agents(root))


def _agents(root: BaseAgent) -> list[BaseAgent]:
    return [root, *(below for child in root.sub_agents for below in _agents(child))]


def _speakers(root: LlmAgent) -> list[str]:
    """Return the agents that continue the conversation once they have spoken.

    Those from which ADK can hand over to any other: the rule of its `_agent_router`.
    """
    found = [root.name]
    for child in root.sub_agents:
        if isinstance(child, LlmAgent) and not child.disallow_transfer_to_parent:
            found += _speakers(child)
    return found


class _PutBack(BasePlugin):
    """Makes sure that every model gets the whole request."""

    def __init__(self) -> None:
        super().__init__(name=_NAME)

    async def before_agent_callback(
        self, *, agent: BaseAgent, callback_context: CallbackContext
    ) -> None:
        """Give an agent all events, if it needs them."""
        context = callback_context.get_invocation_context()
        prefix = prefixes.prefix_of(context.session)
        if prefix is not None and not await _fits(agent, context, prefix):
            prefixes.restore(context.session)

    async def before_model_callback(
        self, *, callback_context: CallbackContext, llm_request: LlmRequest
    ) -> None:
        """Put the prefix back, or let the model do it, so that nothing else processes it."""
        mark = prefixes.find_mark(llm_request.contents)
        if mark is None:
            return
        context = callback_context.get_invocation_context()
        mark.show(await _view(context, mark.prefix))
        agent = context.agent
        if not (
            isinstance(agent, LlmAgent)
            and not _is_observed(context, agent)
            and give_whole_requests(agent.canonical_model)
        ):
            llm_request.contents = _put_back(llm_request)

    async def after_agent_callback(
        self, *, agent: BaseAgent, callback_context: CallbackContext
    ) -> None:
        """Give all events to callbacks that come after an agent: they may read the history."""
        if agent.canonical_after_agent_callbacks:
            prefixes.restore(callback_context.get_invocation_context().session)

    async def after_run_callback(self, *, invocation_context: InvocationContext) -> None:
        """Give all events to plugins that come after the run."""
        prefixes.restore(invocation_context.session)


async def _fits(agent: BaseAgent, context: InvocationContext, prefix: prefixes.Prefix) -> bool:
    """Return whether an agent's requests can be built from the events after a prefix.

    Not those of an agent of another class, which may read the session as it likes, nor where ADK goes
    through the contents once more (planners, code executors) or leaves some to the model's server.
    Instructions that ADK puts before the last messages of the user need to find their place after it.
    """
    if context.isolation_scope is not None:
        return True  # It sees nothing of the prefix, which has no scope.
    if type(agent) is not LlmAgent or agent.mode not in _CHAT:
        return False
    if agent.include_contents != "default" or agent.planner or agent.code_executor:
        return False
    if getattr(agent.canonical_model, "use_interactions_api", False):
        return False
    last = (await _view(context, prefix)).last
    return last is not None and not _is_users(last)


def _is_users(content: types.Content) -> bool:
    return content.role == "user" and not any(
        part.function_response for part in content.parts or ()
    )


async def _view(context: InvocationContext, prefix: prefixes.Prefix) -> prefixes.PrefixContents:
    """Return what the agent of a context sees of a prefix, and cache it."""
    agent = context.agent
    assert isinstance(agent, LlmAgent), "a mark is in the requests of agents that were found to fit"
    who = f"{agent.name} {type(agent.canonical_model).__qualname__}"
    done, view = prefix.view(who)
    if done < len(prefix.events):
        # With the message after it: ADK treats an answer to a call otherwise if nothing follows.
        shown = await _contents(context, [*prefix.events[done:], prefix.message])
        view = view.followed_by(shown[:-1])
        prefix.keep_view(who, view)
    return view


async def _contents(context: InvocationContext, events: Sequence[Event]) -> list[types.Content]:
    """Return the contents that ADK builds from events for the agent of a context."""
    request = LlmRequest()
    session = context.session.model_copy(update={"events": list(events)})
    alike = context.model_copy(update={"session": session})
    async for _ in adk_contents.request_processor.run_async(alike, request):
        pass
    return request.contents


def _is_observed(context: InvocationContext, agent: LlmAgent) -> bool:
    """Return whether anything but the model gets the request, or may choose another model."""
    if type(agent) is not LlmAgent:
        return True
    if agent.canonical_before_model_callbacks or agent.canonical_on_model_error_callbacks:
        return True
    return any(
        getattr(type(plugin), hook) is not getattr(BasePlugin, hook)
        for plugin in context.plugin_manager.plugins
        if plugin.name not in _OURS
        for hook in _REQUEST_HOOKS
    )


def _put_back(request: LlmRequest) -> list[types.Content]:
    """Return a request's contents with those of its prefix, as our other plugin leaves them without one."""
    return with_interim_results(prefixes.put_back(request.contents), request.tools_dict)


def _whole(request: LlmRequest) -> LlmRequest:
    """Return a request with the contents of its prefix, if it has a placeholder for one."""
    mark = prefixes.find_mark(request.contents)
    if mark is None:
        return request
    # A copy: ADK's spans read the request once more when the model has answered.
    contents: dict[str, Any] = {"contents": _put_back(request)}
    whole = request.model_copy(update=contents)
    mark.note_sent(whole)
    return whole


# --------------------------------------------------------------------------- the model's class

if TYPE_CHECKING:
    _AnyLlm = BaseLlm
else:
    _AnyLlm = object  # A pydantic class would give the model fields that it has already.


def give_whole_requests(model: BaseLlm) -> bool:
    """Have a model get whole requests; return whether that is possible.

    The app's model object gets a subclass of its own class. `isinstance` still holds, and so does whatever
    the app keeps in the object.
    """
    return isinstance(model, _WholeRequests) or swap_class(model, _with_whole_requests(type(model)))


class _WholeRequests(_AnyLlm):
    """Stands before a model's class, and replaces the placeholder in its requests."""

    __slots__ = ()

    def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        return super().generate_content_async(_whole(llm_request), stream=stream)


@cache
def _with_whole_requests(kind: type[BaseLlm]) -> type[BaseLlm]:
    names = {name: getattr(kind, name) for name in ("__module__", "__qualname__", "__doc__")}
    return type(kind.__name__, (_WholeRequests, kind), names)
