"""An app that does not import."""

raise RuntimeError("secret-in-the-cause")
