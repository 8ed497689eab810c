"""What a person sees of a run at a playhead: folds over facts. Pure; no protocol, no clock."""
