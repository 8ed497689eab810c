"""An app that says as many words as it is asked for."""

from . import agent as agent
