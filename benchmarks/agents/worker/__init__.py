"""An app with a tool that works for a while, and may say how far it is."""

from . import agent as agent
