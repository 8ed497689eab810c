"""The settings of a server."""

from adk_prism.server.settings.output import LogFormat as LogFormat
from adk_prism.server.settings.output import LogLevel as LogLevel
from adk_prism.server.settings.settings import Settings as Settings
from adk_prism.server.settings.settings import options as options
from adk_prism.server.settings.storage import DATA_DIR as DATA_DIR
