"""What a researcher means: words and panel answers read into one decision, the same for every way."""
