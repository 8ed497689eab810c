"""The settings of a server."""

from adk_prism.server.settings.groups import DATA_DIR as DATA_DIR
from adk_prism.server.settings.groups import LogFormat as LogFormat
from adk_prism.server.settings.groups import LogLevel as LogLevel
from adk_prism.server.settings.settings import Settings as Settings
from adk_prism.server.settings.settings import options as options
