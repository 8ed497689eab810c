"""The annotator that reads confidence, citations and reasoning behind answers, from data and from prose."""
