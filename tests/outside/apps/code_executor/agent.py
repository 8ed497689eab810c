"""Code in the answer that ADK runs."""

from google.adk.agents import LlmAgent
from google.adk.code_executors import UnsafeLocalCodeExecutor

root_agent = LlmAgent(
    name="code_executor", model="gemini-2.5-flash", code_executor=UnsafeLocalCodeExecutor()
)
