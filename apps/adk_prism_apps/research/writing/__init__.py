"""What the researcher reads: plans, receipts, help, a synthesis, the strategy as a document."""
