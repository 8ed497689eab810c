"""What is sent to models and what they answer, as ADK's callbacks show it."""
