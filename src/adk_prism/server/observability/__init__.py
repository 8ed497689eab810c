"""What an operator sees of a server: lines, numbers, spans, and who did what."""
