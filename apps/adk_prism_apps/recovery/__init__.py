"""After a wildfire: four specialists, one briefing, and the proof behind each number."""
