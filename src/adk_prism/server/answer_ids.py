"""Which answer of a run a client means: by the ids that the protocols give to messages."""

from __future__ import annotations

from adk_prism.errors import NotFound
from adk_prism.pipeline.chats import Chats
from adk_prism.pipeline.live_messages import spoken_messages
from adk_prism.projection.ag_ui.history import ThreadMessages
from adk_prism.projection.contract import Options
from adk_prism.projection.message_scope import WHOLE
from adk_prism.runlog.contract import RunSummary


async def find_answer(chats: Chats, summary: RunSummary, named: str) -> str:
    """Return the id of a run's answer; `named` may be empty. Raise `NotFound` for any other id.

    To the AI SDK a run is a part of one message. A live run has many, and AG-UI counts each text of an agent
    as one.
    """
    if named in ("", summary.run, summary.message):
        return summary.message
    history = ThreadMessages(Options())
    history.begin_run(WHOLE)
    async for entry in chats.entries(summary.run):
        history.feed(entry)
    answers = {each["id"] for each in history.messages() if each["role"] == "assistant"}
    spoken = await spoken_messages(chats, summary.run)
    if named in answers or any(each.id == named and each.role == "assistant" for each in spoken):
        return named
    raise NotFound(f"The run has no answer with the id {named[:60]!r}.")
