"""An agent that will not hear some messages: the run fails before ADK has stored the message."""

from __future__ import annotations

from google.adk.agents import LlmAgent
from google.adk.apps import App
from google.adk.models.llm_request import LlmRequest
from google.adk.plugins.base_plugin import BasePlugin
from google.genai import types

from adk_prism.models import ScriptedModel, Turn, read_conversation, say


class Moody(BasePlugin):
    """Refuses what is not said nicely."""

    async def on_user_message_callback(self, *, user_message: types.Content, **_: object) -> None:
        """Raise for a message without a please."""
        if not any("please" in (part.text or "") for part in user_message.parts or []):
            raise PermissionError("Say please.")


def _script(request: LlmRequest) -> Turn:
    return say(f"Gladly: {read_conversation(request).prompt}")


root = LlmAgent(name="moody", model=ScriptedModel(model="moody", script=_script))
app = App(name="moody", root_agent=root, plugins=[Moody(name="mood")])
