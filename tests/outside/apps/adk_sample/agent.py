"""The one agent that google-adk itself ships: its builder of agents."""

from google.adk.cli.built_in_agents.agent import root_agent as root_agent
