"""What only the routes of ADK's own contract need."""
