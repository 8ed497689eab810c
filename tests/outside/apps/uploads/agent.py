"""Files in the message, which a plugin saves as artifacts."""

from google.adk.agents import LlmAgent
from google.adk.apps import App
from google.adk.plugins.save_files_as_artifacts_plugin import SaveFilesAsArtifactsPlugin

app = App(
    name="uploads",
    root_agent=LlmAgent(name="root", model="gemini-2.5-flash"),
    plugins=[SaveFilesAsArtifactsPlugin()],
)
