"""An app that cannot be imported."""

raise RuntimeError("This app cannot be imported.")
