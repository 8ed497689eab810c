"""How a question becomes a plan: its words, its filters, a database, and what to expect of it."""
