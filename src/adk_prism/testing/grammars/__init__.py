"""What the laws *balanced* and *terminated* mean in each of our protocols: a module each."""
