"""Apps that run on another ADK server and are served here: one file per noun."""
