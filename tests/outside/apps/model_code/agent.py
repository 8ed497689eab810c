"""Code that the model's provider runs."""

from google.adk.agents import LlmAgent
from google.adk.code_executors import BuiltInCodeExecutor

root_agent = LlmAgent(
    name="model_code", model="gemini-2.5-flash", code_executor=BuiltInCodeExecutor()
)
