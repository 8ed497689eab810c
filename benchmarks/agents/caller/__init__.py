"""An app that calls a tool."""

from . import agent as agent
