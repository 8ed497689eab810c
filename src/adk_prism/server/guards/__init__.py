"""What a request has to pass before a route sees it: where it comes from, how large it is, what it names."""
