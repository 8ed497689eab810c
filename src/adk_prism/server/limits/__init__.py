"""How much one caller may have at a time, so that others have the rest."""
