"""The offline model's part: which specialists and tools a question is for, decided by words."""
