"""The app."""

from . import agent as agent
