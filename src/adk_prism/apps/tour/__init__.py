"""The tour: one prompt per thing that a run of ADK can show. Offline unless a real model is set."""
