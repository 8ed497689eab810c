"""AG-UI over HTTP: what the routes of AG-UI and of CopilotKit have in common."""
