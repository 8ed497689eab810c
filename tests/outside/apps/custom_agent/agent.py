"""An agent that makes its events itself, with every field that one may set."""

from collections.abc import AsyncGenerator

from google.adk.agents import BaseAgent
from google.adk.agents.invocation_context import InvocationContext
from google.adk.events import Event, EventActions
from google.genai import types


class Speaker(BaseAgent):
    """Yield events of several kinds."""

    async def _run_async_impl(self, ctx: InvocationContext) -> AsyncGenerator[Event, None]:
        about = {"author": self.name, "invocation_id": ctx.invocation_id}
        yield Event(**about, content=types.ModelContent("par"), partial=True)
        yield Event(**about, content=types.ModelContent("partial and whole"))
        yield Event(**about, custom_metadata={"a": [1, {"b": None}]}, turn_complete=True)
        yield Event(**about, actions=EventActions(state_delta={"said": True, "temp:x": 1}))
        yield Event(**about, error_code="ODD", error_message="Something odd.")
        file = types.Part(inline_data=types.Blob(mime_type="image/png", data=b"png"))
        uri = types.Part(file_data=types.FileData(file_uri="gs://b/o", mime_type="text/plain"))
        yield Event(**about, content=types.Content(role="model", parts=[file, uri]))
        yield Event(**about, content=types.ModelContent("end"), interrupted=True)


root_agent = Speaker(name="custom_agent")
