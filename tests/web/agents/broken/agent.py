"""An app that cannot be imported."""

raise RuntimeError("This app is broken on purpose; the text is for the operator alone.")
